// Counts removals over a time: many small plans remove no more than one large plan may. An entry counts once, from when its removal
// was allowed, which is recorded ahead of the call.
import type { RemovalCount } from "../../model/inventory.ts";
import type { Entry } from "../../model/entry.ts";

export interface RemovalWindow {
  /** 0 counts each plan alone. */
  readonly windowMs: number;
  readonly counted: ReadonlyMap<Entry, RemovalCount>;
  readonly nowMs: number;
}

/** The removals within the time before now. After a clock was set back, they count for as long as after it was set forward. */
export function recentRemovals({ windowMs, counted, nowMs }: RemovalWindow): ReadonlyMap<Entry, RemovalCount> {
  const isRecent = ({ atMs }: RemovalCount): boolean => Math.abs(nowMs - atMs) < windowMs;
  for (const count of counted.values()) {
    if (!isRecent(count)) return new Map([...counted].filter(([, other]) => isRecent(other)));
  }
  return counted;
}

/** The same map if there is nothing to add. Forgets what is no longer recent. */
export function withCounted(
  window: RemovalWindow,
  allowed: readonly Entry[],
  weightOf: (entry: Entry) => number,
): ReadonlyMap<Entry, RemovalCount> {
  const recent = recentRemovals(window);
  const added = window.windowMs === 0 ? [] : allowed.filter((entry) => !recent.has(entry));
  if (added.length === 0) return window.counted;
  const next = new Map(recent);
  for (const entry of added) next.set(entry, { atMs: window.nowMs, weight: weightOf(entry) });
  return next;
}

export function weightOfAll(removals: ReadonlyMap<Entry, RemovalCount>): number {
  let sum = 0;
  for (const { weight } of removals.values()) sum += weight;
  return sum;
}
