// Emits the events that people need to know about an object, each only once. They contain counts instead of one event per entry.
import { hexDigest } from "../../model/hex-digest.ts";
import type { CompiledRule } from "../../decide/compiled-rule.ts";
import type { DriftedEntry } from "../../decide/drift.ts";
import type { Plan } from "../../decide/plan.ts";
import { adoptAnnotation } from "../../decide/ownership.ts";
import { approvalAnnotation, type ResourceMeta } from "../../model/resource.ts";
import { listNames, unblockedAtMs } from "../../model/declared.ts";
import type { Approval } from "../../model/inventory.ts";
import { asSentence, counted } from "../../model/sentence.ts";
import { overflowOfInstance } from "./capacity-message.ts";
import { heldMessage, keptMessage, mismatchSentence } from "./held-message.ts";
import { troubleOf } from "./trouble.ts";
import type { RunFacts } from "../facts.ts";
import type { StatusPort } from "../ports.ts";
import type { EmittedEvents } from "./write-status.ts";

const examplesMax = 5;

/** Emits events about changes by another writer that contradict the declared state. */
export function emitDrift(status: StatusPort, instance: ResourceMeta, drift: readonly DriftedEntry[]): void {
  for (const change of ["Vanished", "Reappeared"] as const) {
    const entries = drift.filter((item) => item.change === change);
    if (entries.length === 0) continue;
    const examples = entries.slice(0, examplesMax).map(({ entry }) => entry);
    const more = entries.length > examplesMax ? ", …" : "";
    const what =
      change === "Vanished"
        ? `Another writer removed ${entries.length} declared ${plural(entries.length)}, and wafsync adds ${entries.length === 1 ? "it" : "them"} again`
        : `${entries.length} ${plural(entries.length)} that wafsync had removed reappeared`;
    const message = `${what}: ${examples.join(", ")}${more === "" ? "." : more}`;
    status.event(instance, { type: "Warning", reason: "DriftDetected", message });
  }
}

/** Emits an event if the instance now manages the WAF of a different domain. */
export function emitDomainMove(
  status: StatusPort,
  emitted: EmittedEvents,
  instance: ResourceMeta,
  message: string | undefined,
): void {
  if (!emitted.isNew("domain", message) || message === undefined) return;
  status.event(instance, { type: "Warning", reason: "DomainMoved", message });
}

/** Emits an event about approved removals, so no other event needs to report that they are no longer on hold. */
export function emitApproval(
  status: StatusPort,
  emitted: EmittedEvents,
  instance: ResourceMeta,
  approval: Approval | undefined,
): void {
  if (approval === undefined) return;
  emitted.isNew("held", undefined);
  const { hash, removals } = approval;
  const count = removals.blocklist.size + removals.allowlist.size;
  const what = count === 1 ? "1 removal is" : `${count} removals are`;
  status.event(instance, {
    type: "Normal",
    reason: "RemovalsApproved",
    message: `${what} approved by ${approvalAnnotation}: "${hash}"${approverInWords(instance)}.`,
  });
}

function approverInWords({ approver }: ResourceMeta): string {
  return approver === undefined ? "" : `, which ${approver.manager} set at ${approver.time}`;
}

/** Reports a missing record and its consequences. */
export function unrecordedMessage({ unrecorded, desired }: RunFacts): string | undefined {
  if (unrecorded === 0) return undefined;
  const are = counted(unrecorded, "declared entry is", "declared entries are");
  const [stay, them, their] =
    unrecorded === 1
      ? ["It counts as foreign and stays", "it", "its rule"]
      : ["They count as foreign and stay", "them", "their rules"];
  const origins = desired.origins.size === 0 ? "" : " Annotate every WafOrigin whose host the WAF already has, too.";
  return `There is no record of earlier runs, and ${are} already on the lists. ${stay} when no rule declares ${them}. Restore the record, or adopt ${them} with ${adoptAnnotation}: "true" on ${their}.${origins}`;
}

/** Emits the events at the end of a run: what was done, and what has changed since the last run. */
export function emitOutcome(status: StatusPort, emitted: EmittedEvents, facts: RunFacts): void {
  const { meta } = facts.gathered.instance;
  const { originsAdded } = facts.done;
  if (originsAdded > 0) {
    status.event(meta, {
      type: "Normal",
      reason: "OriginsAdded",
      message: `Added ${originsAdded} ${originsAdded === 1 ? "origin" : "origins"}.`,
    });
  }
  const unrecorded = unrecordedMessage(facts);
  if (unrecorded !== undefined && emitted.isNew("unrecorded", unrecorded)) {
    status.event(meta, { type: "Warning", reason: "RecordMissing", message: unrecorded });
  }
  emitTrouble(status, emitted, facts, meta);
  // Without a plan, the other subjects are unknown: they are neither new nor resolved.
  if (facts.plan !== undefined) {
    emitHeld(status, emitted, facts, meta);
    emitKept(status, emitted, facts, meta);
    emitContested(status, emitted, facts.plan, meta);
    emitOverflow(status, emitted, facts, meta);
  }
  emitRules(status, emitted, facts);
}

