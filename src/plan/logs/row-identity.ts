// Identifies a log row by a number computed from its documented fields. Attackers control the rows, so the seed must be
// secret. Undocumented fields are ignored: they may differ between readings.
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
