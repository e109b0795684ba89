import { describe, expect, test } from "@jest/globals";
import { writeOwners } from "../../src/model/rule-id.ts";
import type { DeclaredOrigin } from "../../src/model/declared.ts";
import type { OwnedOrigin } from "../../src/model/inventory.ts";
import { operationKey } from "../../src/model/operation.ts";
import { sameHost } from "../../src/decide/origin-plan.ts";
import { anInstance, anOrigin } from "../support/builders/declare.ts";
import { anOwnedOrigin, nowMs, operationsOf, planOf, type Situation } from "../support/builders/gathered.ts";

const host = "a.example";
const owners = writeOwners([{ kind: "WafOrigin", name: `edge/a.example`, source: undefined }]);
const added = anOwnedOrigin({ owners });
const unsure: OwnedOrigin = { ...added, addedAtMs: undefined };
const retained = { ...added, retainedBy: "edge/a.example" };
const alternate = anOrigin(host);
const backup = anOrigin(host, { type: "Backup" });
const [add, remove] = [`origins +${host} Alternate`, `origins -${host} Alternate`];

/** The operations, then what the record says of the host, then whether its removal waits. */
function decide(declared: DeclaredOrigin | undefined, owned: OwnedOrigin | undefined, more: Situation): string {
  const { operations, origins, inventory } = planOf({
    ...more,
    gathered: { origins: declared === undefined ? [] : [declared], ...more.gathered },
    inventory: { origins: owned === undefined ? {} : { [host]: owned } },
  });
  const record = inventory.origins.get(host);
  const kept = record === undefined ? "none" : `${record.type} ${record.addedAtMs === undefined ? "unsure" : "added"}`;
  const outcome = origins.outcomes.get(host);
  const waits = outcome?.kind === "Primary" && outcome.insteadOf === "Remove" ? ["waits"] : [];
  return [...operations.map(operationKey), kept, ...waits].join("; ");
}

describe("An origin", () => {
  const other = { observed: { primary: "other.example" } };
  const primary = { observed: { primary: "A.example." } };
  const broken = { gathered: { brokenSources: ["a.yaml can't be read."] } };

  test.each<[string, DeclaredOrigin | undefined, OwnedOrigin | undefined, Situation, string]>([
    ["declared and unknown", alternate, undefined, other, `${add}; Alternate unsure`],
    ["declared, and the primary", alternate, undefined, primary, "none"],
    ["declared and added", alternate, added, other, "Alternate added"],
    ["declared, added, and the primary", alternate, added, primary, "Alternate added"],
    ["declared and recorded before the call", alternate, unsure, other, `${add}; Alternate unsure`],
    ["declared, recorded before the call, and the primary", alternate, unsure, primary, "Alternate unsure"],
    ["declared with another type", backup, added, other, `${remove}; Alternate unsure`],
    ["declared with another type, and the primary", backup, added, primary, "Alternate added; waits"],
    ["no longer declared", undefined, added, other, `${remove}; Alternate unsure`],
    ["no longer declared, and recorded before the call", undefined, unsure, other, `${remove}; Alternate unsure`],
    ["no longer declared, and the primary", undefined, added, primary, "Alternate added; waits"],
    ["retained, its object deleted", undefined, retained, other, "none"],
    ["retained, its object deleted, and the primary", undefined, retained, primary, "none"],
    ["no longer declared while a source can't be read", undefined, added, broken, "Alternate added"],
    ["declared with another type while a source can't be read", backup, added, broken, "Alternate added"],
    ["retained while a source can't be read", undefined, retained, broken, "Alternate added"],
  ])("that is %s is planned as in the table", (_what, declared, owned, more, expected) => {
    expect(decide(declared, owned, more)).toBe(expected);
  });

  test("is recorded with the object that retains it, until this object no longer does", () => {
    const retaining = anOrigin(host, { deletionPolicy: "Retain" });
    const record = (declared: DeclaredOrigin, owned: OwnedOrigin) =>
      planOf({ gathered: { origins: [declared] }, inventory: { origins: { [host]: owned } } }).inventory.origins;
    expect(record(retaining, added).get(host)).toStrictEqual(retained);
    expect(record(alternate, retained).get(host)).toStrictEqual(added);
  });

  test("that a deleted object retains is managed for another object that declares the host", () => {
    const gathered = { origins: [anOrigin(host, { name: "other" })] };
    const { operations, inventory } = planOf({ gathered, inventory: { origins: { [host]: retained } } });
    expect(operations).toStrictEqual([]);
    const theirs = writeOwners([{ kind: "WafOrigin", name: "edge/other", source: undefined }]);
    expect(inventory.origins.get(host)).toStrictEqual({ ...added, owners: theirs });
  });

  test("whose object changed the host is removed although it was retained", () => {
    const renamed = anOrigin("b.example", { name: "one", deletionPolicy: "Retain" });
    const inventory = { origins: { [host]: { ...added, retainedBy: "edge/one" } } };
    const operations = operationsOf({ gathered: { origins: [renamed] }, inventory });
    expect(operations).toStrictEqual(["origins +b.example Alternate", remove]);
  });

  test("that the API refused waits for an hour or another version of its object", () => {
    const wantedBy = `edge/a.example@${alternate.meta.uid}.1`;
    const refusal = { operation: add, message: "No.", refusedAtMs: nowMs, wantedBy };
    const at = (atMs: number, declared = alternate) =>
      planOf({ gathered: { origins: [declared] }, inventory: { refusals: [refusal] }, nowMs: atMs });
    expect(at(nowMs + 3_599_999).operations).toStrictEqual([]);
    expect(at(nowMs + 3_599_999).origins.outcomes.get(host)?.refusals).toStrictEqual([refusal]);
    expect(at(nowMs + 3_600_000).operations).toHaveLength(1);
    expect(at(nowMs, anOrigin(host, { meta: { generation: 2 } })).operations).toHaveLength(1);
  });

  test("is neither added nor removed under the policy Observe", () => {
    const plan = planOf({
      gathered: { instance: anInstance({ policies: { origins: "Observe" } }), origins: [alternate] },
      inventory: { origins: { "z.example": added } },
    });
    expect(plan.operations).toStrictEqual([]);
    expect(plan.observedOnly.map(operationKey)).toStrictEqual([add, "origins -z.example Alternate"]);
    expect([...plan.inventory.origins.keys()]).toStrictEqual(["z.example"]);
  });
});

test("Hosts are compared as in DNS", () => {
  expect(sameHost("A.Example.", " a.example")).toBe(true);
  expect(sameHost("a.example", "b.example")).toBe(false);
});
