// The status of a WafOrigin. It reports only what is known, because most origins can't be read back.
import { formatTime } from "../../kinds/conditions.ts";
import type { WafOriginStatus } from "../../kinds/waf-origin.ts";
import type { CompiledOrigin } from "../../decide/compiled-rule.ts";
import { adoptAnnotation } from "../../decide/ownership.ts";
import { sameHost } from "../../decide/origin-plan.ts";
import { asSentence, shortened } from "../../model/sentence.ts";
import type { SyncedFinding } from "./conditions.ts";
import { accepted, conditionsOf } from "./conditions.ts";
import { troubleOf } from "./trouble.ts";
import type { RunFacts } from "../facts.ts";

const messageLengthMax = 1024;
/** What to do if the API refused an origin that the WAF already has. */
export const adoptHint = `If the WAF already has it, annotate the WafOrigin with ${adoptAnnotation}: "true".`;

interface Known {
  readonly state: NonNullable<WafOriginStatus["state"]>;
  readonly addedAtMs?: number;
  readonly message?: string;
}

export function originStatus(
  before: Partial<WafOriginStatus>,
  compiled: CompiledOrigin,
  facts: RunFacts,
): Partial<WafOriginStatus> {
  const { meta } = compiled.origin;
  const known = knownOf(compiled, facts);
  const verdict = compiled.verdict;
  const finding =
    verdict === "Accepted" ? accepted : ({ status: "False", reason: verdict, message: compiled.message } as const);
  const conditions = conditionsOf(
    before.conditions ?? [],
    { accepted: finding, synced: assessOrigin(compiled, known, facts) },
    meta.generation,
    facts.nowMs,
  );
  return {
    ...before,
    observedGeneration: meta.generation,
    conditions: [...conditions],
    ...(known === undefined
      ? {}
      : {
          state: known.state,
          addedTime: known.addedAtMs === undefined ? undefined : formatTime(known.addedAtMs),
          message: known.message === undefined ? undefined : shortened(known.message, messageLengthMax),
        }),
  };
}

/** Undefined until the WAF has been read. */
function knownOf(
  { origin, verdict, isAttached }: CompiledOrigin,
  { observed, plan, inventory }: RunFacts,
): Known | undefined {
  const counts = isAttached && verdict !== "Conflict";
  if (observed === undefined || plan === undefined || inventory === undefined || !counts) return undefined;
  const record = inventory.origins.get(origin.host);
  const added = record?.type === origin.type ? record.addedAtMs : undefined;
  const when = added === undefined ? {} : { addedAtMs: added };
  if (sameHost(origin.host, observed.primaryOrigin)) return { state: "Primary", ...when };
  const refusal = plan.origins.refused.get(origin.host);
  if (refusal !== undefined) return { state: "Rejected", message: refusal.message };
  if (added === undefined) return { state: "Pending" };
  const unconfirmed = record?.unconfirmed;
  if (unconfirmed !== undefined) return { state: "AddedUnconfirmed", ...when, message: unconfirmed };
  return { state: "Added", ...when };
}

function assessOrigin(
  { origin, verdict, isAttached }: CompiledOrigin,
  known: Known | undefined,
  facts: RunFacts,
): SyncedFinding {
  if (!isAttached || verdict === "Conflict") {
    return { status: "False", reason: "Pending", message: "The origin is not in effect.", next: "Person" };
  }
  const trouble = troubleOf(facts);
  if (trouble !== undefined) return trouble;
  const role = origin.type === "Alternate" ? "an alternate" : "a backup";
  switch (known?.state) {
    case undefined:
      return { status: "Unknown", reason: "Pending", message: "The WAF is being read.", next: "Working" };
    case "Primary":
      return {
        status: "True",
        reason: "Synced",
        message: `${origin.host} is the WAF's current primary origin. To remove it, make another host the primary first.`,
        next: "Settled",
      };
    case "Added": {
      const when = known?.addedAtMs === undefined ? "" : ` at ${formatTime(known.addedAtMs)}`;
      const message = `The API accepted ${origin.host} as ${role}${when}. The origin can't be read back.`;
      return { status: "True", reason: "Synced", message, next: "Settled" };
    }
    case "AddedUnconfirmed": {
      const refusal = `The API refused ${origin.host} as ${role}: ${asSentence(known?.message ?? "")}`;
      const isAdopted = facts.inventory?.origins.get(origin.host)?.manner === "Adopted";
      const why = isAdopted ? `${adoptAnnotation} says that it exists` : "an earlier call may have added it";
      const check = `Origins can't be read back: check it and its type in the WAF's own console. If it is missing, delete the WafOrigin and create it again.`;
      const message = `${refusal} It counts as added, because ${why}. ${check}`;
      return { status: "True", reason: "Synced", message, next: "Settled" };
    }
    case "Rejected":
      return {
        status: "False",
        reason: "Rejected",
        message: `The API refused ${origin.host}: ${asSentence(known?.message ?? "")} ${adoptHint}`,
        next: "Person",
      };
    case "Pending":
      return pendingOrigin(origin.host, facts);
  }
}

function pendingOrigin(host: string, facts: RunFacts): SyncedFinding {
  const { instance } = facts.gathered;
  if (facts.phase !== "Applying" && instance.suspend) {
    return {
      status: "Unknown",
      reason: "Suspended",
      message: `${host} waits: the instance is suspended.`,
      next: "Paused",
    };
  }
  if (facts.phase !== "Applying" && instance.policies.origins === "Observe") {
    return {
      status: "False",
      reason: "Observed",
      message: `${host} is not added under the policy Observe.`,
      next: "Settled",
    };
  }
  return { status: "Unknown", reason: "Pending", message: `${host} is still to be added.`, next: "Working" };
}
