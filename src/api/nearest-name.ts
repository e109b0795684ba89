// Which of some names was probably meant by one that is none of them.

/** The known name that differs least, or undefined if none is near: at most a third of the letters, case aside. */
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

/** Insertions, removals and replacements of one letter that lead from one text to the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, place) => place);
  for (let place = 0; place < from.length; place += 1) {
    const next = [place + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (from[place] === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
