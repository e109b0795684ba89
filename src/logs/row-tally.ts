// Identifies a log row by a number computed from its documented fields, and counts how often each row of one day was read: equal rows are
// different requests. Attackers control the rows, so the seed must be secret. Undocumented fields are ignored: they may differ between
// readings. A tally stores no strings.
import type { LogEntry } from "../model/log-entry.ts";

/** Two random 32-bit numbers, kept as long as the identities that depend on them. */
export interface IdentitySeed {
  readonly low: number;
  readonly high: number;
}

/** A whole number from 0 to 2^52 - 1, equal for equal rows; two different rows share one with a probability of about 1 in 2^52. */
export type RowIdentity = (entry: LogEntry) => number;

export function createRowIdentity(seed: IdentitySeed): RowIdentity {
  return (entry) =>
    identityOfFields(seed, [
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

/**
 * Two multiplicative hashes with different rotations. SHA-256 takes three times as long, because of the strings that it needs for
 * each row. The multipliers are as secret as the seed: with known ones, an attacker could write requests that are likely to count as one.
 * A difference whose effect does not depend on them, that of the highest bit, never cancels in both hashes.
 */
export function identityOfFields(
  { low, high }: IdentitySeed,
  fields: readonly (string | number | boolean | null)[],
): number {
  const [factor, otherFactor] = [low | 1, high | 1];
  let one = high;
  let other = low;
  for (const field of fields) {
    const text = field === null ? "" : String(field);
    for (let at = 0; at < text.length; at += 2) {
      const codes = text.charCodeAt(at) | (at + 1 < text.length ? text.charCodeAt(at + 1) << 16 : 0);
      one = rotated(Math.imul(one ^ codes, factor), 13);
      other = rotated(Math.imul(other ^ codes, otherFactor), 17);
    }
    const end = field === null ? 0 : ~text.length;
    one = rotated(Math.imul(one ^ end, factor), 13);
    other = rotated(Math.imul(other ^ end, otherFactor), 17);
  }
  return (one >>> 0) * 2 ** 20 + (other >>> 12);
}

function rotated(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

/** Identities are whole numbers below 2^52. */
export type RowTally = Map<number, number>;

/** Further distinct rows of a day are forwarded without being recorded. */
export const tallyRowsMax = 2 ** 22;

/** Eight bytes for each distinct row, in base64, and eight more for a row that occurs several times: its count, as a negative number. */
export function encodeTally(tally: RowTally): string {
  const numbers: number[] = [];
  for (const [identity, count] of tally) {
    numbers.push(identity);
    if (count > 1) numbers.push(-count);
  }
  return Buffer.from(Float64Array.from(numbers).buffer).toString("base64");
}

/** Undefined if the text is not a result of `encodeTally`. */
export function decodeTally(text: string): RowTally | undefined {
  const bytes = Uint8Array.from(Buffer.from(text, "base64"));
  if (bytes.length % Float64Array.BYTES_PER_ELEMENT !== 0) return undefined;
  const tally: RowTally = new Map();
  let identity: number | undefined;
  for (const number of new Float64Array(bytes.buffer)) {
    if (!Number.isSafeInteger(number) || (number < 0 && identity === undefined)) return undefined;
    if (number >= 0) identity = number;
    tally.set(identity ?? 0, Math.max(1, -number));
  }
  return tally;
}
