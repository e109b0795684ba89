// Evaluates a single WafAutoBlock: whether it is attached, and which of its entries count. It declares only entries that may be
// blocked automatically, so no guard rejects one; in the mode Suggest it declares none.
import type { JudgedEntry, JudgedRule } from "../../model/auto-block.ts";
import type { Entry } from "../../address/entry.ts";
import type { Gathered, GatheredRule } from "../../model/gathered.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { Shown } from "../../model/observed.ts";
import { ruleIdOf, ruleLabel } from "../../model/rule-id.ts";
import { decideAttachment } from "../../model/attachment.ts";
import type { CompiledRule } from "../lists/compiled-rule.ts";
import { compileExemptions } from "../lists/exemptions.ts";
import { limitedRule, ungrantedAction } from "../lists/guest-limits.ts";
import { countingNow, exemptingAllows, othersAllows } from "../lists/judged-entries.ts";
import { evidenceOf } from "../lists/judged-evidence.ts";
import { isOwnersOf, notDerived } from "./draft-rule.ts";
import type { Drafting } from "./draft-rule.ts";

const list = "blocklist";

export interface AutoBlockDrafting extends Drafting {
  readonly managed: Inventory["entries"] | undefined;
  readonly shown: Shown | undefined;
}

/** @param allowing the compiled rules, whose Allow entries are exempt */
export function draftAutoBlock(
  { rule: given, texts }: GatheredRule,
  judged: JudgedRule,
  allowing: readonly CompiledRule[],
  { gathered, guards, quota, nowMs, holds, managed, shown }: AutoBlockDrafting,
): CompiledRule {
  const { instance, namespaceLabels } = gathered;
  const { meta } = given;
  const { namespace } = meta;
  const attachment = decideAttachment(instance, "WafAutoBlock", namespace, namespaceLabels.get(namespace));
  const grant = attachment.state === "Allowed" ? attachment.grant : undefined;
  const rule = grant === undefined ? given : limitedRule(given, { ...grant, maxTtlMs: undefined });
  const id = ruleIdOf(meta);
  const hold = (reason: string): void => void holds.push({ scope: { kind: "Rule", list, rule: id }, reason });
  const nothing = compiled(rule, id, isOwnersOf(instance, rule), []);
  if (attachment.state !== "Allowed") {
    if (attachment.state === "Unknown") hold(`${ruleLabel(id)}: ${attachment.message}`);
    const verdict = attachment.state === "NotGranted" ? "NotGranted" : "NotAllowed";
    return { ...nothing, isAttached: false, verdict, message: attachment.message };
  }
  const ungranted = grant === undefined ? undefined : ungrantedAction(instance, rule, grant);
  if (ungranted !== undefined) return { ...nothing, isAttached: false, verdict: "NotGranted", message: ungranted };
  if (meta.deleting) return { ...nothing, expired: true };
  const [missing] = texts.flatMap((text) => (text.state === "Missing" ? [text.problem] : []));
  if (missing !== undefined) {
    hold(`${ruleLabel(id)}: ${missing}`);
    return { ...nothing, verdict: "SourceMissing", message: missing };
  }
  const { entries: clients } = judged.judgement;
  const exemptions = compileExemptions({
    guards,
    exempt: judged.declared.exempt,
    allowed: [...exemptingAllows(allowing, namespace, managed), ...othersAllows(clients, managed, shown)],
    origins: [...originsOf(gathered, namespace), ...(shown?.primaryOrigin === undefined ? [] : [shown.primaryOrigin])],
  });
  const counting = countingNow(clients, exemptions, grant, nowMs);
  const draft = compiled(rule, id, nothing.isOwners, counting);
  if (judged.declared.mode === "Suggest") return { ...draft, entries: new Set() };
  if (grant === undefined) return draft;
  const { entries, rejected } = quota.take(namespace, list, draft.entries, grant, () => "the log of blocked requests");
  const [first] = rejected;
  const tooMany = first === undefined ? {} : ({ verdict: "QuotaExceeded", message: first.message } as const);
  return { ...draft, ...tooMany, entries, rejected };
}

/** The hosts of the origins that the namespace declares. */
export function originsOf({ origins }: Gathered, namespace: string): string[] {
  return origins.flatMap(({ meta, host }) => (meta.namespace === namespace ? [host] : []));
}

function compiled(
  rule: CompiledRule["rule"],
  id: string,
  isOwners: boolean,
  counting: readonly JudgedEntry[],
): CompiledRule {
  const places = new Map<Entry, string>(counting.map((judged) => [judged.entry, evidenceOf(judged)]));
  return {
    rule,
    id,
    list,
    isOwners,
    isAttached: true,
    verdict: "Accepted",
    message: "",
    entries: new Set(places.keys()),
    parts: [{ source: undefined, entries: places }],
    rejected: [],
    ...notDerived,
    expiresAtMs: undefined,
    expired: false,
    judged: counting,
  };
}
