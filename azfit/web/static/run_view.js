// A run as it learns: the curves of 'fadefour plot', the diagnosis, the latest games. A view is of
// one run only; what arrives after it was closed is thrown away.

import { get, isAbort } from "./api.js";
import { panelChart } from "./chart.js";
import { Diagnosis } from "./diagnosis.js";
import { element, replace } from "./dom.js";
import { gameByName, sideName } from "./games.js";
import { plural } from "./words.js";

const MOST_GAMES = 20;

export class RunView {
  // openGame: shows a game in the explorer.
  constructor(run, node, openGame) {
    Object.assign(this, { run, openGame, closing: new AbortController() });
    this.path = `/api/runs/${encodeURIComponent(run.id)}`;
    this.charts = element("div", { class: "panels", "aria-live": "off" });
    this.status = element("p", { class: "hint", role: "status" });
    this.games = element("div", { class: "games" });
    this.diagnosis = new Diagnosis(run, this.path, this.closing.signal);
    replace(node, element("h2", {}, run.id), this.status, this.diagnosis.node, this.charts,
      run.kind === "oracle" ? null : [element("h3", {}, "Latest games"), this.games]);
    this.#follow();
  }

  close() {
    this.closing.abort();
    this.events.close();
  }

  #follow() {
    this.events = new EventSource(`${this.path}/events`);
    this.events.addEventListener("metrics", (event) => {
      const { next } = JSON.parse(event.data);
      this.status.className = "hint";
      this.status.textContent = `${this.run.game}: ${plural(next, "line")} of metrics; this page follows the run.`;
      this.diagnosis.metrics(next);
      this.#fill(this.charts, "curves", chartsOf);
    });
    this.events.addEventListener("games", () => {
      if (this.run.kind !== "oracle") this.#fill(this.games, "games", (answer) => this.#gamesOf(answer), "hint");
    });
    this.events.addEventListener("error", (event) => this.#failed(event));
  }

  // An event of the server's says what is wrong with the run, and is its last; one of the
  // browser's own says that the connection is lost.
  #failed(event) {
    if (event.data) {
      const { error, remedy } = JSON.parse(event.data);
      this.events.close();
      this.#complain(remedy ? `${error}: ${remedy}` : error);
    } else if (this.events.readyState === EventSource.CLOSED) {
      this.#complain("the server does not follow this run any longer: choose it again");
    } else {
      this.status.className = "hint";
      this.status.textContent = "the server does not answer; trying again…";
    }
  }

  #complain(words) {
    this.status.className = "problem";
    this.status.textContent = words;
  }

  // Asks for a part of what is known of the run, and draws it unless the view was closed.
  async #fill(node, part, drawn, kind = "problem") {
    const { signal } = this.closing;
    try {
      const answer = await get(`${this.path}/${part}`, undefined, signal);
      if (!signal.aborted) replace(node, drawn(answer));
    } catch (problem) {
      if (!isAbort(problem)) replace(node, element("p", { class: kind }, problem.message));
    }
  }

  #gamesOf({ game: name, iteration, count, games }) {
    const game = gameByName(name);
    return [element("p", {}, `Iteration ${iteration}, ${plural(count, "game")}:`),
      element("ol", {}, games.slice(0, MOST_GAMES).map(({ moves, winner }) => element("li", {},
        element("button", { type: "button", onclick: () => this.openGame(game, moves) }, "Replay"),
        ` ${plural(moves.length, "ply", "plies")}, ${winner ? `${sideName(game.sides[winner === "first" ? 0 : 1])} won` : "drawn"}: `,
        element("span", { class: "moves-text" }, moves.slice(0, 14).join(" ") + (moves.length > 14 ? " …" : "")))))];
  }
}

function chartsOf({ panels }) {
  const drawn = panels.map(panelChart).filter(Boolean);
  return drawn.length ? drawn : element("p", { class: "hint" }, "Nothing to draw yet.");
}
