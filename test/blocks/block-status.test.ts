import { blockKey } from "../../src/blocks/judge.ts";
import { expect, test } from "@jest/globals";
import { type Condition, findCondition } from "../../src/kinds/conditions.ts";
import type { ConditionType } from "../../src/kinds/reasons.ts";
import { isPublished } from "../support/worlds/conformance.ts";
import type { ReadingReport } from "../../src/blocks/block-book.ts";
import type { WafAutoBlockStatus } from "../../src/kinds/waf-auto-block.ts";
import { readObservedEntry } from "../../src/address/entry.ts";
import { compileDesired } from "../../src/decide/desired.ts";
import { progressOf } from "../../src/decide/progress.ts";
import { withBlockRules } from "../../src/blocks/block-rules.ts";
import { nothingDone, type RunFacts } from "../../src/run/facts.ts";
import { blockStatusFrom } from "../../src/blocks/block-status.ts";
import { anAutoBlock, type AutoBlockOverrides } from "../support/builders/declare-auto-block.ts";
import { anInventory, gathered, nowMs, observed, planInstance } from "../support/builders/gathered.ts";

interface Told {
  readonly reading?: ReadingReport;
  readonly leftOut?: number;
  readonly others?: number;
  readonly before?: Partial<WafAutoBlockStatus>;
  readonly atMs?: number;
}

function statusOf(
  overrides: AutoBlockOverrides = {},
  { reading, leftOut = 0, others = 0, before = {}, atMs = nowMs }: Told = {},
) {
  const block = anAutoBlock(overrides);
  const older = Array.from({ length: others }, (_, index) => {
    return anAutoBlock({ name: `older-${index}`, meta: { createdAtMs: 0 } });
  });
  const times = { sinceMs: nowMs, untilMs: nowMs + 60_000, firstMs: nowMs, lastMs: nowMs };
  const reasons: [string, number][] = [["a\u202e\u001b[31m", 3]];
  const entry = { entry: readObservedEntry("203.0.113.7"), ...times, times: 1, requests: 60, reasons };
  const judgement = { listed: [entry], rows: { matched: 60, late: 0, unreadable: 0 }, lastRowMs: nowMs, leftOut };
  const judgements = { [blockKey(block.meta)]: judgement };
  const view = { state: "Known", judgements, reading } as const;
  const state = withBlockRules(gathered({ autoBlocks: [block, ...older] }), view);
  const desired = compileDesired(state, nowMs);
  const [inventory, seen] = [anInventory(), observed({ blocklist: ["203.0.113.7"] })];
  const plan = planInstance({ desired, observed: seen, inventory, nowMs });
  const facts: RunFacts = {
    gathered: state,
    desired,
    result: { kind: "Done" },
    observed: seen,
    plan,
    progress: progressOf(desired.rules, plan.outcomes),
    inventory,
    done: nothingDone,
    unrecorded: 0,
    drift: [],
    pace: undefined,
    waiting: undefined,
    nowMs: atMs,
  };
  const rule = desired.rules.find(({ rule: { meta } }) => meta.name === "scanners");
  if (rule === undefined) throw new Error("the WafAutoBlock is missing");
  const statusFor = blockStatusFrom({ known: () => view });
  const status: Partial<WafAutoBlockStatus> = statusFor(before, rule, facts) ?? {};
  const conditions = (status.conditions ?? []) as readonly Condition[];
  for (const { type, reason, status: value } of conditions) {
    expect([type, reason, value, isPublished(type, reason, value)]).toStrictEqual([type, reason, value, true]);
  }
  return { status, of: (type: ConditionType) => conditionText(findCondition(conditions, type)) };
}

function conditionText(condition: Condition | undefined): string | undefined {
  return condition === undefined ? undefined : `${condition.status} ${condition.reason}`;
}

const read = { status: "True", reason: "Judged", message: "New blocked requests are judged." } as const;

test("a suggestion is Ready, and blocks no client", () => {
  const { status, of } = statusOf({ mode: "Suggest" }, { reading: read });
  expect([status.listed, status.synced, of("Ready")]).toStrictEqual([1, undefined, "True Synced"]);
});

test("a WafAutoBlock whose logs can't be read is not ready, and says why", () => {
  const { of } = statusOf({}, { reading: { status: "False", reason: "ApiUnavailable", message: "There is no WAF." } });
  expect([of("Ready"), of("LogsJudged"), of("Reconciling")]).toStrictEqual([
    "False ApiUnavailable",
    "False ApiUnavailable",
    "True ApiUnavailable",
  ]);
});

test.each<[string, string | undefined, string, AutoBlockOverrides, Told]>([
  ["until the logs have been read", "Unknown Judged", "True Synced", {}, {}],
  ["while it is suspended", "Unknown Judged", "True Synced", { suspend: true }, { reading: read }],
  ["beyond the number that one instance may have", undefined, "False NotAllowed", {}, { others: 8 }],
])("the log is not judged %s", (_, judged, ready, overrides, told) => {
  const { of } = statusOf(overrides, told);
  expect([of("LogsJudged"), of("Ready")]).toStrictEqual([judged, ready]);
});
