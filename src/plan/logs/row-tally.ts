// Identifies a log row by a number computed from its documented fields, and counts how often each row of one day was read: equal rows are
// different requests. Attackers control the rows, so the seed must be secret. Undocumented fields are ignored: they may differ between
// readings. A tally stores no strings. Encoded, it takes about five bytes per row: the ascending identities as distances, in groups of
// seven bits.
import { hash } from "node:crypto";
import type { LogEntry } from "../../model/log-entry.ts";

/** Two random 32-bit numbers, kept as long as the identities that depend on them. */
export interface IdentitySeed {
  readonly low: number;
  readonly high: number;
}

/** A whole number from 0 to 2^52 - 1, equal for equal rows; two different rows share one with a probability of about 1 in 2^52. */
export type RowIdentity = (entry: LogEntry) => number;

/** 52 bits: the largest multiple of 4 that a number can represent exactly. */
const hexDigits = 13;

export function createRowIdentity({ low, high }: IdentitySeed): RowIdentity {
  return (entry) =>
    identityOfFields([
      low,
      high,
      entry.timestamp,
      entry.client_ip,
      entry.http_method,
      entry.request_path,
      entry.http_status,
      entry.response_size,
      entry.referrer,
      entry.user_agent,
      entry.block_reason,
      entry.country,
      entry.cache_hit,
    ]);
}

export function identityOfFields(fields: readonly (string | number | boolean | null)[]): number {
  return Number.parseInt(hash("sha256", JSON.stringify(fields), "hex").slice(0, hexDigits), 16);
}

/** Identities are whole numbers below 2^52. */
export type RowTally = Map<number, number>;

/** Further distinct rows of a day are forwarded without being recorded. */
export const tallyRowsMax = 2 ** 22;

const groupSize = 128;
/** Eight groups for a distance of 53 bits, and eight for a count. */
const bytesPerRowMax = 16;
/** They take a few milliseconds. */
const sliceRows = 16_384;

/** In slices, because a million rows take half a second. */
export function* encodeTally(tally: RowTally): Generator<undefined, string> {
  const identities = new Float64Array(tally.size);
  let rows = 0;
  for (const identity of tally.keys()) {
    identities[rows] = identity;
    rows += 1;
    if (rows % sliceRows === 0) yield undefined;
  }
  identities.sort();
  const bytes = Buffer.alloc(tally.size * bytesPerRowMax);
  let length = 0;
  let before = 0;
  for (const identity of identities) {
    const count = tally.get(identity) ?? 1;
    // Nearly every row is forwarded once: the count then takes no extra byte.
    length = writeNumber(bytes, length, (identity - before) * 2 + (count > 1 ? 1 : 0));
    if (count > 1) length = writeNumber(bytes, length, count);
    before = identity;
    rows += 1;
    if (rows % sliceRows === 0) yield undefined;
  }
  return bytes.toString("base64", 0, length);
}

/** Undefined if the text is not a result of `encodeTally`. */
export function decodeTally(text: string): RowTally | undefined {
  const reader = { bytes: Buffer.from(text, "base64"), position: 0 };
  const tally: RowTally = new Map();
  let identity = 0;
  while (reader.position < reader.bytes.length) {
    const distance = readNumber(reader);
    const count = distance === undefined || distance % 2 === 0 ? 1 : readNumber(reader);
    if (distance === undefined || count === undefined || count < 1) return undefined;
    identity += Math.floor(distance / 2);
    if (identity >= 2 ** 52 || tally.size >= tallyRowsMax) return undefined;
    tally.set(identity, count);
  }
  return tally;
}

/** @returns the end of the number */
function writeNumber(bytes: Buffer, start: number, value: number): number {
  let position = start;
  let rest = value;
  for (; rest >= groupSize; rest = Math.floor(rest / groupSize)) bytes[position++] = (rest % groupSize) + groupSize;
  bytes[position] = rest;
  return position + 1;
}

function readNumber(reader: { readonly bytes: Buffer; position: number }): number | undefined {
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
