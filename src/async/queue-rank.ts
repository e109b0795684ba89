// The order of ready keys: by priority, then by age, with groups taking turns. A rank is the time since which the key is ready,
// minus a minute per priority level, plus a second for each key of its group that was already ready. It never changes while a key
// waits, so a plain heap keeps the order, and no key starves.

/** Most urgent first. */
export const queuePriorities = ["Change", "Retry", "Resync"] as const;
export type QueuePriority = (typeof queuePriorities)[number];

/** After waiting this long, a key gains one priority level. */
export const ageingMs = 60_000;
/** The penalty for each earlier key of the same group. */
export const turnMs = 1_000;
/** The total penalty is less than one level, so that a large group does not starve. */
export const turnsMax = 30;

export function levelOf(priority: QueuePriority): number {
  return queuePriorities.length - 1 - queuePriorities.indexOf(priority);
}

/** @param place the number of waiting or running keys of its group when it became ready */
export function rankOf({ readySinceMs, level, place }: { readySinceMs: number; level: number; place: number }): number {
  return readySinceMs - level * ageingMs + Math.min(place, turnsMax) * turnMs;
}

/** The number of waiting or running keys in each group. */
export class GroupCounts {
  readonly #counts = new Map<string, number>();

  /** Returns the previous number. */
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
