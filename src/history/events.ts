// The history of the entries and origins of one WAF: what a run reports becomes events. They are shown to users, and nothing depends
// on them.
import { type ListName, listNames } from "../model/declared.ts";
import { type EntryOwners, unknownOwners, writeOwners, ownerOfRule } from "../model/rule-id.ts";
import type { Operation } from "../model/operation.ts";
import { nameKey } from "../model/resource.ts";
import type { Happening, Known } from "../run/ports.ts";

/**
 * `Drifted`: another writer changed it contrary to the declared state. `Refused`: the API rejected the write. `OutcomeUnknown`: no
 * answer says whether the write took effect; `Added` or `Removed` follows once the list shows that it did. `Approved`: a user
 * approved its removal.
 */
export const historyKinds = [
  "Added",
  "Removed",
  "Adopted",
  "Drifted",
  "Refused",
  "OutcomeUnknown",
  "Approved",
] as const;

export const historyTargets = [...listNames, "origins"] as const;

export interface HistoryEvent {
  readonly atMs: number;
  readonly kind: (typeof historyKinds)[number];
  readonly target: ListName | "origins";
  /** Entries, or the hosts of origins; never empty. */
  readonly values: readonly string[];
  /** Their owners at that time. */
  readonly owners: EntryOwners;
  /** The description of the rule, the API's error, who approved, or what another writer did; may be empty. */
  readonly note: string;
}

/** `known` is what the run knew before it happened. */
export function eventsOf(happening: Happening, known: Known, atMs: number): HistoryEvent[] {
  switch (happening.kind) {
    case "Accepted":
      return [{ atMs, kind: done(happening), ...subjectOf(happening, known), note: reasonOf(happening, known) }];
    case "Settled":
      return [
        { atMs, kind: done(happening), ...subjectOf(happening, known), note: "found when the list was read again" },
      ];
    case "Unknown": {
      const note = `${isAddition(happening.operation) ? "addition" : "removal"}: ${happening.problem}`;
      return [{ atMs, kind: "OutcomeUnknown", ...subjectOf(happening, known), note }];
    }
    case "Refused": {
      // `blocklist +192.0.2.1`, or `origins +host type`.
      const [target = "", value = ""] = happening.refusal.operation.split(" ");
      const note = `${value.startsWith("-") ? "removal" : "addition"}: ${happening.refusal.message}`;
      const subject = { target: target as HistoryEvent["target"], values: [value.slice(1)], owners: unknownOwners };
      return [{ atMs, kind: "Refused", ...subject, note }];
    }
    case "Drifted": {
      const { list, entry, change } = happening.drift;
      const owners = ownersOfRules(known.desired.lists[list].get(entry)?.ids ?? []);
      const note = change === "Vanished" ? "removed by another writer" : "added by another writer";
      return [{ atMs, kind: "Drifted", target: list, values: [entry], owners, note }];
    }
    case "Adopted": {
      const { list, entry, rules } = happening.adoption;
      return [{ atMs, kind: "Adopted", target: list, values: [entry], owners: ownersOfRules(rules), note: "" }];
    }
    case "Approved": {
      const { approver } = known.gathered.instance.meta;
      const note = approver === undefined ? "" : `with ${approver.manager}`;
      return listNames.flatMap((target) =>
        [...happening.approval.removals[target]].map((entry) => {
          const owners = known.inventory.entries[target].get(entry)?.owners ?? unknownOwners;
          return { atMs, kind: "Approved", target, values: [entry], owners, note };
        }),
      );
    }
  }
}

interface OfOperation {
  readonly operation: Operation;
}

function done({ operation }: OfOperation): "Added" | "Removed" {
  return isAddition(operation) ? "Added" : "Removed";
}

function isAddition({ kind }: Operation): boolean {
  return kind === "AddEntry" || kind === "AddOrigin";
}

/** Why an entry is added, in the words of the first rule that declares it. */
function reasonOf({ operation }: OfOperation, { desired }: Known): string {
  if (operation.kind !== "AddEntry") return "";
  return desired.lists[operation.list].get(operation.entry)?.rules[0]?.rule.description ?? "";
}

function subjectOf({ operation }: OfOperation, { inventory, desired }: Known) {
  if (operation.kind === "AddEntry" || operation.kind === "RemoveEntry") {
    const { list, entry } = operation;
    const former = inventory.entries[list].get(entry)?.owners ?? unknownOwners;
    const owners = operation.kind === "AddEntry" ? ownersOfRules(operation.rules) : former;
    return { target: list, values: [entry], owners };
  }
  const { host } = operation;
  const declared = desired.origins.get(host);
  const owners =
    declared === undefined
      ? (inventory.origins.get(host)?.owners ?? unknownOwners)
      : writeOwners([{ kind: "WafOrigin", name: nameKey(declared.meta), source: undefined }]);
  return { target: "origins" as const, values: [host], owners };
}

function ownersOfRules(rules: readonly string[]): EntryOwners {
  return writeOwners(rules.map((id) => ownerOfRule(id, undefined)));
}
