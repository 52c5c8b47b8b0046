// The moves whose results are known as a table, best first, and the best line.

import { byId, element, replace } from "./dom.js";
import { outcome, plural } from "./words.js";

// play: makes a move, by name; follow: makes the first moves of the best line, by their number.
export function drawMoves(shown, values, opinion, { play, follow }) {
  const part = byId("moves-part");
  const moves = shown.moves.filter(({ result }) => result);
  const isWaiting = shown.moves.some(({ result }) => result === undefined); // for more of them
  part.hidden = !values || isWaiting || !moves.length;
  if (part.hidden) return;
  const more = MORE.filter(([field]) => (moves[0][field] ?? null) !== null);
  const { rows, rest } = grouped(moves);
  const heads = ["move", "result", ...more.map(([field]) => field), ...(opinion ? ["network"] : [])];
  replace(byId("moves"), element("table", {},
    element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, rows.map((move) => rowOf(move, more, opinion, play)), rest)));
  replace(byId("line"), shown.line.map((name, i) => element("button", { type: "button",
    title: "Step along this line", onclick: () => follow(i + 1) }, name)),
  shown.result === "draw" ? " …" : "");
  byId("line-part").hidden = !shown.line.length;
}

// Where hundreds of moves lose to the same threat, they are one line.
const MOST_ALIKE = 20;

function grouped(moves) {
  const words = outcome(moves.at(-1));
  const alike = moves.filter((move) => outcome(move) === words);
  if (alike[0].result !== "loss" || alike.length <= MOST_ALIKE) return { rows: moves, rest: null };
  return { rows: moves.filter((move) => outcome(move) !== words),
    rest: element("tr", {}, element("th", { scope: "row" }, plural(alike.length, "move")),
      element("td", {}, element("span", { class: `key ${alike[0].result}` }, words))) };
}

// What else is said of a move, by field: depending on the game and on the position.
const MORE = [
  ["traps", ({ traps: { losing, replies } }) => (losing ? `${losing} of ${replies}` : "–")],
  ["score", ({ score }) => String(score)],
];

function rowOf(move, more, opinion, play) {
  const thought = opinion?.byName.get(move.name);
  return element("tr", {},
    element("th", { scope: "row" }, element("button", { type: "button", onclick: () => play(move.name) }, move.name)),
    element("td", {}, element("span", { class: `key ${move.result}` }, outcome(move))),
    more.map(([, words]) => element("td", {}, words(move))),
    opinion ? element("td", {}, thought ? `${(100 * thought.policy).toFixed(1)} %` : "") : null);
}
