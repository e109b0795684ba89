// Parses the documented responses of CrowdSec's local API. Anything else is a fault, never an empty list.
import * as z from "zod";
import type { Decision } from "../../plan/feeds/crowdsec-decisions.ts";

export const decisionsMax = 1_000_000;

const text = z.string().max(1024);

const decision = z.object({
  id: z.int().default(0),
  scope: text,
  type: text,
  value: text,
  duration: z.string().max(64),
  simulated: z.boolean().nullish(),
});

const decisions = z.array(decision).max(decisionsMax).nullable();
const changes = z.object({ new: decisions.optional(), deleted: decisions.optional() });

type WireDecision = z.output<typeof decision>;

export interface Changes {
  readonly added: readonly Decision[];
  readonly deleted: readonly Decision[];
}

export interface Reading {
  readonly nowMs: number;
  /** Whether each decision counts. Otherwise the server reports only the longest one for each value. */
  readonly hasIds: boolean;
}

/** `GET /v1/decisions`; undefined for any other format. */
export function parseDecisions(body: unknown, reading: Reading): readonly Decision[] | undefined {
  const parsed = decisions.safeParse(body);
  return parsed.success ? readAll(parsed.data, reading) : undefined;
}

/** `GET /v1/decisions/stream`; undefined for any other format. */
export function parseChanges(body: unknown, reading: Reading): Changes | undefined {
  const parsed = changes.safeParse(body);
  if (!parsed.success) return undefined;
  const added = readAll(parsed.data.new ?? [], reading);
  // The duration of a deleted decision is meaningless.
  const deleted = (parsed.data.deleted ?? []).map((one) => ({
    ...one,
    id: reading.hasIds ? one.id : 0,
    endMs: reading.nowMs,
  }));
  return added === undefined ? undefined : { added, deleted };
}

/** Simulated decisions are only informational. */
function readAll(all: readonly WireDecision[] | null, { nowMs, hasIds }: Reading): readonly Decision[] | undefined {
  const read: Decision[] = [];
  for (const { simulated, duration, ...rest } of all ?? []) {
    const durationMs = parseGoDuration(duration);
    if (durationMs === undefined) return undefined;
    if (simulated !== true) read.push({ ...rest, id: hasIds ? rest.id : 0, endMs: nowMs + durationMs });
  }
  return read;
}

const unitsMs: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["μs", 1e-3],
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

const goDuration = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/u;
const goDurationParts = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gu;
const goDurationLengthMax = 64;

/** Durations as Go prints them, such as `3h59m59.5s`, `-5s` and `1.5µs`, in milliseconds; negative for the past. Undefined if the string is not a duration. */
export function parseGoDuration(text: string): number | undefined {
  if (text.length > goDurationLengthMax || !goDuration.test(text)) return undefined;
  let sumMs = 0;
  for (const [, amount = "", unit = ""] of text.matchAll(goDurationParts))
    sumMs += Number(amount) * (unitsMs.get(unit) ?? 0);
  return text.startsWith("-") ? -sumMs : sumMs;
}
