// One worked example for each row of the table in src/decide/decisions.ts, and for each exception: three lists in, one text out.
import { expect, test } from "@jest/globals";
import { listNames } from "../../src/model/declared.ts";
import type { GatheredRule } from "../../src/model/gathered.ts";
import type { OwnedEntry } from "../../src/model/inventory.ts";
import { operationKey } from "../../src/model/operation.ts";
import { writeOwners } from "../../src/model/rule-id.ts";
import { allowing, anInstance, blocking, mapSource } from "../support/builders/declare.ts";
import type { InstanceOverrides, RuleOverrides } from "../support/builders/declare.ts";
import { anOwnedEntry, entry, nowMs, planOf, type Situation } from "../support/builders/gathered.ts";

/** What else an example has. */
interface More {
  /** Of the rule `edge/scanners`. */
  readonly rule?: RuleOverrides;
  readonly rules?: readonly GatheredRule[];
  readonly instance?: InstanceOverrides;
  readonly gathered?: Situation["gathered"];
  readonly inventory?: Situation["inventory"];
  /** Whether the list is read again after the consistency window. */
  readonly isSecondRead?: boolean;
}

const addresses = { a: "192.0.2.1", b: "192.0.2.2" };
const adopts = { meta: { annotations: { "wafsync.dev/adopt": "true" } } };
const missing = { state: "Missing", source: mapSource("edge/gone"), problem: "It is missing." } as const;
const broken = { gathered: { brokenSources: ["a.yaml can't be read."] } };
const refused = (operation: string, wantedBy: string) => ({
  inventory: { refusals: [{ operation, message: "No.", refusedAtMs: nowMs, wantedBy }] },
});
const scannersVersion = `edge/scanners@${blocking("scanners", []).rule.meta.uid}.1`;
const contested = {
  inventory: { disputes: [{ list: "blocklist", entry: entry(addresses.a), atMs: [nowMs, nowMs, nowMs, nowMs] }] },
} as const;
const observing = { instance: { policies: { blocklist: "Observe" } } } as const;
const suspended = { instance: { suspend: true } };
const exclusive = { instance: { policies: { blocklist: "Exclusive" } } } as const;
const tiny = { lists: { blocklist: { maxEntries: 1 } } };
const noRemovals = { guards: { maxRemovals: 0 } };
const tinyAndHeld = { instance: { ...tiny, ...noRemovals } };
const crowdedOut = {
  rules: [blocking("urgent", [addresses.b], { priority: 9 })],
  instance: { ...tiny, guards: { maxRemovalPercent: 100 } },
};
const newAllow = { rules: [allowing("office", [addresses.a], { priority: 9 })] };
const remembering = { rule: { ...adopts, texts: [missing] } };

