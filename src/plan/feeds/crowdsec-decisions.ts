// The active decisions of a CrowdSec local API: a full response, then changes to it. The server reports a value as deleted only
// if no other decision for it is active. The duration of a decision determines its expiry, so that it also expires while the
// server is unavailable.
import type { Entry } from "../../address/entry.ts";
import { parseDeclaredEntry } from "../../address/entry.ts";
import type { FeedReading, InvalidLine } from "../../model/feed.ts";

export interface Decision {
  /** 0 if the server reports only the longest decision for each value. */
  readonly id: number;
  /** Case-insensitive: `Ip`, `Range`, `Country` and so on. */
  readonly scope: string;
  readonly type: string;
  readonly value: string;
  readonly endMs: number;
}

export interface ActiveDecision {
  /** Undefined if the value is not an entry. */
  readonly entry: Entry | undefined;
  readonly value: string;
  readonly endMs: number;
}

/** By type, value and ID. */
export type ActiveDecisions = ReadonlyMap<string, ActiveDecision>;

const usedScopes: ReadonlySet<string> = new Set(["ip", "range"]);
const invalidLinesMax = 10;

/** All active decisions, from a full response. */
export function allDecisions(decisions: readonly Decision[], types: readonly string[], nowMs: number): ActiveDecisions {
  return withDecisions(new Map(), decisions, types, nowMs);
}

/** Deletions first: a value that is deleted and added again is active. */
export function changedDecisions(
  active: ActiveDecisions,
  changes: { readonly added: readonly Decision[]; readonly deleted: readonly Decision[] },
  types: readonly string[],
  nowMs: number,
): ActiveDecisions {
  const kept = new Map(active);
  for (const decision of changes.deleted) kept.delete(keyOf(decision));
  return withDecisions(kept, changes.added, types, nowMs);
}

function withDecisions(
  active: Map<string, ActiveDecision>,
  decisions: readonly Decision[],
  types: readonly string[],
  nowMs: number,
): ActiveDecisions {
  const wanted = new Set(types.map((type) => type.toLowerCase()));
  for (const decision of decisions) {
    const { scope, type, endMs } = decision;
    if (!usedScopes.has(scope.toLowerCase()) || !wanted.has(type.toLowerCase()) || endMs <= nowMs) continue;
    const key = keyOf(decision);
    const known = active.get(key);
    // If there are several decisions for one value, the longest one applies.
    if (known === undefined || known.endMs < endMs) {
      active.set(key, activeDecision(decision));
    }
  }
  for (const [key, { endMs }] of active) if (endMs <= nowMs) active.delete(key);
  return active;
}

function activeDecision({ value, endMs }: Decision): ActiveDecision {
  const parsed = parseDeclaredEntry(value);
  return { entry: parsed.ok ? parsed.entry : undefined, value, endMs };
}

function keyOf({ type, value, id }: Decision): string {
  return `${type.toLowerCase()} ${value.toLowerCase()} ${id}`;
}

/**
 * The entries, each with the end of its last decision.
 * @param redact makes an invalid value safe to show
 */
export function readDecisions(active: ActiveDecisions, redact: (text: string) => string): FeedReading {
  const expiresAtMs = new Map<Entry, number>();
  const invalidLines: InvalidLine[] = [];
  let invalid = 0;
  let place = 0;
  for (const { entry, value, endMs } of active.values()) {
    place += 1;
    if (entry !== undefined) expiresAtMs.set(entry, Math.max(endMs, expiresAtMs.get(entry) ?? 0));
    else {
      invalid += 1;
      if (invalidLines.length < invalidLinesMax) invalidLines.push(invalidLine(redact(value), place));
    }
  }
  const valid = expiresAtMs.size;
  return {
    content: { entries: [...expiresAtMs.keys()], expiresAtMs },
    counts: { total: place, valid, invalid, duplicates: place - valid - invalid },
    invalidLines,
  };
}

function invalidLine(value: string, line: number): InvalidLine {
  const parsed = parseDeclaredEntry(value);
  const text = value.slice(0, 80).replaceAll(/[^\x20-\x7e]/gu, " ");
  return { line, text, message: parsed.ok ? "" : parsed.fault.message };
}
