// Sides that you do not play: they reply by themselves while a game is going on.

import { isAbort } from "./api.js";
import { byId, element, replace } from "./dom.js";
import { sideName } from "./games.js";
import { Players } from "./players.js";

const REPLY_DELAY = 350; // ms: long enough to see what was played

export class Opponent {
  // make: makes a move, by name; resume: somebody else is to play, or play goes on.
  constructor(make, resume) {
    Object.assign(this, { make, resume, isLive: false, replying: null, node: byId("thinking") });
    this.players = new Players(byId("players"), () => { this.isLive = true; this.resume(); });
  }

  get isThinking() { return this.replying !== null; }

  stop() {
    this.replying?.abort();
    this.replying = null;
    replace(this.node);
  }

  // Replies if it is not your turn. In a game that was stepped through it waits to be asked.
  async reply(shown) {
    this.stop();
    if (!shown.moves.length || this.players.isYou(shown.to_move)) return;
    const side = sideName(shown.to_move);
    if (!this.isLive) {
      replace(this.node, `It is ${side}'s turn. `, element("button", { type: "button", id: "play-on",
        onclick: () => { this.isLive = true; this.resume(); } }, `Let ${side} play on`));
      return;
    }
    const replying = this.replying = new AbortController();
    this.node.textContent = `${side} is thinking…`;
    try {
      const [name] = await Promise.all([this.players.move(shown, replying.signal), pause(REPLY_DELAY)]);
      if (replying.signal.aborted) return;
      this.stop();
      this.make(name);
    } catch (problem) {
      if (isAbort(problem) || replying.signal.aborted) return;
      this.stop();
      this.node.textContent = problem.message;
    }
  }
}

const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });
