// The judges of all WafAutoBlocks of one instance: each of them gets each row once. They share one memory limit, and are saved together.
import type { Entry } from "../address/entry.ts";
import { attachmentOf } from "../model/attachment.ts";
import { isOwnersOf } from "../decide/guest-limits.ts";
import type { DeclaredAutoBlock } from "../model/declared.ts";
import type { Gathered } from "../model/gathered.ts";
import { nameKey, type ResourceMeta, byAge } from "../model/resource.ts";
import type { SavedJudge } from "../logs/log-records.ts";
import { Judge } from "./judge.ts";
import type { JudgedEntry, JudgedRow, Judgement } from "./judge.ts";

/** The number of clients with counted requests per instance, divided among its WafAutoBlocks. */
export const clientsMax = 10_000;

/** The number of WafAutoBlocks whose state is kept although they are not declared. */
const absentMax = 8;

/** Another WafAutoBlock with the same name starts from scratch. In a folder, objects have only a name. */
export function blockKey(meta: ResourceMeta): string {
  return `${nameKey(meta)} ${meta.uid}`;
}

/** By `blockKey`. */
export type PublishedJudgements = Readonly<Record<string, Judgement>>;

/** The state as JSON, by `blockKey`. */
export type SavedJudges = Readonly<Record<string, SavedJudge>>;

export class Judges {
  readonly #seats: readonly { readonly declared: DeclaredAutoBlock; readonly judge: Judge }[];
  readonly #absent: SavedJudges;

  /**
   * Continues with a saved state, for these WafAutoBlocks. The state of others is kept until their last entry ends: after a restart, a
   * stale cache may lack a WafAutoBlock, or show a former one with the same name.
   */
  constructor(saved: SavedJudges, blocks: readonly DeclaredAutoBlock[], nowMs: number) {
    const capacity = Math.floor(clientsMax / Math.max(1, blocks.length));
    this.#seats = blocks.map((declared) => {
      return { declared, judge: new Judge(declared, capacity, saved[blockKey(declared.meta)]) };
    });
    const seated = new Set(blocks.map(({ meta }) => blockKey(meta)));
    // In a folder, objects have no UID: there, nothing is stale.
    const kept = Object.entries(saved).filter(
      ([key, { listed }]) => !seated.has(key) && !key.endsWith(" ") && listed.some(({ untilMs }) => untilMs > nowMs),
    );
    this.#absent = Object.fromEntries(kept.slice(-absentMax));
  }

  /** @returns the newly listed clients of each WafAutoBlock, without those that list none */
  take(
    rows: readonly JudgedRow[],
    nowMs: number,
    exemptionFor: (block: DeclaredAutoBlock) => (entry: Entry) => boolean,
  ): readonly { readonly block: DeclaredAutoBlock; readonly listed: readonly JudgedEntry[] }[] {
    return this.#seats.flatMap(({ declared: block, judge }) => {
      if (block.suspend) return [];
      let exempts: ((entry: Entry) => boolean) | undefined;
      const isExempt = (entry: Entry): boolean => (exempts ??= exemptionFor(block))(entry);
      const listed = judge.take(rows, { nowMs, isExempt });
      return listed.length === 0 ? [] : [{ block, listed }];
    });
  }

  save(): SavedJudges {
    const seats = this.#seats.map(({ declared, judge }) => [blockKey(declared.meta), judge.save()] as const);
    return { ...this.#absent, ...Object.fromEntries(seats) };
  }
}

/** The maximum number of judged WafAutoBlocks per instance. */
export const autoBlocksMax = 8;

/** The attached WafAutoBlocks that are judged: those of the owner first, then the oldest. */
export function judgedBlocks(gathered: Gathered): readonly DeclaredAutoBlock[] {
  const { instance, autoBlocks = [] } = gathered;
  const attached = autoBlocks.filter(({ meta }) => attachmentOf(gathered, meta).state === "Allowed" && !meta.deleting);
  const isOwners = (block: DeclaredAutoBlock): number => Number(isOwnersOf(instance, block));
  return attached.toSorted((a, b) => isOwners(b) - isOwners(a) || byAge(a.meta, b.meta)).slice(0, autoBlocksMax);
}
