// What a network thinks of the position, beside the truth.

import { get, isAbort } from "./api.js";
import { element, options, recall, remember, replace } from "./dom.js";
import { outcome, percent, plies, plural } from "./words.js";
import { keepsResult } from "./worth.js";

export class NetworkView {
  // changed: another network or another number of simulations; show: go to a position.
  constructor({ select, sims, next, node }, changed, show) {
    Object.assign(this, { select, sims, next, node, show });
    this.#forget();
    for (const control of [select, sims]) {
      control.addEventListener("change", () => {
        remember(`network.${this.game.name}`, this.id);
        this.#forget();
        changed();
      });
    }
    next.addEventListener("click", () => this.#nextBlunder());
  }

  setGame(game, networks) {
    this.game = game;
    this.#forget();
    this.setNetworks(networks, recall(`network.${game.name}`));
  }

  // The networks there are now; the chosen one stays chosen if it still exists.
  setNetworks(networks, chosen = this.id) {
    const usable = networks.filter((network) => network.game === this.game.name);
    options(this.select, [["", usable.length ? "none" : "none for this game"],
      ...usable.map((network) => [network.id, network.id])], chosen ?? "");
    this.#settle();
  }

  get id() { return this.select.value; }

  // The walk through the blunders of one network; note: what is said of the blunder that is shown.
  #forget() {
    this.walking?.abort();
    Object.assign(this, { walk: null, walking: null, note: null });
  }

  #settle() {
    this.next.disabled = !this.id || !this.game.name.startsWith("drop");
    if (this.id) return;
    replace(this.node, this.select.options.length === 1 ? element("p", { class: "hint" },
      "'fadefour self-play' trains one; the networks of the runs in --runs are listed here.") : null);
  }

  // The opinion of the chosen network, or null if there is none to ask.
  async ask(shown, signal) {
    this.#settle();
    if (!this.id) return null;
    if (!shown.moves.length) { replace(this.node); return null; }
    this.#say("thinking…");
    const query = { game: this.game.name, position: shown.position, sims: this.sims.value };
    const opinion = await get(`/api/networks/${encodeURIComponent(this.id)}/evaluate`, query, signal);
    opinion.byName = new Map(opinion.moves.map((move) =>
      [move.move, { ...move, chosen: move.move === opinion.move }]));
    return opinion;
  }

  // values: whether the truth may be shown.
  draw(opinion, shown, values) {
    const { win, draw, loss } = opinion.wdl;
    const bar = element("div", { class: "wdl", role: "img",
      "aria-label": `win ${percent(win)}, draw ${percent(draw)}, loss ${percent(loss)}` },
    [["win", win], ["draw", draw], ["loss", loss]].map(([name, share]) => {
      const part = element("span", { class: name }, share >= 0.15 ? `${name} ${percent(share)}` : "");
      part.style.setProperty("--share", share);
      return part;
    }));
    const [expected] = Object.entries(opinion.wdl).sort(([, one], [, other]) => other - one)[0];
    const inPlies = expected === "draw" ? "" : ` in about ${plies(Math.round(opinion.plies))}`;
    const move = shown.moves.find(({ name }) => name === opinion.move);
    const wrong = values && move?.result && !keepsResult(move, shown.moves);
    replace(this.node,
      this.note?.position === shown.position ? element("p", {}, this.note.words) : null, bar,
      element("p", { class: wrong ? "errs" : "" }, `It plays ${opinion.move}`,
        wrong ? `: a mistake (${outcome(move)}; ${better(shown.moves[0])}).` : "."),
      element("p", {}, `It expects a ${expected}${inPlies}`,
        values && shown.result ? `; the exact value is a ${outcome(shown)}.` : "."));
  }

  failed(problem) { this.#say(problem.message, "problem"); }

  #say(words, kind = "hint") { replace(this.node, element("p", { class: kind }, words)); }

  // ---- known blunders --------------------------------------------------------------------------

  async #nextBlunder() {
    if (this.walking) return;
    const { signal } = this.walking = new AbortController();
    const waiting = this.#count("Looking for its blunders: a network without a grade is tried on up to 100,000 positions");
    this.next.setAttribute("aria-busy", "true");
    try {
      this.walk ??= { at: 0, ...await get(`/api/networks/${encodeURIComponent(this.id)}/blunders`, undefined, signal) };
      clearInterval(waiting);
      if (!signal.aborted) await this.#showNext(this.walk);
    } catch (problem) {
      if (!isAbort(problem)) this.failed(problem);
    } finally {
      clearInterval(waiting);
      this.next.removeAttribute("aria-busy");
      if (this.walking?.signal === signal) this.walking = null;
    }
  }

  async #showNext(walk) {
    const { blunders, count, positions } = walk;
    if (!blunders.length) {
      this.#say(`No blunder is known in ${plural(positions, "position")} graded.`, "");
      return;
    }
    const number = walk.at % blunders.length, { position } = blunders[number];
    walk.at += 1;
    this.sims.value = "0"; // grades are of the network alone; a search may find the right move
    this.note = { position, words: `Blunder ${number + 1} of ${blunders.length}, the worst of `
      + `${plural(count, "blunder")} in ${plural(positions, "position")} graded, without a search.` };
    await this.show(position);
  }

  // Says what is being done, and for how long already.
  #count(words) {
    let seconds = 0;
    const tell = () => { this.#say(`${words}… ${seconds} s`); seconds += 1; };
    tell();
    return setInterval(tell, 1000);
  }
}

const better = (best) => (best.result ? `best is ${outcome(best)}` : "others are not proved to lose");
