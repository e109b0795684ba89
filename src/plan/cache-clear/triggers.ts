// Which triggers were handled, remembered with the instance: an object that is deleted and created again with the same
// trigger clears nothing. Only what cleared the cache counts; what failed may be tried again by creating it again.
import type { HandledTrigger } from "../../model/inventory.ts";
import type { ClearRecord } from "./cache-clear.ts";

/** How many objects are remembered; beyond it, those that were handled longest ago are forgotten. */
const handledMax = 2_000;

/** What an object's record adds to the memory of the instance; undefined while it cleared nothing. */
export function handledBy(cacheClear: string, { trigger, finish }: ClearRecord): HandledTrigger | undefined {
  if (finish === undefined || finish.state === "Failed") return undefined;
  return { cacheClear, trigger, handledAtMs: finish.clearedAtMs };
}

/**
 * The memory with these added, each in place of what is known of the same object; the very same array if nothing changes.
 * `Now`: they were handled this moment. `Recalled`: they are read from a status, and count only if they are newer.
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
