// The explorer: one position at a time, what is known of it, and the game it belongs to.

import { get, isAbort } from "./api.js";
import { Board } from "./board.js";
import { byId, replace } from "./dom.js";
import { DrawOffer } from "./draw_offer.js";
import { GamePanel } from "./game_panel.js";
import { sideName } from "./games.js";
import { drawMoves } from "./moves.js";
import { NetworkView } from "./network.js";
import { Opponent } from "./opponent.js";
import { Session } from "./session.js";
import { Stats } from "./stats.js";
import { outcome, plural, threatOf } from "./words.js";

const QUARTER_TURN = 1; // which of the images of a position; the second half are mirrored

export class Explorer {
  constructor(networks, gameChanged) {
    Object.assign(this, { networks, gameChanged, session: null, shown: null, shownOf: null, opinion: null });
    this.board = new Board(byId("board"), (name) => this.play(name));
    this.opponent = new Opponent((name) => this.#make(name), () => this.#reply());
    this.network = new NetworkView(
      { select: byId("network"), sims: byId("sims"), next: byId("next-blunder"), node: byId("opinion") },
      () => this.#ask(), (text) => this.#jumpTo(Session.at(this.session.game, text)));
    this.game = new GamePanel({ jump: (ply) => this.step(ply), load: (session) => this.#jumpTo(session),
      complain: (problem) => this.#complain(problem) });
    this.draws = new DrawOffer((how) => this.endAsDraw(how));
    this.stats = new Stats(byId("stats-part"), byId("stats"));
    this.values = byId("show-values");
    this.#controls();
  }

  // Is what is shown the position of the session, and not one whose successor is on its way?
  get #isCurrent() { return this.shown !== null && this.shownOf === this.session; }

  // ---- going somewhere -------------------------------------------------------------------------

  // Shows a session: as a new place in the browser's history ("push"), instead of the present one
  // ("replace"), or without a trace there (null), as when it comes from there.
  async open(session, place = "push") {
    const isOtherGame = session.game.name !== this.session?.game.name;
    this.session = session;
    if (place) session[place]();
    if (isOtherGame) this.#setGame(session.game);
    await this.#load();
  }

  #setGame(game) {
    this.gameChanged(game);
    byId("about").textContent = game.about;
    this.opponent.players.setGame(game, this.networks);
    this.network.setGame(game, this.networks);
    this.stats.setGame(game);
    byId("position").title = game.notation;
    for (const id of ["review", "legend"]) byId(id).hidden = !game.judge;
    byId("proofs-legend").hidden = Boolean(game.judge);
    byId("turn").hidden = game.name === "connect4";
    const isDrop = game.name.startsWith("drop");
    for (const id of ["swap", "stats-part", "ages-legend"]) byId(id).hidden = !isDrop;
  }

  // The networks there are now.
  setNetworks(networks) {
    this.networks = networks;
    this.opponent.players.setNetworks(networks);
    this.network.setNetworks(networks);
  }

  // A move of yours. Not before the last one has arrived, and not in place of an opponent.
  play(name) {
    if (this.#isCurrent && !this.opponent.isThinking) this.#make(name);
  }

  #make(name) {
    const move = this.shown.moves.find((legal) => legal.name === name);
    if (!move) return;
    this.opponent.isLive = true;
    this.open(this.session.play(move));
  }

  step(ply) { this.#jumpTo(this.session.to(ply)); }

  // To a place from which nobody replies by itself.
  #jumpTo(session) {
    this.opponent.isLive = false;
    return this.open(session);
  }

  // Back to your own last move, if the other side would only reply again.
  undo() {
    const { session } = this;
    let ply = session.ply - 1;
    if (this.opponent.players.yours === 1 && this.#isCurrent && ply > 0) {
      const backOne = session.game.otherSide(this.shown.to_move);
      if (!this.opponent.players.isYou(backOne)) ply -= 1;
    }
    this.step(ply);
  }

  newGame(game = this.session.game) {
    this.opponent.players.newGame();
    this.opponent.isLive = true;
    return this.open(new Session(game));
  }

  // The players end a game that need not end by itself.
  endAsDraw(how) {
    if (!this.#isCurrent) return;
    this.opponent.isLive = true; // the end of a game, which is reviewed
    this.open(this.session.drawnBy(how));
  }

  // Somewhere that the server has to find first. If it cannot, or if the page has gone somewhere
  // else meanwhile, nothing changes.
  async #find(finding) {
    const { session } = this;
    try {
      const found = await finding(session);
      if (session === this.session) await this.#jumpTo(found);
    } catch (problem) {
      this.#complain(problem);
    }
  }

  #goTo(text) {
    return this.#find(async ({ game }) => {
      const { position } = await get(`${game.path}/images`, { position: text || game.empty });
      return Session.at(game, position);
    });
  }

