// How many positions of a variant have which result, and how far from the end they are.

import { get, isAbort } from "./api.js";
import { depthChart } from "./chart.js";
import { element, replace } from "./dom.js";

const count = (number) => number.toLocaleString("en");

export class Stats {
  // part: the details that are opened to see the counts; node: where they go.
  constructor(part, node) {
    Object.assign(this, { part, node, game: null });
    part.addEventListener("toggle", () => { if (part.open && !node.childNodes.length) this.#count(); });
  }

  // Another variant: its counts are asked for when the part is opened.
  setGame(game) {
    this.game = game;
    this.counting?.abort();
    this.part.open = false;
    replace(this.node);
  }

  async #count() {
    this.counting = new AbortController();
    const { signal } = this.counting;
    replace(this.node, element("p", { class: "hint" }, "counting…"));
    try {
      const stats = await get(`${this.game.path}/stats`, undefined, signal);
      if (!signal.aborted) replace(this.node, statsOf(stats));
    } catch (problem) {
      if (!isAbort(problem)) replace(this.node, element("p", { class: "problem" }, problem.message));
    }
  }
}

function statsOf(stats) {
  const { win, loss, draw, finished } = stats.results;
  const chart = depthChart(stats.depths);
  return [
    element("p", {}, `${count(stats.nodes)} positions up to symmetry: the side to move wins `
      + `${count(win)}, loses ${count(loss)} and draws ${count(draw)}; in ${count(finished)} the game is over. `
      + (stats.deepest ? `The longest win takes ${stats.deepest} plies.` : "Nobody can force a win.")),
    chart ? [element("p", { class: "legend" }, "Positions, on a logarithmic scale, that are a ",
      element("span", { class: "key win" }, "win"), " or a ", element("span", { class: "key loss" }, "loss"),
      " for the side to move, by plies to the end:"), chart] : null];
}
