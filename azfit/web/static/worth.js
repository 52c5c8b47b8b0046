// Which moves are best, of those that have a result already. Where nothing can be proved the result
// is null: worse than a proved win, better than a proved loss.

const RANK = { win: 2, draw: 1, loss: 0 };
const rank = (result) => RANK[result] ?? RANK.draw;

// Larger is better: quick wins, then wins of unknown length, draws, slow losses.
const worth = ({ result, plies }) =>
  1000 * rank(result) + (result === "win" ? -(plies ?? 900) : result === "loss" ? plies ?? 0 : 0);

const answered = (moves) => moves.filter(({ result }) => result !== undefined);

// Is no other move better, and is there a worse one?
export function isBest(move, moves) {
  const worths = answered(moves).map(worth);
  return worth(move) === Math.max(...worths) && worth(move) > Math.min(...worths);
}

// Does this move, whose result is known, keep the best one?
export const keepsResult = (move, moves) =>
  rank(move.result) === Math.max(...answered(moves).map(({ result }) => rank(result)));
