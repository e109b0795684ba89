// What tells two log rows apart: a number made of their documented fields. Rows are written by attackers, so the seed must be one
// that nobody outside knows. Fields that are not documented are ignored: they may differ from one reading to the next.
import { hash } from "node:crypto";
import type { LogEntry } from "../../model/log-entry.ts";

/** Two random numbers of 32 bits, kept as long as the identities that were made with them. */
export interface IdentitySeed {
  readonly low: number;
  readonly high: number;
}

/** A whole number from 0 to 2^52 - 1, equal for equal rows; two different rows share one in 2^52 cases, about. */
export type RowIdentity = (entry: LogEntry) => number;

/** 52 bits: as many as a number can hold whole. */
const hexDigits = 13;

export function createRowIdentity({ low, high }: IdentitySeed): RowIdentity {
  return (entry) => {
    const fields = JSON.stringify([
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
    return Number.parseInt(hash("sha256", fields, "hex").slice(0, hexDigits), 16);
  };
}
