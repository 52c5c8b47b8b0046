// The runs of the folder: a list that is kept up to date, and the one that is looked at.

import { get, isAbort } from "./api.js";
import { byId, element, replace } from "./dom.js";
import { RunView } from "./run_view.js";

const REFRESH_SECONDS = 5; // a run that begins appears in the list

export class Runs {
  // openGame: shows a game in the explorer.
  constructor(openGame) {
    Object.assign(this, { openGame, view: null, opening: null, timer: null });
  }

  async show(id = null) {
    this.stop();
    this.opening = new AbortController();
    const { signal } = this.opening;
    try {
      const { runs } = await get("/api/runs", undefined, signal);
      if (signal.aborted) return;
      const chosen = runs.find((run) => run.id === id) ?? runs[0];
      this.#list(runs, chosen?.id);
      if (chosen) this.view = new RunView(chosen, byId("run"), this.openGame);
      else replace(byId("run"));
    } catch (problem) {
      if (isAbort(problem)) return;
      replace(byId("run-list"), element("li", { class: "problem" }, problem.message));
    }
    this.timer = setInterval(() => this.#refresh(signal), 1000 * REFRESH_SECONDS);
  }

  stop() {
    clearInterval(this.timer);
    this.opening?.abort();
    this.view?.close();
    this.view = null;
  }

  async #refresh(signal) {
    if (document.hidden) return;
    try {
      const { runs } = await get("/api/runs", undefined, signal);
      if (signal.aborted) return;
      if (!this.view && runs.length) this.show();
      else this.#list(runs, this.view?.run.id);
    } catch { /* the next time may be better */ }
  }

  #list(runs, chosen) {
    const text = JSON.stringify([runs.map(({ id }) => id), chosen]);
    if (this.listed === text && runs.length) return;
    this.listed = text;
    replace(byId("run-list"), runs.length
      ? runs.map((run) => element("li", {}, element("button", { type: "button",
        "aria-current": run.id === chosen ? "true" : null, onclick: () => this.#choose(run.id) },
      run.id, element("small", {}, ` ${run.game}, ${run.kind === "oracle" ? "from the table" : "self-play"}`))))
      : element("li", { class: "hint" }, "No runs yet: 'fadefour self-play --game connect4 --run runs/first' begins one."));
  }

  #choose(id) {
    history.pushState({ run: id }, "", `/?run=${encodeURIComponent(id)}`);
    this.show(id);
  }
}
