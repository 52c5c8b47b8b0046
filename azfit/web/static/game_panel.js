// The game so far: its moves, its mistakes when somebody asks for them, and the game as text.

import { isAbort } from "./api.js";
import { byId, element, replace } from "./dom.js";
import { gameOf, textOf } from "./game_text.js";
import { drawRecord, drawReview } from "./review.js";

export class GamePanel {
  // jump: shows the place after a ply; load: opens a game; complain: tells what went wrong.
  constructor({ jump, load, complain }) {
    Object.assign(this, { jump, load, complain, session: null, review: null });
    byId("review").addEventListener("click", () => this.findMistakes());
    byId("show-text").addEventListener("click", () => this.#toggleText());
    byId("copy-text").addEventListener("click", () => this.#copy());
    byId("text-form").addEventListener("submit", (event) => { event.preventDefault(); this.#loadText(); });
  }

  // Another place of a game, or another game: what is known of that one is forgotten.
  show(session) {
    const isOther = session.steps !== this.session?.steps || session.game.name !== this.session.game.name;
    this.session = session;
    if (isOther) this.forgetReview();
    else this.#draw();
    byId("game-text").value = textOf(session);
    byId("review").disabled = !session.steps.length;
  }

  forgetReview() {
    this.reviewing?.abort();
    this.review = null;
    replace(byId("review-result"));
    if (this.session) this.#draw();
  }

  #draw() {
    drawRecord(byId("record"), this.session, this.review, this.jump);
    if (this.review) drawReview(byId("review-result"), this.review, this.session, this.jump);
  }

  async findMistakes() {
    const { session } = this, node = byId("review-result");
    this.reviewing?.abort();
    this.reviewing = new AbortController();
    const { signal } = this.reviewing;
    const say = (words, kind = "hint") => { if (!signal.aborted) replace(node, element("p", { class: kind }, words)); };
    say("looking at every move…");
    try {
      const onEvent = (kind, data) => { if (kind === "value") say(`solved back to ply ${data.ply}…`); };
      const review = await session.game.review(session, onEvent, signal);
      if (signal.aborted) return;
      this.review = review;
      this.#draw();
    } catch (problem) {
      if (!isAbort(problem)) say(problem.message, "problem");
    }
  }

  // ---- as text ---------------------------------------------------------------------------------

  async #loadText() {
    const { session } = this;
    try {
      const loaded = await gameOf(byId("game-text").value);
      if (session === this.session) await this.load(loaded);
    } catch (problem) {
      this.complain(problem);
    }
  }

  #toggleText() {
    const form = byId("text-form");
    form.hidden = !form.hidden;
    byId("show-text").setAttribute("aria-expanded", String(!form.hidden));
    byId("copied").textContent = "";
    if (!form.hidden) byId("game-text").select();
  }

  async #copy() {
    byId("game-text").select();
    const isCopied = await navigator.clipboard?.writeText(byId("game-text").value).then(() => true, () => false);
    byId("copied").textContent = isCopied ? "copied" : "press Ctrl-C to copy it";
  }
}
