// One worked example for each row of the table in src/decide/decisions.ts, and for each exception: three lists in, one text out.
import { expect, test } from "@jest/globals";
import { type ListName, listNames } from "../../src/model/declared.ts";
import type { GatheredRule } from "../../src/model/gathered.ts";
import type { OwnedEntry } from "../../src/model/inventory.ts";
import { operationKey } from "../../src/model/operation.ts";
import {
  allowing,
  anInstance,
  blocking,
  type InstanceOverrides,
  type RuleOverrides,
  mapSource,
} from "../support/builders/declare.ts";
import { anInventory, entry, nowMs, ownedBy, planOf, type Situation } from "../support/builders/gathered.ts";

interface Example {
  /** The entries of the rule `edge/scanners`. */
  readonly declared?: readonly string[];
  readonly shown?: readonly string[];
  /** Each with the rules that last declared it, or with more of its record. */
  readonly recorded?: Readonly<Record<string, string | Partial<OwnedEntry>>>;
  readonly rule?: RuleOverrides;
  readonly more?: readonly GatheredRule[];
  readonly instance?: InstanceOverrides;
  readonly gathered?: Situation["gathered"];
  readonly inventory?: Situation["inventory"];
  /** Whether the list is read again after the consistency window. */
  readonly isSecondRead?: boolean;
  /** The outcomes, then the calls, then what the record no longer has. */
  readonly expected: string;
}

const [a, b] = ["192.0.2.1", "192.0.2.2"];
const ours = "edge/scanners";
const adopts = { meta: { annotations: { "wafsync.dev/adopt": "true" } } };
const broken = { gathered: { brokenSources: ["a.yaml can't be read."] } };
const refused = (operation: string, wantedBy: string) => ({
  inventory: { refusals: [{ operation, message: "No.", refusedAtMs: nowMs, wantedBy }] },
});
const contested = {
  inventory: { disputes: [{ list: "blocklist", entry: entry(a), atMs: [nowMs, nowMs, nowMs, nowMs] }] },
} as const;
const observing = { instance: { policies: { blocklist: "Observe" } } } as const;
const suspended = { instance: { suspend: true } };
const exclusive: InstanceOverrides = { policies: { blocklist: "Exclusive" } };
const tiny: InstanceOverrides = { lists: { blocklist: { maxEntries: 1 } } };

