// Identifies a plan by a hash, so that `wafsync apply --plan HASH` writes what was reviewed, and nothing else.
import type { Preview } from "../app/standalone.ts";
import { listNames } from "../model/declared.ts";
import { hexDigest } from "../model/hex-digest.ts";
import type { Effect } from "../model/operation.ts";
import { nameKey } from "../model/resource.ts";
import type { ReviewPort } from "../run/ports.ts";

/** The same as of the hashes that approve removals. */
const hashLength = 12;

/** Permits the effects of a plan, and approves its removals on hold. */
export interface Review extends ReviewPort {
  /**
   * Identifies what `apply` would do on all instances, without times and reasons: the same on every machine for the same folder, state
   * and WAFs.
   */
  readonly hash: string;
  /** The first effect that was not reviewed, and that a run therefore has not executed. */
  stray: string | undefined;
}

export function reviewOf(previews: readonly Preview[]): Review {
  const permitted = new Set<string>();
  const approvals = new Map<string, string>();
  const lines = new Set<string>();
  for (const { facts, pendingClears } of previews) {
    const { gathered, observed, plan } = facts;
    if (plan === undefined) continue;
    const name = nameKey(gathered.instance.meta);
    const { operations, adoptions, held, outcomes } = plan;
    const due = [
      ...operations,
      ...pendingClears.map(({ meta }) => ({ kind: "ClearCache", clear: meta }) as const),
      ...adoptions.map((adoption) => ({ kind: "Adopt", ...adoption }) as const),
    ].map(effectOf);
    // What follows once the removals on hold are approved: these, and the additions that they make room for.
    const open = listNames.flatMap((list) => [
      ...(held?.removals[list].map(({ entry }) => `RemoveEntry ${list} ${entry}`) ?? []),
      ...outcomes[list].flatMap(({ entry, outcome }) =>
        outcome.kind === "NoRoom" ? [`AddEntry ${list} ${entry}`] : [],
      ),
    ]);
    for (const effect of [...due, ...open]) permitted.add(`${name} ${effect}`);
    const effects = [
      ...due,
      ...open.map((effect) => `open ${effect}`),
      ...(held?.origins ?? []).map(({ host }) => `open RemoveOrigin ${host}`),
      // It depends on the number of used approvals: the same removals have another hash when they are on hold again.
      ...(held === undefined ? [] : [`approve ${held.hash}`]),
    ];
    for (const effect of effects) lines.add(`${name} ${observed?.domain} ${effect}`);
    // Whether to accept a restored inventory is another question than whether to remove these entries.
    if (held?.hash !== undefined && held.obstacle === undefined) approvals.set(name, held.hash);
  }
  const review: Review = {
    hash: hexDigest([...lines].toSorted().join("\n"), hashLength),
    stray: undefined,
    approvalOf: (instance) => approvals.get(nameKey(instance)),
    permits: (instance, wanted) => {
      const effect = `${nameKey(instance)} ${effectOf(wanted)}`;
      if (permitted.has(effect)) return true;
      review.stray ??= effect;
      return false;
    },
  };
  return review;
}

/** A removal is that of an entry in all its spellings. */
function effectOf(effect: Effect): string {
  const { kind } = effect;
  if ("clear" in effect) return `${kind} ${nameKey(effect.clear)}`;
  return "entry" in effect ? `${kind} ${effect.list} ${effect.entry}` : `${kind} ${effect.host} ${effect.type}`;
}
