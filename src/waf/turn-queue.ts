// Decides which turn is next in a lane: first come, first served, and normal turns before bulk turns. A bulk turn that has waited
// very long takes precedence over normal turns, so that a long load of entries does not stop the logs.

export const urgencies = ["Normal", "Bulk"] as const;
export type Urgency = (typeof urgencies)[number];

export const bulkWaitMsMax = 30_000;

export interface WaitingTurn {
  readonly urgency: Urgency;
  readonly queuedAtMs: number;
}

export class TurnQueue<Turn extends WaitingTurn> {
  readonly #turns: Readonly<Record<Urgency, Set<Turn>>> = { Normal: new Set(), Bulk: new Set() };

  get length(): number {
    return this.#turns.Normal.size + this.#turns.Bulk.size;
  }

  add(turn: Turn): void {
    this.#turns[turn.urgency].add(turn);
  }

  remove(turn: Turn): boolean {
    return this.#turns[turn.urgency].delete(turn);
  }

  /** Returns the next turn, which stays in the queue until it is removed. */
  peek(nowMs: number): Turn | undefined {
    const bulk = first(this.#turns.Bulk);
    const bulkIsDue = bulk !== undefined && nowMs - bulk.queuedAtMs >= bulkWaitMsMax;
    return bulkIsDue ? bulk : (first(this.#turns.Normal) ?? bulk);
  }

  /** Removes all matching turns, and returns them in the order of their urgency. */
  removeAll(matches: (turn: Turn) => boolean): readonly Turn[] {
    const removed = urgencies.flatMap((urgency) => [...this.#turns[urgency]].filter(matches));
    for (const turn of removed) this.remove(turn);
    return removed;
  }
}

function first<T>(items: ReadonlySet<T>): T | undefined {
  for (const item of items) return item;
  return undefined;
}
