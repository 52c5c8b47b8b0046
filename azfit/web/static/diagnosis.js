// What 'fadefour diagnose' says of a run. That is work of seconds to minutes, so a run that is still
// learning, and has the machine for itself, is diagnosed when somebody asks; one at rest at once.

import { get, isAbort } from "./api.js";
import { element, replace } from "./dom.js";
import { plural } from "./words.js";

const AT_REST_SECONDS = 120; // since the last line of metrics

const LEVELS = { wrong: "Wrong", note: "Note", early: "Too early" };

export class Diagnosis {
  // path: of the run in the API; signal: aborted when nobody looks at the run any longer.
  constructor(run, path, signal) {
    Object.assign(this, { path, signal, lines: null, seen: null, isAsking: false });
    this.isAtRest = run.updated !== null && Date.now() / 1000 - run.updated > AT_REST_SECONDS;
    this.button = element("button", { type: "button", id: "diagnose", onclick: () => this.#ask() },
      "What looks wrong with it?");
    this.words = element("div", { class: "diagnosis", role: "status" });
    this.node = element("section", { "aria-label": "Diagnosis" }, element("p", {}, this.button), this.words);
  }

  // The run has this many lines of metrics now.
  metrics(lines) {
    const isFirst = this.lines === null;
    this.lines = lines;
    if (isFirst && this.isAtRest && lines > 0) this.#ask();
    else this.#label();
  }

  #label() {
    const isStale = this.seen !== null && this.lines > this.seen;
    this.button.hidden = this.isAsking || (this.seen !== null && !isStale);
    this.button.textContent = isStale
      ? `Diagnose again: ${plural(this.lines - this.seen, "line")} of metrics since` : "What looks wrong with it?";
  }

  async #ask() {
    const { lines } = this;
    this.isAsking = true;
    this.#label();
    replace(this.words, element("p", { class: "hint" }, "Diagnosing: this takes from seconds to minutes…"));
    try {
      const report = await get(`${this.path}/diagnosis`, undefined, this.signal);
      if (this.signal.aborted) return;
      this.seen = lines;
      replace(this.words, diagnosisOf(report));
    } catch (problem) {
      if (!isAbort(problem)) replace(this.words, element("p", { class: "problem" }, problem.message));
    } finally {
      this.isAsking = false;
      this.#label();
    }
  }
}

function diagnosisOf({ findings }) {
  if (!findings.length) return element("p", {}, "Nothing looks wrong.");
  return element("ul", { class: "findings" }, findings.map(({ level, sentence, options }) => {
    const unnamed = options.filter((option) => !sentence.includes(option));
    return element("li", { class: level }, element("b", {}, `${LEVELS[level]}: `), sentence,
      unnamed.length ? element("span", { class: "hint" }, ` (${unnamed.join(", ")})`) : null);
  }));
}
