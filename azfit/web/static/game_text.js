// A game as text, to keep or to send: lines of "game:", "start:", "moves:" and, if the players
// agreed on a draw or claimed one, "result:".

import { gameByName } from "./games.js";
import { Session } from "./session.js";

const FIELDS = ["game", "start", "moves", "result"];
const DRAWN = /^draw by (agreement|repetition)$/;

export function textOf({ game, start, steps, drawn }) {
  const moves = steps.map((step) => step.name).join(" ");
  const result = drawn ? `result: draw by ${drawn}\n` : "";
  return `game: ${game.name}\nstart: ${start}\nmoves: ${moves}\n${result}`;
}

// The game of a text; what cannot be read is refused in one line.
export async function gameOf(text) {
  const fields = fieldsOf(text);
  const game = gameByName(fields.game);
  if (!game) throw new Error("the text names no game: begin with 'game: drop-4-4-4', 'game: connect4' or 'game: gomoku-15'");
  const drawn = fields.result ? DRAWN.exec(fields.result)?.[1] : null;
  if (drawn === undefined) {
    throw new Error(`the result '${fields.result}' cannot be read: write 'draw by agreement' or 'draw by repetition'`);
  }
  const names = (fields.moves ?? "").split(/\s+/).filter(Boolean);
  return Session.played(game, fields.start || game.empty, names, drawn);
}

function fieldsOf(text) {
  const fields = {};
  for (const [number, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const [, name, value] = /^\s*(\w+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    const field = name?.toLowerCase();
    if (!FIELDS.includes(field)) {
      throw new Error(`line ${number + 1} cannot be read: begin it with ${FIELDS.map((known) => `'${known}:'`).join(", ")}`);
    }
    if (field in fields) throw new Error(`line ${number + 1} gives '${field}:' a second time: leave one of them out`);
    fields[field] = value;
  }
  return fields;
}