test.each<[row: string, declared: string, shown: string, recorded: string, outcome: string, more?: More | undefined]>([
  ["1", "a", "a", "a", ""],
  ["1, now of a renamed rule", "a", "a", "a of edge/old", "InSync a"],
  ["1, a deleted rule retains it", "a", "a", "a kept by edge/kept", "Release a; forgets a"],
  ["1, a full list evicts it", "a", "a", "a", "Add b; Remove a; -a; +b", crowdedOut],
  ["2", "a", "a", "", "Foreign a"],
  ["2, adopted", "a", "a", "", "Adopt a", { rule: adopts }],
  ["2, adopted by a rule that only remembers it", "", "a", "a kept by edge/kept", "Release a; forgets a", remembering],
  ["3", "a", "", "a", "Add a; +a"],
  ["4", "a", "", "", "Add a; +a"],
  ["5", "", "a", "a", "Remove a; -a"],
  ["5, its deleted rule retains it", "", "a", "a kept by edge/kept", "Release a; forgets a"],
  ["5, its deleted rule retains it, and the list is Exclusive", "", "a", "a kept by x/y", "Remove a; -a", exclusive],
  ["5, what last declared it can't be read", "", "a", "a", "", broken],
  ["6", "", "a", "", "Nothing a"],
  ["6, Exclusive", "", "a", "", "Remove a; -a", exclusive],
  ["7", "", "", "a", "Missing a"],
  ["7, second read", "", "", "a missing", "Forget a; forgets a", { isSecondRead: true }],
  ["instead of Add: Off", "a", "", "", "Off a", suspended],
  ["instead of Add: Refused", "a", "", "", "Refused a", refused(`blocklist +${addresses.a}`, scannersVersion)],
  ["instead of Add: Contested", "a", "", "", "Contested a", contested],
  ["instead of Add: NoRoom", "a b", "", "", "Add a; NoRoom b; +a", { instance: tiny }],
  ["instead of Add: NoRoom, while the removal is held", "a", "b", "b", "Held b; NoRoom a", tinyAndHeld],
  ["instead of Adopt: Off", "a", "a", "", "Foreign a", { rule: adopts, ...suspended }],
  ["instead of Adopt: Observe", "a", "a", "", "Foreign a", { rule: adopts, ...observing }],
  ["instead of Remove: Off", "", "a", "a", "Off a", suspended],
  ["instead of Remove: SourceBroken", "", "a", "", "SourceBroken a", { ...exclusive, ...broken }],
  ["instead of Remove: Refused", "", "a", "a", "Refused a", refused(`blocklist -${addresses.a}`, "")],
  ["instead of Remove: Contested", "", "a", "a", "Contested a", contested],
  ["instead of Remove: Held", "", "a", "a", "Held a", { instance: noRemovals }],
  ["a new Allow lifts no block on the list", "a", "a", "a", "", newAllow],
])("Row %s", (_row, declared, shown, recorded, outcome, more = {}) => {
  expect(outcomeOf(declared, shown, recorded, more)).toBe(outcome);
});

/** The outcomes, then the calls, then what the record no longer has. */
function outcomeOf(declared: string, shown: string, recorded: string, more: More): string {
  const [wanted, blocklist] = [addressesIn(declared), addressesIn(shown)];
  const scanners = wanted.length > 0 || more.rule !== undefined ? [blocking("scanners", wanted, more.rule)] : [];
  const atMs = nowMs + (more.isSecondRead === true ? 5_000 : 0);
  const owned = addressesIn(recorded.split(" ")[0] ?? "").map((text) => [entry(text), recordOf(recorded)] as const);
  const inventory = { ...more.inventory, entries: { blocklist: new Map(owned), allowlist: new Map() } };
  const plan = planOf({
    gathered: {
      instance: anInstance(more.instance),
      rules: [...scanners, ...(more.rules ?? [])],
      ...more.gathered,
    },
    observed: { blocklist, readAtMs: atMs },
    inventory,
    nowMs: atMs,
  });
  const outcomes = listNames.flatMap((list) => plan.outcomes[list].map((one) => `${one.outcome.kind} ${one.entry}`));
  const calls = plan.operations.map((operation) => operationKey(operation).replace("blocklist ", ""));
  const gone = owned.flatMap(([text]) => (plan.inventory.entries.blocklist.has(text) ? [] : [`forgets ${text}`]));
  const said = [...outcomes.toSorted(), ...calls, ...gone].join("; ");
  return said.replaceAll(addresses.a, "a").replaceAll(addresses.b, "b");
}

function addressesIn(letters: string): string[] {
  return letters.split(" ").flatMap((letter) => (letter === "" ? [] : [addresses[letter as "a" | "b"]]));
}

/** `a` was last declared by `edge/scanners`, and `a of edge/old` by that rule. */
function recordOf(text: string): OwnedEntry {
  const [, how, name = ""] = /^\w (of|kept by|missing) ?(.*)$/u.exec(text) ?? [];
  if (how === "kept by") return anOwnedEntry({ retainedBy: name });
  if (how === "missing") return { ...anOwnedEntry(), missingSinceMs: nowMs };
  const owner = { kind: "WafIpRule", name: how === "of" ? name : "edge/scanners", source: undefined } as const;
  return anOwnedEntry({ owners: writeOwners([owner]) });
}
