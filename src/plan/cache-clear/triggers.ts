// The handled triggers, recorded with the instance: an object that is deleted and created again with the same trigger clears
// nothing. Only successful clears count; after a failure, a user can create the object again to retry it.
import type { HandledTrigger } from "../../model/inventory.ts";
import type { ClearRecord } from "./cache-clear.ts";

/** The number of recorded objects; beyond it, those that were handled first are dropped. */
const handledMax = 2_000;

/** The record of an object for the instance; undefined if it has cleared nothing. */
export function handledBy(cacheClear: string, { trigger, finish }: ClearRecord): HandledTrigger | undefined {
  if (finish === undefined || finish.state === "Failed") return undefined;
  return { cacheClear, trigger, handledAtMs: finish.clearedAtMs };
}

/**
 * Adds handled triggers to the record of the instance, each replacing an earlier one of the same object. Returns the same array if
 * nothing changes. `Now`: they have just been handled. `Recalled`: they were read from a status, and count only if they are newer.
 */
export function withHandled(
  handled: readonly HandledTrigger[],
  additions: readonly HandledTrigger[],
  when: "Now" | "Recalled",
): readonly HandledTrigger[] {
  const byObject = new Map(handled.map((item) => [item.cacheClear, item]));
  for (const item of additions) {
    const before = byObject.get(item.cacheClear);
    const isNewer = before === undefined || when === "Now" || before.handledAtMs < item.handledAtMs;
    if (isNewer && before?.trigger !== item.trigger) byObject.set(item.cacheClear, item);
  }
  const known = new Set(handled);
  const next = [...byObject.values()].toSorted((a, b) => b.handledAtMs - a.handledAtMs).slice(0, handledMax);
  const isSame = next.length === handled.length && next.every((item) => known.has(item));
  return isSame ? handled : next;
}
