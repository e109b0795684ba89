// Parses the documented responses of CrowdSec's local API. Anything else is a fault, never an empty list.
import * as z from "zod";
import type { Decision } from "../../plan/feeds/crowdsec-decisions.ts";
import { parseGoDuration } from "./go-duration.ts";

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
