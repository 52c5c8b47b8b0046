// Pieces in a row, for marking: who has won is for the server to say.

const DIRECTIONS = [[1, 0], [0, 1], [1, 1], [1, -1]];

export const cellName = (column, row) => String.fromCharCode(97 + column) + (row + 1);

const placeOf = (cell) => [cell.charCodeAt(0) - 97, Number(cell.slice(1)) - 1];

// The cells of all lines of at least `count` pieces of this side.
export function lineCells(pieces, side, count) {
  const own = new Set(pieces.filter((piece) => piece.side === side).map(({ cell }) => cell));
  const marked = new Set();
  for (const cell of own) {
    const [column, row] = placeOf(cell);
    for (const [right, up] of DIRECTIONS) {
      if (own.has(cellName(column - right, row - up))) continue; // not the first of its line
      const line = [];
      for (let i = 0; own.has(cellName(column + i * right, row + i * up)); i += 1) {
        line.push(cellName(column + i * right, row + i * up));
      }
      if (line.length >= count) line.forEach((name) => marked.add(name));
    }
  }
  return marked;
}
