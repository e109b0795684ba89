// The current entries of a WafAutoBlock: not expired, not exempt, and within the grant of its namespace.
import type { JudgedEntry } from "../../model/auto-block.ts";
import type { Grant } from "../../model/declared.ts";
import type { Entry } from "../../address/entry.ts";
import type { Inventory } from "../../model/inventory.ts";
import { NetworkIndex } from "../../address/ranges.ts";
import type { Shown } from "../../model/observed.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { exemptionOf } from "./exemptions.ts";
import type { Exemptions } from "./exemptions.ts";
import { tooWide } from "./guest-limits.ts";

/** The entry with the expiry that the grant allows. */
export function limitedJudged(judged: JudgedEntry, grant: Grant | undefined): JudgedEntry {
  const { maxTtlMs } = grant ?? {};
  if (maxTtlMs === undefined) return judged;
  return { ...judged, untilMs: Math.min(judged.untilMs, judged.sinceMs + maxTtlMs) };
}

export function countingNow(
  judged: readonly JudgedEntry[],
  exemptions: Exemptions,
  grant: Grant | undefined,
  nowMs: number,
): readonly JudgedEntry[] {
  return judged
    .map((one) => limitedJudged(one, grant))
    .filter(({ entry, untilMs }) => untilMs > nowMs && (grant === undefined || tooWide(entry, grant) === undefined))
    .filter(({ entry }) => exemptionOf(exemptions, entry) === undefined);
}

/**
 * The Allow entries that exempt addresses from the automatic blocks of a namespace: always those of the owner and of the same
 * namespace. Those of another guest count only if they would not lift an existing block: if they are already on the allowlist,
 * or if no managed block overlaps them.
 */
export function exemptingAllows(
  drafts: readonly CompiledRule[],
  namespace: string,
  managed: Inventory["entries"] | undefined,
): Entry[] {
  const allows = drafts.filter(({ list, entries }) => list === "allowlist" && entries.size > 0);
  const isTrusted = ({ isOwners, rule }: CompiledRule): boolean => isOwners || rule.meta.namespace === namespace;
  const others = allows.filter((draft) => !isTrusted(draft)).flatMap(({ entries }) => [...entries]);
  const trusted = allows.filter(isTrusted).flatMap(({ entries }) => [...entries]);
  if (others.length === 0) return trusted;
  const blocked = new NetworkIndex(managed?.blocklist.keys() ?? []);
  const counting = others.filter(
    (entry) => managed?.allowlist.has(entry) === true || blocked.overlaps(entry) === undefined,
  );
  return [...trusted, ...counting];
}

/** The entries that other writers have put on the WAF's allowlist, as far as they may overlap these clients. */
export function othersAllows(
  clients: readonly JudgedEntry[],
  managed: Inventory["entries"] | undefined,
  shown: Shown | undefined,
): Entry[] {
  if (clients.length === 0 || shown === undefined) return [];
  const index = new NetworkIndex(clients.map(({ entry }) => entry));
  return [...shown.lists.allowlist.keys()].filter(
    (entry) => managed?.allowlist.has(entry) !== true && index.overlaps(entry) !== undefined,
  );
}
