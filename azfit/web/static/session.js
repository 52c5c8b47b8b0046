// A game under way: where it began, the moves made, and the place that is shown. Every place has
// an address (?game=…&position=…); the browser's history keeps the moves as well.

import { gameByName } from "./games.js";

export class Session {
  // drawn: how the players ended it, "agreement" or "repetition"; null if the rules decide.
  constructor(game, start = game.empty, steps = [], ply = steps.length, drawn = null) {
    Object.assign(this, { game, start, steps, ply, drawn });
  }

  static at(game, text) {
    const steps = game.stepsTo(text);
    return steps ? new Session(game, game.empty, steps) : new Session(game, text);
  }

  // The game of these moves; a Problem says which of them is wrong.
  static async played(game, start, names, drawn = null) {
    const steps = await game.timeline(start, names);
    return new Session(game, game.originOf(start), steps, steps.length, drawn);
  }

  get position() { return this.ply === 0 ? this.start : this.steps[this.ply - 1].position; }
  get last() { return this.to(this.steps.length); }
  get atEnd() { return this.ply === this.steps.length; }
  get isDrawn() { return this.drawn !== null && this.atEnd; }

  // How often the position that is shown has been on the board in this game.
  get occurrences() {
    const positions = [this.start, ...this.steps.map((step) => step.position)].slice(0, this.ply + 1);
    return positions.filter((position) => position === this.position).length;
  }

  to(ply) {
    const within = Math.max(0, Math.min(ply, this.steps.length));
    return new Session(this.game, this.start, this.steps, within, this.drawn);
  }

  // A move that repeats the next step of the game keeps what follows it.
  play({ name, position }) {
    const next = this.steps[this.ply];
    if (next?.position === position) return this.to(this.ply + 1);
    return new Session(this.game, this.start, [...this.steps.slice(0, this.ply), { name, position }]);
  }

  // Ends here, as a draw.
  drawnBy(how) { return new Session(this.game, this.start, this.steps.slice(0, this.ply), this.ply, how); }

  get address() {
    const query = new URLSearchParams({ game: this.game.name, position: this.position });
    return `/?${query.toString().replaceAll("%2F", "/")}`;
  }

  // A place of its own in the browser's history, or instead of the one that is shown.
  push() {
    if (this.address === location.pathname + location.search) this.replace();
    else history.pushState(this.#stored, "", this.address);
  }

  replace() { history.replaceState(this.#stored, "", this.address); }

  get #stored() {
    const { start, steps, ply, drawn } = this;
    return { game: this.game.name, start, steps, ply, drawn };
  }

  static restored(stored) {
    const game = gameByName(stored?.game);
    return game && new Session(game, stored.start, stored.steps, stored.ply, stored.drawn ?? null);
  }

  // The same place of a game that went on from it.
  within(session) {
    const isPart = session?.game.name === this.game.name && session.start === this.start
      && this.steps.every((step, i) => session.steps[i]?.position === step.position);
    return isPart ? session.to(this.ply) : this;
  }
}
