// The status of a WafOrigin, from the facts of a run. It reports only what is known, because most origins can't be read back.
import { formatTime } from "../../model/time-text.ts";
import { asSentence, shortened } from "../../model/sentence.ts";
import {
  accepted,
  forPerson,
  reading,
  type SyncedFinding,
  troubleOf,
  unwrittenFinding,
  withFindings,
} from "./findings.ts";
import type { RunFacts } from "../facts.ts";
import type { CompiledOrigin } from "../../decide/compiled-rule.ts";
import type { WafOriginStatus } from "../../kinds/waf-origin.ts";
import { adoptAnnotation } from "../../decide/ownership.ts";
import { sameHost } from "../../decide/origin-plan.ts";

const messageLengthMax = 1024;
/** What to do if the API refused an origin that the WAF already has. */
export const adoptHint = `If the WAF already has it, annotate the WafOrigin with ${adoptAnnotation}: "true".`;

/** What is known of an origin, and what to report about it. */
interface Known {
  readonly state: NonNullable<WafOriginStatus["state"]>;
  readonly addedAtMs?: number | undefined;
  /** The API's error. */
  readonly message?: string;
  readonly finding: SyncedFinding;
}

export function originStatus(
  before: Partial<WafOriginStatus>,
  compiled: CompiledOrigin,
  facts: RunFacts,
): Partial<WafOriginStatus> {
  const { verdict, isAttached, message: fault, origin } = compiled;
  const isInEffect = isAttached && verdict !== "Conflict";
  const known = isInEffect ? knownOf(compiled, facts) : undefined;
  const found = isInEffect ? (troubleOf(facts) ?? known?.finding ?? reading) : notInEffect;
  const acceptance =
    verdict === "Accepted" ? accepted : ({ status: "False", reason: verdict, message: fault } as const);
  const common = withFindings(before, origin.meta, "Synced", { accepted: acceptance, found }, facts.nowMs);
  if (known === undefined) return common;
  const { state, addedAtMs, message } = known;
  return {
    ...common,
    state,
    addedTime: formatTime(addedAtMs),
    message: message === undefined ? undefined : shortened(message, messageLengthMax),
  };
}

const notInEffect = forPerson("Pending", "The origin is not in effect.");

/** Undefined until the WAF has been read. */
function knownOf({ origin }: CompiledOrigin, facts: RunFacts): Known | undefined {
  const { observed, plan, inventory } = facts;
  if (observed === undefined || plan === undefined || inventory === undefined) return undefined;
  const { host, type } = origin;
  const record = inventory.origins.get(host);
  const addedAtMs = record?.type === type ? record.addedAtMs : undefined;
  const as = `${host} as ${type === "Alternate" ? "an alternate" : "a backup"}`;
  const settled = (message: string): SyncedFinding => ({ status: "True", reason: "Synced", message, next: "Settled" });
  if (sameHost(host, observed.primaryOrigin)) {
    const finding = settled(
      `${host} is the WAF's current primary origin. To remove it, make another host the primary first.`,
    );
    return { state: "Primary", addedAtMs, finding };
  }
  const [refusal] = plan.origins.outcomes.get(host)?.refusals ?? [];
  if (refusal !== undefined) {
    const finding = forPerson("Rejected", `The API refused ${host}: ${asSentence(refusal.message)} ${adoptHint}`);
    return { state: "Rejected", message: refusal.message, finding };
  }
  if (record === undefined || addedAtMs === undefined) {
    return { state: "Pending", finding: unwrittenFinding("origins", `${host} is still to be added`, facts) };
  }
  const { unconfirmed, manner } = record;
  if (unconfirmed === undefined) {
    const finding = settled(`The API accepted ${as} at ${formatTime(addedAtMs)}. The origin can't be read back.`);
    return { state: "Added", addedAtMs, finding };
  }
  const why = manner === "Adopted" ? `${adoptAnnotation} says that it exists` : "an earlier call may have added it";
  const check = `Origins can't be read back: check it and its type in the WAF's own console. If it is missing, delete the WafOrigin and create it again.`;
  const finding = settled(
    `The API refused ${as}: ${asSentence(unconfirmed)} It counts as added, because ${why}. ${check}`,
  );
  return { state: "AddedUnconfirmed", addedAtMs, message: unconfirmed, finding };
}
