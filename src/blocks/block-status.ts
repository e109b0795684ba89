// The status of a WafAutoBlock, from the facts of a run: whether its clients are on the blocklist, and the evidence.
import { formatTime, counted, inThousands, shortened, visibleText } from "../model/texts.ts";
import {
  type Condition,
  findCondition,
  type NewConditions,
  seeReady,
  withConditions,
  withTransitionTimesOf,
} from "../kinds/conditions.ts";
import { entriesShownMax, type WafAutoBlockStatus } from "../kinds/waf-auto-block.ts";
import type { DeclaredAutoBlock } from "../model/declared.ts";
import { fresh, type JudgedEntry, type Judgement, topReasons, autoBlocksMax, blockKey, judgedBlocks } from "./judge.ts";
import type { RuleProgress } from "../decide/progress.ts";
import { type CompiledRule, endOf } from "../decide/compiled-rule.ts";
import type { BlockBook, ReadingReport } from "./block-book.ts";
import type { RunFacts } from "../run/facts.ts";
import type { ReconcilePorts } from "../run/ports.ts";
import { assessRule } from "../run/status/statuses.ts";
import { accepted, type AcceptedFinding, type SyncedFinding, withFindings } from "../run/status/messages.ts";

const labelLengthMax = 100;

/** Reports the rules of WafAutoBlocks. */
export function blockStatusFrom(book: Pick<BlockBook, "known">): NonNullable<ReconcilePorts["statusOf"]> {
  return (before, rule, facts) => {
    const { meta } = rule.rule;
    if (meta.kind !== "WafAutoBlock") return undefined;
    const declared = facts.gathered.autoBlocks?.find((one) => blockKey(one.meta) === blockKey(meta));
    if (declared === undefined) return undefined;
    const view = book.known(declared.instance);
    const [judgement = fresh, reading] = view?.state === "Known" ? [view.judgements[blockKey(meta)], view.reading] : [];
    return autoBlockStatus(before, rule, { declared, judgement, reading }, facts);
  };
}

/** What the log reader knows about one WafAutoBlock. */
interface JudgedRule {
  readonly declared: DeclaredAutoBlock;
  readonly judgement: Judgement;
  /** Undefined until the logs were read once. */
  readonly reading: ReadingReport | undefined;
}

const tooMany = `The instance has more than ${autoBlocksMax} WafAutoBlocks. Only the oldest are judged, starting with those in the instance's namespace. Merge some of them, or delete those that are not needed.`;

function autoBlockStatus(
  before: Partial<WafAutoBlockStatus>,
  rule: CompiledRule,
  judged: JudgedRule,
  facts: RunFacts,
): Partial<WafAutoBlockStatus> {
  const isJudged = judgedBlocks(facts.gathered).includes(judged.declared);
  const progress = facts.progress?.get(rule);
  const assessment = { accepted: accept(rule, isJudged), found: assess(rule, judged, progress, facts) };
  const common = withFindings(before, rule.rule.meta, "Synced", assessment, facts.nowMs);
  const { rows, leftOut, lastRowMs } = judged.judgement;
  const listed = judged.judgement.listed.filter(({ entry }) => (rule.suggested ?? rule.entries).has(entry));
  const isEnforced = judged.declared.mode === "Enforce";
  return {
    ...common,
    // A condition that trouble with the logs sets back to its former status has not changed.
    conditions: withTransitionTimesOf(
      withReading(common.conditions, rule.isAttached && isJudged, judged, facts),
      before.conditions ?? [],
    ),
    listed: listed.length,
    synced: isEnforced && progress !== undefined ? `${progress.synced}/${progress.desired}` : undefined,
    rows,
    leftOut,
    lastRequestTime: formatTime(lastRowMs),
    clients: listed
      .toSorted((a, b) => b.sinceMs - a.sinceMs)
      .slice(0, entriesShownMax)
      .map((client) => clientOf(client, rule)),
  };
}

function clientOf(client: JudgedEntry, rule: CompiledRule) {
  const { entry, sinceMs, untilMs, times, requests, firstMs, lastMs } = client;
  return {
    entry,
    since: formatTime(sinceMs),
    until: formatTime(endOf(rule, entry) ?? untilMs),
    times,
    requests,
    firstRequest: formatTime(firstMs),
    lastRequest: formatTime(lastMs),
    reasons: topReasons(client).map(
      ([label, of]) => `${shortened(visibleText(label), labelLengthMax)}: ${inThousands(of)}`,
    ),
  };
}

function accept({ verdict, message }: CompiledRule, isJudged: boolean): AcceptedFinding {
  if (verdict !== "Accepted") return { status: "False", reason: verdict, message };
  return isJudged ? accepted : { status: "False", reason: "NotAllowed", message: tooMany };
}

function assess(
  rule: CompiledRule,
  { declared }: JudgedRule,
  progress: RuleProgress | undefined,
  facts: RunFacts,
): SyncedFinding {
  const found = assessRule(rule, progress, facts);
  if (found.reason !== "Synced") return found;
  const count = counted((rule.suggested ?? rule.entries).size, "client", "clients");
  const message = declared.mode === "Suggest" ? `${count} suggested. No client is blocked.` : `${count} blocked.`;
  return { ...found, message };
}

function withReading(
  before: readonly Condition[],
  isInEffect: boolean,
  judged: JudgedRule,
  { nowMs }: RunFacts,
): readonly Condition[] {
  const { declared, judgement } = judged;
  const { generation } = declared.meta;
  if (!isInEffect) return withConditions(before, { LogsJudged: undefined, Incomplete: undefined }, generation, nowMs);
  const reading = readingOf(judged);
  const ready = findCondition(before, "Ready");
  // Not ready without the logs, even if all clients that it has listed are on the blocklist.
  const isBlind = reading.status === "False" && ready?.status === "True";
  const isFull = judgement.listed.length >= declared.maxEntries && judgement.leftOut > 0;
  const message = `${counted(declared.maxEntries, "client is", "clients are")} listed, the maximum in spec.maxEntries. Clients have reached the threshold ${counted(judgement.leftOut, "time", "times")} without being listed.`;
  const next: NewConditions = {
    // The same trouble can keep wafsync from the lists and from the logs.
    LogsJudged: isBlind || ready?.message === reading.message ? { ...reading, message: seeReady } : reading,
    ...(isBlind ? { Ready: reading, Reconciling: { ...reading, status: "True", message: seeReady } } : {}),
    Incomplete: isFull ? { status: "True", reason: "MaxEntriesReached", message } : undefined,
  };
  return withConditions(before, next, generation, nowMs);
}

function readingOf({ declared, reading }: JudgedRule): ReadingReport {
  if (declared.suspend) {
    return {
      status: "Unknown",
      reason: "Judged",
      message: "The object is suspended: no further requests are counted.",
    };
  }
  return reading ?? { status: "Unknown", reason: "Judged", message: "The logs have not been read yet." };
}
