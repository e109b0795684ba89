import { expect, test } from "@jest/globals";
import type { ResourceMeta } from "../../src/model/resource.ts";
import { unattachedStatus } from "../../src/app/unattached-loop.ts";
import { aCacheClear, aMeta } from "../support/builders/declare.ts";

const reason = "InstanceNotFound";
const problem = "There is no WafInstance shop/main.";

/** The conditions that are written for an object with this status; undefined if nothing is written. */
function written(meta: ResourceMeta, before: Readonly<Record<string, unknown>> = {}): string[] | undefined {
  const after = unattachedStatus(before, { meta, reason, problem }, 0)?.["conditions"];
  const conditions = after as readonly { readonly type: string; readonly status: string }[] | undefined;
  return conditions?.map(({ type, status }) => `${type} ${status}`).toSorted();
}

const condition = (type: string): object => ({ type, status: "True" });

test("a finished cache clear keeps its status when its instance is deleted", () => {
  const { meta } = aCacheClear("shop/release", {});
  for (const type of ["Complete", "Failed"]) {
    const status = { observedGeneration: meta.generation, conditions: [condition(type)] };
    expect(written(meta, status)).toBeUndefined();
  }
});

test("a rule, a waiting cache clear and one with a new trigger are not ready without their instance", () => {
  expect(written(aMeta("WafIpRule", "shop/office"))).toStrictEqual(["Accepted False", "Ready False"]);
  const { meta } = aCacheClear("shop/release", {});
  expect(written(meta)).toStrictEqual(["Accepted False", "Ready False"]);
  const former = { observedGeneration: meta.generation - 1, conditions: [condition("Complete")] };
  expect(written(meta, former)).toStrictEqual(["Accepted False", "Complete True", "Ready False"]);
});
