// Encodes a tally as bytes: for each row, the distance of its identity from the previous one, and how often it was forwarded. Both use
// groups of seven bits, so a hundred thousand rows take about half a megabyte.
import { RowCounts } from "./row-counts.ts";
import { LogTally, tallyRowsMax } from "./tally.ts";
import type { RowIdentity } from "./row-identity.ts";

const groupSize = 128;
/** Eight groups for a distance of 53 bits, and eight for a count. */
const bytesPerRowMax = 16;
/** They take a few milliseconds. */
const sliceRows = 16_384;

/** In slices, because a million rows take half a second. */
export function* encodeTally(tally: LogTally): Generator<undefined, Uint8Array> {
  const bytes = new Uint8Array(tally.size * bytesPerRowMax);
  let length = 0;
  let before = 0;
  let rows = 0;
  for (const identity of yield* tally.identities()) {
    const count = tally.countOf(identity);
    // Nearly every row is forwarded once: the count then takes no extra byte.
    length = writeNumber(bytes, length, (identity - before) * 2 + (count > 1 ? 1 : 0));
    if (count > 1) length = writeNumber(bytes, length, count);
    before = identity;
    rows += 1;
    if (rows % sliceRows === 0) yield undefined;
  }
  return bytes.slice(0, length);
}

/** Undefined if the bytes are not a result of `encodeTally`. `identityOf` must have the same seed as then. */
export function decodeTally(bytes: Uint8Array, identityOf: RowIdentity): LogTally | undefined {
  const counts = new RowCounts();
  const reader = { bytes, position: 0 };
  let identity = 0;
  while (reader.position < bytes.length) {
    const distance = readNumber(reader);
    if (distance === undefined) return undefined;
    const isRepeated = distance % 2 === 1;
    const count = isRepeated ? readNumber(reader) : 1;
    if (count === undefined || count < 1 || count > 2 ** 32 - 1) return undefined;
    identity += Math.floor(distance / 2);
    if (identity >= 2 ** 52 || counts.size >= tallyRowsMax) return undefined;
    counts.setCount(identity, count);
  }
  return new LogTally(identityOf, { counts });
}

/** @returns the end of the number */
function writeNumber(bytes: Uint8Array, start: number, value: number): number {
  let position = start;
  let rest = value;
  for (; rest >= groupSize; rest = Math.floor(rest / groupSize)) bytes[position++] = (rest % groupSize) + groupSize;
  bytes[position] = rest;
  return position + 1;
}

function readNumber(reader: { readonly bytes: Uint8Array; position: number }): number | undefined {
  let value = 0;
  for (let factor = 1; factor < 2 ** 56; factor *= groupSize) {
    const byte = reader.bytes[reader.position];
    if (byte === undefined) return undefined;
    reader.position += 1;
    value += (byte % groupSize) * factor;
    if (byte < groupSize) return value <= Number.MAX_SAFE_INTEGER ? value : undefined;
  }
  return undefined;
}
