// The number of shards that the replicas agree on, stored as an annotation of the leader's Lease. Processes with another number divide
// the keys differently, so only those with the agreed number write. A leader that changes the number first suspends all writes
// for the duration of a Lease: until then, every process has read the annotation or stopped writing.

export const shardsAnnotation = "wafsync.dev/shards";

export interface Layout {
  readonly shards: number;
  /** The number was changed: nothing may be written yet. */
  readonly isPending: boolean;
}

/** Without sharding, there is no annotation. An invalid string agrees with no process. */
export function parseLayout(text: string | undefined): Layout {
  if (text === undefined) return { shards: 1, isPending: false };
  const found = /^([1-9]\d{0,2})( pending)?$/.exec(text);
  return found === null
    ? { shards: 0, isPending: true }
    : { shards: Number(found[1]), isPending: found[2] !== undefined };
}

export interface LayoutStep {
  /** The number of shards of this process, which holds the leader's Lease or is about to take it. */
  readonly own: number;
  /** The current annotation of the Lease; undefined if there is none. */
  readonly found: string | undefined;
  /** No process can be writing: the last leader, without shards, has released the Lease, or the Lease never existed. */
  readonly isUnused: boolean;
  /** For how long this process has held the Lease with its own number as pending. */
  readonly pendingMs: number;
  readonly waitMs: number;
}

/** The annotation to write; undefined if it stays as it is. */
export function nextLayout({ own, found, isUnused, pendingMs, waitMs }: LayoutStep): string | undefined {
  const { shards, isPending } = parseLayout(found);
  if (shards === own) return isPending && pendingMs >= waitMs ? String(own) : undefined;
  return shards === 1 && !isPending && isUnused ? String(own) : `${own} pending`;
}