const examples: Readonly<Record<string, Example>> = {
  "1": { declared: [a], shown: [a], recorded: { [a]: ours }, expected: "" },
  "1, now of a renamed rule": { declared: [a], shown: [a], recorded: { [a]: "edge/old" }, expected: `InSync ${a}` },
  "1, a deleted rule retains it": {
    declared: [a],
    shown: [a],
    recorded: { [a]: { retainedBy: "edge/kept" } },
    expected: `Release ${a}; forgets ${a}`,
  },
  "1, a full list evicts it": {
    declared: [a],
    shown: [a],
    recorded: { [a]: ours },
    more: [blocking("urgent", [b], { priority: 9 })],
    instance: { ...tiny, guards: { maxRemovalPercent: 100 } },
    expected: `Add ${b}; Remove ${a}; -${a}; +${b}`,
  },
  "2": { declared: [a], shown: [a], expected: `Foreign ${a}` },
  "2, adopted": { declared: [a], shown: [a], rule: adopts, expected: `Adopt ${a}` },
  "2, adopted by a rule that only remembers it": {
    shown: [a],
    rule: { ...adopts, texts: [{ state: "Missing", source: mapSource("edge/gone"), problem: "It is missing." }] },
    recorded: { [a]: { retainedBy: "edge/kept" } },
    expected: `Release ${a}; forgets ${a}`,
  },
  "3": { declared: [a], recorded: { [a]: ours }, expected: `Add ${a}; +${a}` },
  "4": { declared: [a], expected: `Add ${a}; +${a}` },
  "5": { shown: [a], recorded: { [a]: ours }, expected: `Remove ${a}; -${a}` },
  "5, its deleted rule retains it": {
    shown: [a],
    recorded: { [a]: { retainedBy: "edge/kept" } },
    expected: `Release ${a}; forgets ${a}`,
  },
  "5, its deleted rule retains it, and the list is Exclusive": {
    shown: [a],
    recorded: { [a]: { retainedBy: "edge/kept" } },
    instance: exclusive,
    expected: `Remove ${a}; -${a}`,
  },
  "5, what last declared it can't be read": { shown: [a], recorded: { [a]: ours }, ...broken, expected: "" },
  "6": { shown: [a], expected: `Nothing ${a}` },
  "6, Exclusive": { shown: [a], instance: exclusive, expected: `Remove ${a}; -${a}` },
  "7": { recorded: { [a]: ours }, expected: `Missing ${a}` },
  "7, second read": {
    recorded: { [a]: { missingSinceMs: nowMs } },
    isSecondRead: true,
    expected: `Forget ${a}; forgets ${a}`,
  },
  "instead of Add: Off": { declared: [a], ...suspended, expected: `Off ${a}` },
  "instead of Add: Refused": {
    declared: [a],
    ...refused(`blocklist +${a}`, `${ours}@${blocking("scanners", []).rule.meta.uid}.1`),
    expected: `Refused ${a}`,
  },
  "instead of Add: Contested": { declared: [a], ...contested, expected: `Contested ${a}` },
  "instead of Add: NoRoom": { declared: [a, b], instance: tiny, expected: `Add ${a}; NoRoom ${b}; +${a}` },
  "instead of Add: NoRoom, while the removal is held": {
    declared: [a],
    shown: [b],
    recorded: { [b]: ours },
    instance: { ...tiny, guards: { maxRemovals: 0 } },
    expected: `Held ${b}; NoRoom ${a}`,
  },
  "instead of Adopt: Off": { declared: [a], shown: [a], rule: adopts, ...suspended, expected: `Foreign ${a}` },
  "instead of Adopt: Observe": { declared: [a], shown: [a], rule: adopts, ...observing, expected: `Foreign ${a}` },
  "instead of Remove: Off": { shown: [a], recorded: { [a]: ours }, ...suspended, expected: `Off ${a}` },
  "instead of Remove: SourceBroken": { shown: [a], instance: exclusive, ...broken, expected: `SourceBroken ${a}` },
  "instead of Remove: Refused": {
    shown: [a],
    recorded: { [a]: ours },
    ...refused(`blocklist -${a}`, ""),
    expected: `Refused ${a}`,
  },
  "instead of Remove: Contested": { shown: [a], recorded: { [a]: ours }, ...contested, expected: `Contested ${a}` },
  "instead of Remove: Held": {
    shown: [a],
    recorded: { [a]: ours },
    instance: { guards: { maxRemovals: 0 } },
    expected: `Held ${a}`,
  },
  "a new Allow lifts no block on the list": {
    declared: [a],
    shown: [a],
    recorded: { [a]: ours },
    more: [allowing("office", [a], { priority: 9 })],
    expected: "",
  },
};

test.each(Object.entries(examples))("Row %s", (_name, example) => {
  expect(outcomeOf(example)).toBe(example.expected);
});

function outcomeOf({ declared = [], shown = [], recorded = {}, rule, more = [], ...example }: Example): string {
  const scanners = declared.length > 0 || rule !== undefined ? [blocking("scanners", declared, rule)] : [];
  const entries = anInventory({ blocklist: Object.entries(recorded).map(ownedAs) }).entries.blocklist;
  const owned = [...entries].map(([text, record]) => {
    const given = recorded[text];
    return [text, { ...record, ...(typeof given === "string" ? {} : given) }] as const;
  });
  const atMs = nowMs + (example.isSecondRead === true ? 5_000 : 0);
  const situation = {
    gathered: { instance: anInstance(example.instance), rules: [...scanners, ...more], ...example.gathered },
    observed: { blocklist: shown, readAtMs: atMs },
    inventory: { ...example.inventory, entries: { blocklist: new Map(owned), allowlist: new Map() } },
    nowMs: atMs,
  };
  const plan = planOf(situation);
  const outcomes = listNames.flatMap((list: ListName) =>
    plan.outcomes[list].map(({ entry, outcome }) => `${outcome.kind} ${entry}`),
  );
  const calls = plan.operations.map((operation) => operationKey(operation).replace("blocklist ", ""));
  const gone = owned.flatMap(([text]) => (plan.inventory.entries.blocklist.has(text) ? [] : [`forgets ${text}`]));
  return [...outcomes.toSorted(), ...calls, ...gone].join("; ");
}

function ownedAs([text, given]: readonly [string, string | Partial<OwnedEntry>]) {
  return ownedBy(text, typeof given === "string" ? [given] : []);
}
