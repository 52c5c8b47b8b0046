// The board: a button for each cell. What is on a cell can be seen, read and heard.

import { element, replace, svg } from "./dom.js";
import { sideName } from "./games.js";
import { cellName, lineCells } from "./lines.js";
import { outcome, percent, plural, short } from "./words.js";
import { isBest, keepsResult } from "./worth.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// A policy below this share is not worth a mark on a cell.
const NOTED = 0.1;

export class Board {
  constructor(node, play) {
    Object.assign(this, { node, play, focused: null });
    node.addEventListener("keydown", (event) => this.#walk(event));
  }

  // shown: the position; values: whether to show them; opinion: of a network, or null.
  draw(game, shown, values, opinion) {
    this.game = game;
    const hadFocus = this.node.contains(document.activeElement);
    this.node.className = `board ${game.name.split("-")[0]}${shown.moves.length ? "" : " over"}`;
    this.node.style.setProperty("--columns", game.columns);
    this.node.style.setProperty("--rows", game.rows);
    const isOver = shown.result === "over"; // then nothing leaves any more
    const pieces = new Map(shown.pieces.map((piece) => [piece.cell, { ...piece, leaves: piece.leaves && !isOver }]));
    const moves = new Map(shown.moves.map((move) => [move.cell, move]));
    const last = game.lastCell(shown);
    const line = shown.winner ? lineCells(shown.pieces, shown.winner, game.inRow) : new Set();
    const rows = [];
    for (let row = game.rows - 1; row >= 0; row -= 1) {
      rows.push(element("span", { class: "label", "aria-hidden": true }, String(row + 1)));
      for (let column = 0; column < game.columns; column += 1) {
        const cell = cellName(column, row);
        const move = moves.get(cell);
        const inColumn = move ?? (game.name === "connect4"
          ? shown.moves.find(({ name }) => name === String(column + 1)) : undefined);
        const marks = { isLast: cell === last, inLine: line.has(cell),
          stops: values && Boolean(shown.stops?.includes(cell)) };
        const about = { cell, piece: pieces.get(cell), move, inColumn, column, row, marks };
        rows.push(this.#cell(game, about, shown, values, opinion));
      }
    }
    const names = [...Array(game.columns).keys()].map((column) =>
      element("span", { class: "label", "aria-hidden": true },
        game.name === "connect4" ? String(column + 1) : cellName(column, 0)[0]));
    replace(this.node, rows, element("span", {}), names);
    if (!this.node.querySelector(`[data-cell="${this.focused}"]`)) {
      this.focused = shown.moves.length ? [...moves.keys()][0] : cellName(0, 0);
    }
    this.#rove();
    if (hadFocus) this.#focus(this.focused);
    this.#bringIntoView(last);
  }

  // A board wider than the screen scrolls inside its own frame to the last move.
  #bringIntoView(cell) {
    const node = cell && this.node.querySelector(`[data-cell="${cell}"]`);
    if (!node || this.node.scrollWidth <= this.node.clientWidth) return;
    const { left, right } = node.getBoundingClientRect(), frame = this.node.getBoundingClientRect();
    if (left < frame.left) this.node.scrollLeft -= frame.left - left + node.clientWidth;
    else if (right > frame.right) this.node.scrollLeft += right - frame.right;
  }

  // move: the one that fills this cell; inColumn: the one that a click on this cell makes.
  #cell(game, { cell, piece, move, inColumn, column, row, marks }, shown, values, opinion) {
    const judged = values && move?.result;
    const thought = opinion && move && opinion.byName.get(move.name);
    const classes = ["cell"];
    if (move) classes.push("legal");
    if (judged) classes.push(move.result);
    if (judged && isBest(move, shown.moves)) classes.push("best");
    if (marks.isLast) classes.push("last");
    if (marks.inLine) classes.push("in-line");
    if (marks.stops) classes.push("stops");
    const parts = [];
    if (piece) parts.push(this.#piece(piece));
    if (judged) parts.push(...this.#value(move));
    else if (marks.stops) parts.push(element("span", { class: "value" }, "stop"));
    else if (values && move && game.judge) parts.push(element("span", { class: "value" }, "…"));
    if (thought) parts.push(...this.#thought(thought, move, shown, values, classes));
    const words = this.#words(cell, piece, marks, judged && move, thought);
    return element("button", {
      type: "button", class: classes.join(" "), "data-cell": cell, "data-column": column,
      "data-row": row, "data-move": move?.name, "aria-label": words, title: words,
      "aria-disabled": inColumn ? null : "true", tabindex: -1,
      onclick: () => { if (inColumn) this.play(inColumn.name); },
      onfocus: () => { this.focused = cell; this.#rove(); },
    }, parts);
  }

  // As 'fadefour probe --png' draws it; without an age there is no ring to leave room for.
  #piece({ side, age, leaves }) {
    return svg("svg", { viewBox: "0 0 100 100", class: `piece side-${side}${leaves ? " leaving" : ""}` },
      leaves ? svg("circle", { cx: 50, cy: 50, r: 47, class: "broken" }) : null,
      svg("circle", { cx: 50, cy: 50, r: age ? 39 : 46, class: "disc" }),
      svg("text", { x: 50, y: 51, class: age ? "aged" : "" }, sideName(side) + (age ?? "")));
  }

  #value(move) {
    const traps = move.traps?.losing
      ? [element("span", { class: "traps" }, `traps ${move.traps.losing}/${move.traps.replies}`)] : [];
    return [element("span", { class: "value" }, short(move)), ...traps];
  }

  #thought({ policy, visits, chosen }, move, shown, values, classes) {
    if (chosen) classes.push("chosen");
    const wrong = values && move.result && !keepsResult(move, shown.moves);
    if (wrong && (chosen || policy >= NOTED)) classes.push("errs");
    const bar = element("span", { class: "policy" });
    bar.style.setProperty("--share", policy);
    const words = visits === null ? percent(policy) : `${percent(policy)} · ${visits}`;
    return [bar, policy >= 0.005 || visits || chosen
      ? element("span", { class: "thought" }, chosen ? `▸ ${words}` : words) : null];
  }

  #words(cell, piece, { isLast, inLine, stops }, move, thought) {
    const words = [cell];
    if (piece) {
      words.push(sideName(piece.side));
      if (piece.age) words.push(piece.leaves ? "leaves with its owner's next move" : `age ${piece.age}`);
    }
    if (isLast) words.push("last move");
    if (inLine) words.push("in the winning line");
    if (stops) words.push("stops the threat");
    if (move) words.push(outcome(move));
    if (move?.traps?.losing) {
      words.push(`${move.traps.losing} of ${plural(move.traps.replies, "reply", "replies")} are mistakes`);
    }
    if (thought) words.push(`network ${percent(thought.policy)}${thought.chosen ? ", its move" : ""}`);
    return words.join(", ");
  }

  // One cell is in the order of tabs; arrows walk from it.
  #rove() {
    for (const cell of this.node.querySelectorAll(".cell")) {
      cell.tabIndex = cell.dataset.cell === this.focused ? 0 : -1;
    }
  }

  #focus(cell) { this.node.querySelector(`[data-cell="${cell}"]`)?.focus(); }

  #walk(event) {
    const step = STEPS[event.key];
    const from = event.target.closest?.(".cell");
    if (!step || !from || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const column = Number(from.dataset.column) + step[0], row = Number(from.dataset.row) + step[1];
    if (column < 0 || row < 0 || column >= this.game.columns || row >= this.game.rows) return;
    this.#focus(cellName(column, row));
  }
}
