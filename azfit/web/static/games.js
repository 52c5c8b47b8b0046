// The three games behind one face: addresses, notation, and the shape of a position.
// Rules live on the server: a legal move comes with the position that it leads to.

import { get, post, stream } from "./api.js";
import { cellName } from "./lines.js";

const SIDE_NAMES = { x: "X", y: "Y", o: "O" };
export const sideName = (side) => SIDE_NAMES[side];

class Game {
  // name: as the API calls it; columns, rows: of the board; sides: who moves first and second;
  // inRow: pieces in a row that win; judge: who knows the exact value of every move, if anybody;
  // without one, a move has a value where it is proved, and null elsewhere.
  constructor(name, title, { columns, rows, sides, inRow, judge = null }) {
    Object.assign(this, { name, title, columns, rows, sides, inRow, judge });
  }
  // What a move is called, in positions and in lists: by its cell, unless the game has another way.
  nameOf({ cell }) { return cell; }
  named(answer) {
    for (const move of answer.moves) move.name = this.nameOf(move);
    return answer;
  }
  otherSide(side) { return this.sides[side === this.sides[0] ? 1 : 0]; }
}

class DropOldest extends Game {
  constructor(n, m, k) {
    super(`drop-${n}-${m}-${k}`, `Drop-oldest ${n}×${n}, ${m} pieces${k === n ? "" : `, ${k} in a row`}`,
      { columns: n, rows: n, sides: ["x", "y"], inRow: k, judge: "table" });
    this.path = `/api/drop/${n}/${m}/${k}`;
    this.empty = "-/- x";
    this.example = this.name === "drop-4-4-4" ? "d4b1b3a3/c2c1c4b2 x" : this.empty;
    this.about = `Drop-oldest tic-tac-toe: ${k} in a row wins on ${n}×${n}, but a player has at most ${m} pieces, `
      + "and the next one takes the oldest off the board, so a game need not end. "
      + "Every cell shows the exact value of the move.";
    this.notation = "X's pieces / Y's pieces, oldest first, then the side to move";
  }
  async position(text, onEvent, signal) {
    return this.named(await get(this.path, { position: text }, signal));
  }
  // A position does not say which moves led to it.
  stepsTo() { return null; }
  originOf(start) { return start; }
  async timeline(start, names) {
    const review = await post(`${this.path}/review`, { start, moves: names });
    return review.positions.slice(1).map(({ position }, i) => ({ name: names[i], position }));
  }
  review(session, onEvent, signal) {
    const moves = session.steps.map((step) => step.name);
    return post(`${this.path}/review`, { start: session.start, moves }, signal);
  }
  // The newest piece of the side that is not to move.
  lastCell({ pieces, to_move: mover }) {
    const others = pieces.filter((piece) => piece.side !== mover);
    return others.find((piece) => piece.age === others.length)?.cell;
  }
}

// A game whose positions are written as the moves that led to them.
class MoveList extends Game {
  // The moves of a text, or null if it is no list of moves.
  namesIn(text) {
    if (text === this.empty) return [];
    const names = this.separator ? text.trim().split(/\s+/) : [...text.trim()];
    return names.every((name) => this.isMove(name)) ? names : null;
  }
  stepsTo(text) {
    return this.namesIn(text)?.map((name, i, names) =>
      ({ name, position: names.slice(0, i + 1).join(this.separator) })) ?? null;
  }
  originOf() { return this.empty; }
  async timeline(start, names) {
    const before = this.namesIn(start);
    if (!before) throw new Error(`the start '${start}' cannot be read: write ${this.notation}`);
    const wrong = names.find((name) => !this.isMove(name));
    if (wrong) throw new Error(`'${wrong}' is no move: write ${this.moveNotation}`);
    const text = [...before, ...names].join(this.separator) || this.empty;
    const { position } = await get(`${this.path}/images`, { position: text }); // refuses what is illegal
    return this.stepsTo(position);
  }
}

class Connect4 extends MoveList {
  constructor() {
    super("connect4", "Connect Four", { columns: 7, rows: 6, sides: ["x", "o"], inRow: 4, judge: "solver" });
    this.path = "/api/connect4";
    this.empty = "-";
    this.separator = "";
    this.example = "44443231116";
    this.about = "Connect Four: pieces fall, and four in a row wins. Every column is solved while you "
      + "watch; early positions take up to a minute or two.";
    this.notation = "the columns played, 1 to 7";
    this.moveNotation = "the columns, 1 to 7, with a space between them: 4 4 4 3 3";
  }
  isMove(name) { return /^[1-7]$/.test(name); }
  nameOf({ column }) { return String(column); }
  async position(text, onEvent, signal) {
    const tell = (kind, data) => {
      if (kind === "move") data.name = this.nameOf(data);
      onEvent(kind, kind === "position" ? this.named({ ...data, line: [] }) : data);
    };
    const answer = this.named(await stream(this.path, { position: text }, tell, signal));
    return { ...answer, line: answer.line.map(String) };
  }
  review(session, onEvent, signal) {
    return stream(`${this.path}/review`, { position: session.last.position }, onEvent, signal);
  }
  lastCell({ position }) {
    const names = this.namesIn(position) ?? [];
    const height = names.filter((name) => name === names.at(-1)).length;
    return names.length ? cellName(Number(names.at(-1)) - 1, height - 1) : null;
  }
}

class Gomoku extends MoveList {
  constructor(size) {
    super(`gomoku-${size}`, `Gomoku ${size}×${size}`, { columns: size, rows: size, sides: ["x", "o"], inRow: 5 });
    this.path = `/api/gomoku/${size}`;
    this.empty = "-";
    this.separator = " ";
    this.example = this.empty;
    this.about = `Gomoku: five in a row wins on ${size}×${size}. Cells show wins and losses that are proved, `
      + "by fours and threes; of the others nothing is known, but a network of yours has an opinion, and plays.";
    this.notation = "the moves from the empty board: h8 g7 h9";
    this.moveNotation = "cells with a space between them: h8 g7 h9";
  }
  isMove(name) { return /^[a-z][1-9]\d?$/.test(name); }
  async position(text, onEvent, signal) {
    return this.named(await get(this.path, { position: text }, signal));
  }
  lastCell({ position }) { return this.namesIn(position)?.at(-1); }
}

export function gameByName(name) {
  const drop = /^drop-(\d+)-(\d+)-(\d+)$/.exec(name ?? "");
  if (drop) return new DropOldest(...drop.slice(1).map(Number));
  if (name === "connect4") return new Connect4();
  const gomoku = /^gomoku-(\d+)$/.exec(name ?? "");
  return gomoku ? new Gomoku(Number(gomoku[1])) : null;
}
