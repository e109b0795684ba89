// Counts removals over time: many small plans must not remove more than one large plan may. An entry counts once, from when its
// removal was allowed, which is recorded before the call.
import type { RemovalCount } from "../../model/inventory.ts";
import type { Entry } from "../../model/entry.ts";

export interface RemovalWindow {
  /** If 0, each plan is counted separately. */
  readonly windowMs: number;
  readonly counted: ReadonlyMap<Entry, RemovalCount>;
  readonly nowMs: number;
}

/** The removals within the window before now, or after now if a clock was set back. */
export function recentRemovals({ windowMs, counted, nowMs }: RemovalWindow): ReadonlyMap<Entry, RemovalCount> {
  const isRecent = ({ atMs }: RemovalCount): boolean => Math.abs(nowMs - atMs) < windowMs;
  for (const count of counted.values()) {
    if (!isRecent(count)) return new Map([...counted].filter(([, other]) => isRecent(other)));
  }
  return counted;
}

/** The same map if there is nothing to add. Drops removals that are no longer recent. */
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
