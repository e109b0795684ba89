// Suggests the known name that an unknown name was probably meant to be.

/** The most similar known name, ignoring case, or undefined if more than a third of the letters differ from every name. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  const distanceMax = Math.max(1, Math.floor(Math.min(wanted.length, nameLengthMax) / 3));
  if (wanted.length > nameLengthMax) return undefined;
  let nearest: { readonly name: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance <= distanceMax && distance < (nearest?.distance ?? Number.POSITIVE_INFINITY)) {
      nearest = { name: candidate, distance };
    }
  }
  return nearest?.name;
}

const nameLengthMax = 64;

/** The number of insertions, removals, replacements and swaps of neighbors that turn one string into the other. */
function editDistance(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, place) => place)];
  const cost = (row: number, column: number): number => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= from.length; row += 1) {
    rows.push([row]);
    for (let column = 1; column <= to.length; column += 1) {
      const isEqual = from[row - 1] === to[column - 1];
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      rows[row]?.push(
        Math.min(
          cost(row - 1, column) + 1,
          cost(row, column - 1) + 1,
          cost(row - 1, column - 1) + (isEqual ? 0 : 1),
          isSwap ? cost(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return cost(from.length, to.length);
}