  #image(which) {
    return this.#find(async ({ game, position }) => {
      const images = await get(`${game.path}/images`, { position });
      const text = which === "swap" ? images.swapped
        : images.images[which === "turn" ? QUARTER_TURN : images.images.length / 2];
      if (!text) throw new Error("the sides of this position cannot be swapped: it would be nobody's turn");
      return Session.at(game, text);
    });
  }

  // Plays the first moves of the best line.
  #followLine(count) {
    if (!this.#isCurrent) return null;
    const next = this.shown.line.slice(0, count);
    return this.#find(({ game, start, steps, ply }) =>
      Session.played(game, start, [...steps.slice(0, ply).map((step) => step.name), ...next]));
  }

  // A game from elsewhere, such as one of a run, with its mistakes.
  async openGame(game, names) {
    try {
      const played = await Session.played(game, game.empty, names);
      await this.#jumpTo(played.to(0));
      if (game.judge && this.session.steps === played.steps) await this.game.findMistakes();
    } catch (problem) {
      this.#complain(problem);
    }
  }

  // ---- what is known of the position -----------------------------------------------------------

  async #load() {
    this.loading?.abort();
    this.loading = new AbortController();
    const { signal } = this.loading, { session } = this;
    this.opponent.stop();
    this.asking?.abort();
    byId("position").value = session.position;
    byId("problem").hidden = true;
    byId("progress").hidden = true;
    byId("board").setAttribute("aria-busy", "true");
    const { example, empty } = session.game;
    byId("example").hidden = session.position !== example || example === empty;
    byId("undo").disabled = session.ply === 0;
    byId("redo").disabled = session.atEnd;
    this.draws.show(null);
    this.game.show(session);
    try {
      const answer = await session.game.position(session.position, this.#onEvent(session, signal), signal);
      if (signal.aborted) return;
      byId("progress").hidden = true;
      this.#show(session, answer);
      this.#ended();
      await Promise.all([this.#ask(), this.#reply()]);
    } catch (problem) {
      if (isAbort(problem)) return;
      this.#clear();
      this.#complain(problem);
    }
  }

  #show(session, answer) {
    const isSame = this.#isCurrent; // a position whose values arrive one by one
    this.shown = session.isDrawn
      ? { ...answer, result: "over", winner: null, moves: [], line: [] } : answer;
    this.shownOf = session;
    if (!isSame) this.opinion = null;
    byId("board").removeAttribute("aria-busy");
    this.#draw();
  }

  // Nothing is known of this position.
  #clear() {
    Object.assign(this, { shown: null, shownOf: null, opinion: null });
    byId("verdict").textContent = byId("threat").textContent = "";
    byId("progress").hidden = true;
    byId("moves-part").hidden = true;
    byId("network-legend").hidden = true;
    byId("board").removeAttribute("aria-busy");
    replace(byId("board"));
    document.title = "fadefour";
  }

  // Values that arrive one by one are shown as they come.
  #onEvent(session, signal) {
    let nodes = 0;
    return (kind, data) => {
      if (signal.aborted) return;
      if (kind === "progress") nodes = data.nodes;
      else if (kind === "position") this.#show(session, { ...data, result: null });
      else {
        Object.assign(this.shown.moves.find(({ name }) => name === data.name) ?? {}, data);
        this.#draw();
      }
      const known = this.shown.moves.filter(({ result }) => result).length;
      byId("progress").hidden = false;
      byId("progress").textContent = `Solving: ${known} of ${plural(this.shown.moves.length, "column")} known, `
        + `${plural(nodes, "node")} searched…`;
    };
  }

  #draw() {
    const { shown, session, opinion } = this, values = this.values.checked;
    this.board.draw(session.game, shown, values, opinion);
    byId("verdict").textContent = this.#verdict(shown, values);
    byId("verdict").className = `verdict ${values ? shown.result ?? "" : ""}`;
    byId("threat").textContent = values ? threatOf(shown, sideName(session.game.otherSide(shown.to_move))) : "";
    drawMoves(shown, values, opinion,
      { play: (name) => this.play(name), follow: (count) => this.#followLine(count) });
    if (opinion) this.network.draw(opinion, shown, values);
    byId("network-legend").hidden = !opinion;
    byId("traps-legend").hidden = !shown.moves.some(({ traps }) => traps);
    document.title = `${session.position} – fadefour`;
  }

  #verdict(shown, values) {
    if (shown.result === "over") {
      if (shown.winner) return `${sideName(shown.winner)} has won.`;
      return `The game is drawn${this.session.drawn ? ` by ${this.session.drawn}` : ""}.`;
    }
    const value = values ? outcome(shown) : null;
    const side = sideName(shown.to_move);
    return value ? `${side} to move: ${value} with best play.` : `${side} to move.`;
  }

  // One question at a time: the answer of another network never appears under this one.
  async #ask() {
    if (!this.#isCurrent) return;
    this.asking?.abort();
    this.asking = new AbortController();
    const { shown } = this, { signal } = this.asking;
    try {
      const opinion = await this.network.ask(shown, signal);
      if (signal.aborted) return;
      this.opinion = opinion;
      this.#draw();
    } catch (problem) {
      if (!isAbort(problem)) this.network.failed(problem);
    }
  }

  async #reply() {
    if (!this.#isCurrent) return;
    const { shown, session } = this, { players } = this.opponent;
    this.draws.show(shown.moves.length ? session : null, players.yours);
    if (this.opponent.isLive && this.draws.isCertain) this.endAsDraw("repetition");
    else await this.opponent.reply(shown);
  }

  // A game that has just ended is reviewed without being asked.
  #ended() {
    const isOver = this.shown.result === "over" && this.session.atEnd && this.session.steps.length;
    if (isOver && this.opponent.isLive && this.session.game.judge && !this.game.review) this.game.findMistakes();
  }

  // ---- controls --------------------------------------------------------------------------------

  #controls() {
    const clicks = {
      undo: () => this.undo(),
      redo: () => this.step(this.session.ply + 1),
      new: () => this.newGame(),
      "from-empty": () => this.newGame(),
      turn: () => this.#image("turn"),
      mirror: () => this.#image("mirror"),
      swap: () => this.#image("swap"),
    };
    for (const [id, act] of Object.entries(clicks)) byId(id).addEventListener("click", act);
    this.values.addEventListener("change", () => {
      if (!this.values.checked) this.game.forgetReview(); // it has values, too
      if (this.shown) this.#draw();
    });
    byId("position-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#goTo(byId("position").value.trim());
    });
  }

  // The letters and arrows that work anywhere but in a field of text.
  key(event) {
    const acts = {
      ArrowLeft: () => this.undo(), ArrowRight: () => this.step(this.session.ply + 1),
      Home: () => this.step(0), End: () => this.step(this.session.steps.length),
      u: () => this.undo(), r: () => this.step(this.session.ply + 1), n: () => this.newGame(),
      v: () => this.values.click(),
    };
    const act = acts[event.key];
    if (!act || !this.session) return;
    event.preventDefault();
    act();
  }

  #complain(problem) {
    const node = byId("problem");
    node.textContent = problem.message;
    node.hidden = false;
    node.scrollIntoView({ block: "nearest" });
  }
}
