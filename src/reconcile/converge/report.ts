// Writes what a pass knows to the status of the instance and of all that is attached to it. The port writes only what differs.
import { isDeepStrictEqual } from "node:util";
import { mapConcurrently } from "../../async/map-concurrently.ts";
import { requestedAtAnnotation } from "../../api/kinds.ts";
import type { Condition } from "../../api/conditions.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { cacheClearStatus } from "../cache-clear/cache-clear-status.ts";
import { instanceStatus } from "../status/instance-status.ts";
import { originStatus } from "../status/origin-status.ts";
import { rolloutsStatus } from "../cache-clear/rollouts-status.ts";
import { ruleStatus } from "../status/rule-status.ts";
import { recordOf } from "../cache-clear/clear-records.ts";
import type { RunFacts } from "../facts.ts";
import type { DeclaredCacheClear } from "../../model/declared.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import type { StatusPort } from "../ports.ts";

/** Statuses are many and small: one after another they take long, and all at once they stand in the way of others. */
const statusesAtOnceMax = 3;

interface ReportPorts {
  readonly status: StatusPort;
}

export async function reportFacts(ports: ReportPorts, memory: InstanceMemory, facts: RunFacts): Promise<void> {
  const { status } = ports;
  const { meta } = facts.gathered.instance;
  // What an earlier pass said stays true while the WAF is read once more.
  const isToldAlready = (object: ResourceMeta): boolean =>
    facts.phase === "Started" && status.read(object)?.["observedGeneration"] === object.generation;
  if (!isToldAlready(meta)) {
    await write(status, meta, (before) => ({
      ...instanceStatus(before, facts, memory.lastSyncMs),
      cacheClear: rolloutsStatus(before, facts, memory.cacheClears),
    }));
  }
  await mapConcurrently(facts.desired.rules, statusesAtOnceMax, async (rule) => {
    if (rule.rule.meta.deleting || isToldAlready(rule.rule.meta)) return;
    const changedMs = memory.ruleChangedMs.get(rule.id);
    await write(status, rule.rule.meta, (before) => ruleStatus(before, rule, facts, changedMs));
  });
  for (const origin of facts.desired.compiledOrigins) {
    if (isToldAlready(origin.origin.meta)) continue;
    await write(status, origin.origin.meta, (before) => originStatus(before, origin, facts));
  }
  await reportClears(ports, memory, facts, facts.gathered.cacheClears);
}

/**
 * While a pass works: writes the instance, and of the rules those that something became of since they were last told.
 * Thousands may wait for their turn, whose message has not changed but for the time left. `toAll` tells them nevertheless.
 */
export async function reportMoved(
  { status }: ReportPorts,
  memory: InstanceMemory,
  facts: RunFacts,
  { toAll, goesOn }: { readonly toAll: boolean; readonly goesOn: () => boolean },
): Promise<void> {
  await write(status, facts.gathered.instance.meta, (before) => ({
    ...instanceStatus(before, facts, memory.lastSyncMs),
    cacheClear: rolloutsStatus(before, facts, memory.cacheClears),
  }));
  const tell = async (meta: ResourceMeta, statusAfter: (before: object) => object): Promise<void> => {
    if (meta.deleting || !goesOn()) return;
    const before = status.read(meta) ?? {};
    if (toAll || hasMoved(before, statusAfter(before))) await write(status, meta, statusAfter);
  };
  await mapConcurrently(facts.desired.rules, statusesAtOnceMax, async (rule) => {
    const changedMs = memory.ruleChangedMs.get(rule.id);
    await tell(rule.rule.meta, (before) => ruleStatus(before, rule, facts, changedMs));
  });
  for (const origin of facts.desired.compiledOrigins) {
    await tell(origin.origin.meta, (before) => originStatus(before, origin, facts));
  }
}

/** Whether more than figures of speed and time differ. */
function hasMoved(before: object, after: object): boolean {
  return !isDeepStrictEqual(gistOf(before), gistOf(after));
}

/** What is said, without the words of the conditions, and as it is stored. */
function gistOf(status: { readonly conditions?: readonly Condition[] }): unknown {
  const conditions = status.conditions?.map(({ type, status, reason, observedGeneration }) => {
    return { type, status, reason, observedGeneration };
  });
  return JSON.parse(JSON.stringify({ ...status, conditions }));
}

/** Writes the status of some cache clears: ahead of a call, and as soon as they are done. */
export async function reportClears(
  { status }: ReportPorts,
  memory: InstanceMemory,
  facts: RunFacts,
  clears: readonly DeclaredCacheClear[],
): Promise<void> {
  for (const clear of clears) {
    if (clear.meta.deleting) continue;
    const record = recordOf(status, memory.cacheClears, clear);
    await write(status, clear.meta, (before) => cacheClearStatus(before, clear, record, facts));
  }
}

async function write(status: StatusPort, meta: ResourceMeta, next: (before: object) => object): Promise<void> {
  const before = status.read(meta) ?? {};
  await status.write(meta, withoutUndefined({ ...next(before), ...heard(meta) }));
}

function heard(meta: ResourceMeta): object {
  const value = meta.annotations[requestedAtAnnotation];
  return value === undefined ? {} : { lastHandledRequest: value.slice(0, 1024) };
}

function withoutUndefined(status: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
}
