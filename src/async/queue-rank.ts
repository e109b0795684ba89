// The order of keys that are ready: by priority, then by age, and among keys of several groups in turns. A rank is "ready since,
// minus a minute per level, plus a second for each key of its group that was there already". It never changes while a key waits,
// so a plain heap keeps the order, and none starves.

/** Most urgent first. */
export const queuePriorities = ["Change", "Retry", "Resync"] as const;
export type QueuePriority = (typeof queuePriorities)[number];

/** A key rises by one priority after waiting this long. */
export const ageingMs = 60_000;
/** How much later a key counts for each key of its group before it. */
export const turnMs = 1_000;
/** Less than a level in all, so that a large group is not put off for ever. */
export const turnsMax = 30;

export function levelOf(priority: QueuePriority): number {
  return queuePriorities.length - 1 - queuePriorities.indexOf(priority);
}

/** @param place how many keys of its group waited or ran when it became ready */
export function rankOf({ readySinceMs, level, place }: { readySinceMs: number; level: number; place: number }): number {
  return readySinceMs - level * ageingMs + Math.min(place, turnsMax) * turnMs;
}

/** How many keys of each group wait or run. */
export class GroupCounts {
  readonly #counts = new Map<string, number>();

  /** Returns how many were there before. */
  enter(group: string): number {
    const count = this.#counts.get(group) ?? 0;
    this.#counts.set(group, count + 1);
    return count;
  }

  leave(group: string): void {
    const count = this.#counts.get(group) ?? 0;
    if (count <= 1) this.#counts.delete(group);
    else this.#counts.set(group, count - 1);
  }
}
