// Parses the documented responses of CrowdSec's local API. Anything else is a fault, never an empty list.
import * as z from "zod";
import type { Decision } from "../../plan/feeds/crowdsec-decisions.ts";
import { parseGoDuration } from "./go-duration.ts";

export const decisionsMax = 1_000_000;

const text = z.string().max(1024);

const decision = z.object({
  scope: text,
  type: text,
  value: text,
  duration: z.string().max(64),
  origin: text.default(""),
  scenario: text.default(""),
  simulated: z.boolean().nullish(),
});

const decisions = z.array(decision).max(decisionsMax).nullable();
const changes = z.object({ new: decisions.optional(), deleted: decisions.optional() });

type WireDecision = z.output<typeof decision>;

export interface Changes {
  readonly added: readonly Decision[];
  readonly deleted: readonly Decision[];
}

/** `GET /v1/decisions`; undefined for any other format. */
export function parseDecisions(body: unknown, nowMs: number): readonly Decision[] | undefined {
  const parsed = decisions.safeParse(body);
  return parsed.success ? readAll(parsed.data, nowMs) : undefined;
}

/** `GET /v1/decisions/stream`; undefined for any other format. */
export function parseChanges(body: unknown, nowMs: number): Changes | undefined {
  const parsed = changes.safeParse(body);
  if (!parsed.success) return undefined;
  const added = readAll(parsed.data.new ?? [], nowMs);
  // The duration of a deleted decision is meaningless.
  const deleted = (parsed.data.deleted ?? []).map((one) => ({ ...one, endMs: nowMs }));
  return added === undefined ? undefined : { added, deleted };
}

/** Simulated decisions are only informational. */
function readAll(all: readonly WireDecision[] | null, nowMs: number): readonly Decision[] | undefined {
  const read: Decision[] = [];
  for (const { simulated, duration, ...rest } of all ?? []) {
    const durationMs = parseGoDuration(duration);
    if (durationMs === undefined) return undefined;
    if (simulated !== true) read.push({ ...rest, endMs: nowMs + durationMs });
  }
  return read;
}
