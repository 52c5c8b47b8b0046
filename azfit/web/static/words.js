// Values in words.

export const plural = (count, noun, many = `${noun}s`) =>
  `${count.toLocaleString("en")} ${count === 1 ? noun : many}`;

export const plies = (count) => plural(count, "ply", "plies");

// "win in 5 plies", "draw", "loss in 8 plies"; null where nobody knows.
export function outcome({ result, plies: count }) {
  if (!result) return null;
  return result === "draw" || count === null ? result : `${result} in ${plies(count)}`;
}

// The same on a cell: "win 5".
export const short = ({ result, plies: count }) =>
  result === "draw" || count === null ? result : `${result} ${count}`;

export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;

// What the opponent, by name, would win by if it were to move, and what is to be done about it.
export function threatOf({ threat, stops, result }, opponent) {
  if (!threat) return "";
  const words = `${opponent} threatens to win with ${threat.move}, in ${plies(threat.plies)}`;
  if (result === "win") return `${words}, but comes too late.`;
  if (result === "loss" || !stops.length) return `${words}.`;
  return `${words}; ${stops.join(", ")} ${stops.length === 1 ? "stops" : "stop"} it.`;
}
