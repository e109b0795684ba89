// Splits the text of a record into parts, at places that its lines determine: if a line changes, only the part that contains it
// changes, and sometimes the next one. A save then writes few parts, whatever the size of the record.

/** The average number of bytes of a line of an inventory or feed. */
const lineBytes = 25;

/**
 * The first line and the rest in parts of at most `2 * sizeMax` characters. Joined, they are the text. The first line is alone,
 * because nearly every save changes it; it is empty if it is longer than a part may be.
 */
export function splitText(
  text: string,
  sizeMax: number,
): { readonly first: string; readonly parts: readonly string[] } {
  const firstEnd = text.indexOf("\n") + 1;
  const first = firstEnd <= sizeMax ? text.slice(0, firstEnd) : "";
  const parts: string[] = [];
  const boundaryEvery = Math.ceil(sizeMax / 4 / lineBytes);
  let start = first.length;
  for (let lineStart = start; lineStart < text.length;) {
    const lineEnd = text.indexOf("\n", lineStart) + 1 || text.length;
    // Only very long lines are divided.
    while (lineEnd - start > 2 * sizeMax) {
      const end = lineStart > start ? lineStart : wholeEnd(text, start + 2 * sizeMax);
      parts.push(text.slice(start, end));
      start = end;
      lineStart = Math.max(lineStart, end);
    }
    const isBoundary = lineEnd - start >= sizeMax / 4 && hash(text, lineStart, lineEnd) % boundaryEvery === 0;
    if (isBoundary || lineEnd === text.length) {
      parts.push(text.slice(start, lineEnd));
      start = lineEnd;
    }
    lineStart = lineEnd;
  }
  return { first, parts };
}

/** Never between the two halves of a character, which JSON would not keep. */
function wholeEnd(text: string, end: number): number {
  const code = text.charCodeAt(end);
  return code >= 0xdc00 && code <= 0xdfff ? end - 1 : end;
}

/** FNV-1a, with the finalizer of MurmurHash3, which spreads the bits evenly. */
function hash(text: string, start: number, end: number): number {
  let bits = 0x811c9dc5;
  for (let index = start; index < end; index += 1) bits = Math.imul(bits ^ text.charCodeAt(index), 0x01000193);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
