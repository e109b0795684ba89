// What tells two log rows apart: a number made of their documented fields. Rows are written by attackers, so the seed must be one
// that nobody outside knows. Fields that are not documented are left out: they may differ from one reading to the next.
import type { LogEntry } from "../../model/log-entry.ts";

/** Bound once: looking up a global for each character costs more than the arithmetic, where globals are not the engine's own. */
const { imul } = Math;

/** Two random numbers of 32 bits, kept as long as the identities that were made with them. */
export interface IdentitySeed {
  readonly low: number;
  readonly high: number;
}

/** A whole number from 0 to 2^52 - 1, equal for equal rows; for others it is the same once in 2^52 times, about. */
export type RowIdentity = (entry: LogEntry) => number;

const multiplierLow = 0x9e_37_79_b1;
const multiplierHigh = 0x85_eb_ca_77;
/** Stands after each field, with its length. */
const separator = 0x5b_d1_e9_95;
const absent = 0x2f_0b_44_47;

export function createRowIdentity(seed: IdentitySeed): RowIdentity {
  let low = 0;
  let high = 0;
  const mixNumber = (value: number): void => {
    low = rotate(imul(low ^ value, multiplierLow), 13);
    high = rotate(imul(high ^ value, multiplierHigh), 17);
  };
  const mixText = (text: string | null): void => {
    if (text === null) return mixNumber(absent);
    // Local variables, and two characters at a time: this loop is where the time goes.
    let a = low;
    let b = high;
    const even = text.length & ~1;
    for (let index = 0; index < even; index += 2) {
      const pair = text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16);
      a = rotate(imul(a ^ pair, multiplierLow), 13);
      b = rotate(imul(b ^ pair, multiplierHigh), 17);
    }
    if (even < text.length) {
      const unit = text.charCodeAt(even);
      a = rotate(imul(a ^ unit, multiplierLow), 13);
      b = rotate(imul(b ^ unit, multiplierHigh), 17);
    }
    low = a;
    high = b;
    mixNumber(separator ^ text.length);
  };
  return (entry) => {
    low = seed.low | 0;
    high = seed.high | 0;
    mixText(entry.timestamp);
    mixText(entry.client_ip);
    mixText(entry.request_path);
    mixText(entry.user_agent);
    mixText(entry.block_reason);
    mixText(entry.http_method);
    mixText(entry.country);
    mixText(entry.referrer);
    mixNumeric(entry.http_status, mixNumber, mixText);
    mixNumeric(entry.response_size, mixNumber, mixText);
    mixNumber(entry.cache_hit ? 1 : 0);
    return (finish(low ^ rotate(high, 7)) >>> 0) * 2 ** 20 + (finish(high) >>> 12);
  };
}

/** Sizes are whole numbers of 32 bits, nearly always. */
function mixNumeric(value: number, mixNumber: (value: number) => void, mixText: (text: string) => void): void {
  if ((value | 0) === value) mixNumber(value);
  else mixText(String(value));
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

/** The end of MurmurHash3: every bit of the result depends on every bit of what goes in. */
function finish(value: number): number {
  let mixed = imul(value ^ (value >>> 16), 0x85_eb_ca_6b);
  mixed = imul(mixed ^ (mixed >>> 13), 0xc2_b2_ae_35);
  return mixed ^ (mixed >>> 16);
}
