// A game after it was played: the exact value along it, its mistakes, how well each side played.

import { gameChart } from "./chart.js";
import { element, replace } from "./dom.js";
import { sideName } from "./games.js";
import { outcome, percent, plural, short } from "./words.js";

export function drawReview(node, review, session, jump) {
  const { positions, moves, accuracy } = review;
  positions.at(-1).winner = review.winner;
  const mistakes = moves.filter((move) => move.mistake);
  replace(node,
    element("div", { class: "scrolling", tabindex: 0, role: "group", "aria-label": "The value along the game" },
      gameChart(positions, session.game.sides[0], mistakes, session.ply, jump, node.clientWidth)),
    element("p", { class: "accuracy" }, Object.entries(accuracy).map(([side, { moves: made, mistakes: wrong, accuracy: share }]) =>
      element("span", {}, `${sideName(side)}: ${made - wrong} of ${plural(made, "move")} right`
        + (share === null ? "" : ` (${percent(share)})`)))),
    mistakes.length
      ? element("ol", { class: "mistakes" }, mistakes.map((move) => element("li", {},
        element("button", { type: "button", onclick: () => jump(move.ply) },
          `Ply ${move.ply}, ${sideName(move.side)} ${session.game.nameOf(move)}`),
        ` ${outcome(move.before)} became ${outcome(move.after)}; right: ${move.right.join(", ")}`)))
      : element("p", {}, "No mistakes."));
}

// The moves of the game; after a review each with its exact value for the side that made it.
export function drawRecord(node, session, review, jump) {
  const steps = session.steps.map((step, i) => {
    const move = review?.moves[i];
    const value = move ? element("small", { class: move.mistake ? "mistake" : "" }, ` ${short(move.after)}`) : null;
    return element("li", {}, element("button", { type: "button", class: move?.mistake ? "mistake" : "",
      "aria-current": session.ply === i + 1 ? "step" : null, onclick: () => jump(i + 1) }, step.name, value));
  });
  replace(node, steps.length ? steps : element("li", { class: "hint" }, "no moves yet"));
}