function emitHeld(status: StatusPort, emitted: EmittedEvents, facts: RunFacts, meta: ResourceMeta): void {
  const heldText = facts.plan?.held === undefined ? undefined : heldMessage(facts);
  if (emitted.isNew("held", heldText)) {
    const resumed = {
      type: "Normal",
      reason: "RemovalsResumed",
      message: "No removals are on hold any longer.",
    } as const;
    status.event(
      meta,
      heldText === undefined ? resumed : { type: "Warning", reason: "RemovalsHeld", message: heldText },
    );
  }
  const mismatch = facts.plan?.held === undefined ? "" : mismatchSentence(facts.plan.held);
  if (emitted.isNew("mismatch", mismatch === "" ? undefined : mismatch) && mismatch !== "") {
    status.event(meta, { type: "Warning", reason: "ApprovalMismatch", message: mismatch });
  }
}

function emitKept(status: StatusPort, emitted: EmittedEvents, facts: RunFacts, meta: ResourceMeta): void {
  const message = keptMessage(facts);
  if (!emitted.isNew("kept", message === "" ? undefined : message)) return;
  const readable = { type: "Normal", reason: "SourceReadable", message: "Everything can be read again." } as const;
  status.event(meta, message === "" ? readable : { type: "Warning", reason: "SourceBroken", message });
}

function emitContested(status: StatusPort, emitted: EmittedEvents, plan: Plan, meta: ResourceMeta): void {
  const contested = plan.contested.map(({ list, entry }) => `${list} ${entry}`).join(", ");
  if (emitted.isNew("contested", contested === "" ? undefined : hexDigest(contested)) && contested !== "") {
    const message = `Another writer keeps reverting declared entries; corrections are paused for a while: ${contested.length <= 500 ? `${contested}.` : `${contested.slice(0, 500)}…`}`;
    status.event(meta, { type: "Warning", reason: "Contested", message });
  }
}

function emitOverflow(status: StatusPort, emitted: EmittedEvents, facts: RunFacts, meta: ResourceMeta): void {
  const overflow = overflowOfInstance(facts);
  // Only the number matters: other entries may take the place of these.
  const counts = overflow === undefined ? undefined : listNames.map((list) => facts.plan?.leftOut[list].size).join(" ");
  if (!emitted.isNew("overflow", counts)) return;
  const fits = { type: "Normal", reason: "CapacityRestored", message: "All declared entries fit again." } as const;
  status.event(
    meta,
    overflow === undefined ? fits : { type: "Warning", reason: "CapacityExceeded", message: overflow },
  );
}

function emitTrouble(status: StatusPort, emitted: EmittedEvents, facts: RunFacts, meta: ResourceMeta): void {
  const trouble = troubleOf(facts);
  const isNew = emitted.isNew("trouble", trouble?.reason);
  if (!isNew) return;
  if (trouble !== undefined) {
    // The blocker is more specific than the reason Pending.
    const reason = facts.result?.kind === "Blocked" ? facts.result.blocker : trouble.reason;
    status.event(meta, { type: "Warning", reason, message: trouble.message });
  } else {
    status.event(meta, {
      type: "Normal",
      reason: "Recovered",
      message: "The WAF API is reachable again; reconciliation has resumed.",
    });
  }
}

function emitRules(status: StatusPort, emitted: EmittedEvents, facts: RunFacts): void {
  for (const rule of facts.desired.rules) {
    if (rule.rule.meta.deleting) continue;
    if (facts.plan !== undefined) emitRefused(status, emitted, rule, facts.plan);
    const objection = rule.verdict === "Accepted" ? undefined : `${rule.verdict}: ${rule.message}`;
    if (emitted.isNew(`verdict ${rule.id}`, objection) && objection !== undefined) {
      status.event(rule.rule.meta, { type: "Warning", reason: rule.verdict, message: rule.message });
    }
    if (emitted.isNew(`expired ${rule.id}`, rule.expired ? "expired" : undefined) && rule.expired) {
      const isUnblocked = rule.rule.expiresAtMs === unblockedAtMs;
      const [reason, message] = isUnblocked
        ? ["Ended", "`wafsync unblock` ended the rule."]
        : ["Expired", "The rule has expired."];
      status.event(rule.rule.meta, { type: "Normal", reason, message });
    }
  }
}

function emitRefused(status: StatusPort, emitted: EmittedEvents, rule: CompiledRule, { refusals }: Plan): void {
  const refused =
    refusals.size === 0 ? [] : [...rule.entries].filter((entry) => refusals.has(`${rule.list} +${entry}`));
  const first = refused[0];
  const isNew = emitted.isNew(`refused ${rule.id}`, first === undefined ? undefined : `${refused.length} refused`);
  if (!isNew || first === undefined) return;
  const words = refusals.get(`${rule.list} +${first}`)?.message ?? "";
  const message = `The API refused ${refused.length} of the rule's entries. ${first}: ${asSentence(words)}`;
  status.event(rule.rule.meta, { type: "Warning", reason: "Rejected", message });
}

function plural(count: number): string {
  return count === 1 ? "entry" : "entries";
}
