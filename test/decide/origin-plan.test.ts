import { describe, expect, test } from "@jest/globals";
import { writeOwners } from "../../src/model/entry-owners.ts";
import type { OwnedOrigin } from "../../src/model/inventory.ts";
import { operationKey } from "../../src/model/operation.ts";
import { sameHost } from "../../src/decide/origin-plan.ts";
import { anInstance, anOrigin } from "../support/builders/declare.ts";
import { nowMs, planOf } from "../support/builders/gathered.ts";
import { anOwnedOrigin } from "../support/builders/owned.ts";

const host = "a.example";
const owners = writeOwners([{ kind: "WafOrigin", name: `edge/a.example`, source: undefined }]);
const added = anOwnedOrigin({ owners });
const unsure: OwnedOrigin = { ...added, addedAtMs: undefined };
const alternate = anOrigin(host);
const backup = anOrigin(host, { type: "Backup" });

/** `[operations]`, the owned type and whether it was accepted, and the hosts that wait. */
function decide(
  declared: typeof alternate | undefined,
  owned: OwnedOrigin | undefined,
  primary: boolean,
  broken = false,
) {
  const { operations, origins, inventory } = planOf({
    gathered: {
      origins: declared === undefined ? [] : [declared],
      brokenSources: broken ? ["a.yaml can't be read."] : [],
    },
    observed: { primary: primary ? "A.example." : "other.example" },
    inventory: { origins: owned === undefined ? {} : { [host]: owned } },
  });
  const record = inventory.origins.get(host);
  const outcome = origins.outcomes.get(host);
  return {
    operations: operations.map(operationKey),
    owned: record === undefined ? undefined : `${record.type} ${record.addedAtMs === undefined ? "unsure" : "added"}`,
    waiting: outcome?.kind === "Primary" && outcome.insteadOf === "Remove" ? [host] : [],
  };
}

describe("An origin", () => {
  const none = { operations: [], waiting: [] };
  test.each([
    [
      "declared and unknown",
      alternate,
      undefined,
      false,
      { ...none, operations: [`origins +${host} Alternate`], owned: "Alternate unsure" },
    ],
    ["declared, and the primary", alternate, undefined, true, { ...none, owned: undefined }],
    ["declared and added", alternate, added, false, { ...none, owned: "Alternate added" }],
    ["declared, added, and the primary", alternate, added, true, { ...none, owned: "Alternate added" }],
    [
      "declared and recorded before the call",
      alternate,
      unsure,
      false,
      { ...none, operations: [`origins +${host} Alternate`], owned: "Alternate unsure" },
    ],
    [
      "declared, recorded before the call, and the primary",
      alternate,
      unsure,
      true,
      { ...none, owned: "Alternate unsure" },
    ],
    [
      "declared with another type",
      backup,
      added,
      false,
      { ...none, operations: [`origins -${host} Alternate`], owned: "Alternate unsure" },
    ],
    [
      "declared with another type, and the primary",
      backup,
      added,
      true,
      { operations: [], owned: "Alternate added", waiting: [host] },
    ],
    [
      "no longer declared",
      undefined,
      added,
      false,
      { ...none, operations: [`origins -${host} Alternate`], owned: "Alternate unsure" },
    ],
    [
      "no longer declared, and recorded before the call",
      undefined,
      unsure,
      false,
      { ...none, operations: [`origins -${host} Alternate`], owned: "Alternate unsure" },
    ],
    [
      "no longer declared, and the primary",
      undefined,
      added,
      true,
      { operations: [], owned: "Alternate added", waiting: [host] },
    ],
    [
      "retained, its object deleted",
      undefined,
      { ...added, retainedBy: "edge/a.example" },
      false,
      { ...none, owned: undefined },
    ],
    [
      "retained, its object deleted, and the primary",
      undefined,
      { ...added, retainedBy: "edge/a.example" },
      true,
      { ...none, owned: undefined },
    ],
  ] as const)("that is %s is planned as in the table", (_what, declared, owned, primary, expected) => {
    expect(decide(declared, owned, primary)).toStrictEqual(expected);
  });

  test.each([
    ["no longer declared", undefined, added],
    ["declared with another type", backup, added],
    ["retained", undefined, { ...added, retainedBy: "edge/a.example" }],
  ] as const)("that is %s stays while a source can't be read", (_what, declared, owned) => {
    expect(decide(declared, owned, false, true)).toStrictEqual({
      operations: [],
      waiting: [],
      owned: "Alternate added",
    });
  });

  test("is recorded with the object that retains it, until this object no longer does", () => {
    const retaining = anOrigin(host, { deletionPolicy: "Retain" });
    const record = (declared: typeof alternate, owned: OwnedOrigin) =>
      planOf({ gathered: { origins: [declared] }, inventory: { origins: { [host]: owned } } }).inventory.origins.get(
        host,
      );
    expect(record(retaining, added)).toStrictEqual({ ...added, retainedBy: "edge/a.example" });
    expect(record(alternate, { ...added, retainedBy: "edge/a.example" })).toStrictEqual(added);
  });

  test("that a deleted object retains is managed for another object that declares the host", () => {
    const other = anOrigin(host, { name: "other" });
    const retained = { ...added, retainedBy: "edge/a.example" };
    const { operations, inventory } = planOf({
      gathered: { origins: [other] },
      inventory: { origins: { [host]: retained } },
    });
    expect(operations).toStrictEqual([]);
    const theirs = writeOwners([{ kind: "WafOrigin", name: "edge/other", source: undefined }]);
    expect(inventory.origins.get(host)).toStrictEqual({ ...added, owners: theirs });
  });

  test("whose object changed the host is removed although it was retained", () => {
    const renamed = anOrigin("b.example", { name: "one", deletionPolicy: "Retain" });
    const { operations } = planOf({
      gathered: { origins: [renamed] },
      inventory: { origins: { [host]: { ...added, retainedBy: "edge/one" } } },
    });
    expect(operations.map(operationKey)).toStrictEqual(["origins +b.example Alternate", `origins -${host} Alternate`]);
  });

  test("that the API refused waits for an hour or another version of its object", () => {
    const refusal = {
      operation: `origins +${host} Alternate`,
      message: "No.",
      refusedAtMs: nowMs,
      wantedBy: `edge/a.example@${alternate.meta.uid}.1`,
    };
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
    expect(plan.observedOnly.map(operationKey)).toStrictEqual([
      `origins +${host} Alternate`,
      "origins -z.example Alternate",
    ]);
    expect([...plan.inventory.origins.keys()]).toStrictEqual(["z.example"]);
  });
});

test("Hosts are compared as in DNS", () => {
  expect(sameHost("A.Example.", " a.example")).toBe(true);
  expect(sameHost("a.example", "b.example")).toBe(false);
});
