import { expect, test } from "@jest/globals";
import type { ResourceMeta } from "../../src/model/resource.ts";
import type { StatusPort } from "../../src/run/ports.ts";
import { reportUnattached } from "../../src/app/unattached-loop.ts";
import { aCacheClear, aMeta } from "../support/builders/declare.ts";

const reason = "InstanceNotFound";
const problem = "There is no WafInstance shop/main.";

/** The conditions that are written for an object with this status; undefined if nothing is written. */
async function written(
  meta: ResourceMeta,
  before: Readonly<Record<string, unknown>> = {},
): Promise<string[] | undefined> {
  let conditions: string[] | undefined;
  const port: StatusPort = {
    read: () => before,
    write: async (_, status) => {
      const after = status["conditions"] as readonly { readonly type: string; readonly status: string }[];
      conditions = after.map(({ type, status: state }) => `${type} ${state}`).toSorted();
    },
    event: () => undefined,
  };
  await reportUnattached(port, { meta, reason, problem }, 0);
  return conditions;
}

const condition = (type: string): object => ({
  type,
  status: "True",
  reason: "Cleared",
  message: "",
  observedGeneration: 1,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

test("a rule without its instance is neither accepted nor ready", async () => {
  expect(await written(aMeta("WafIpRule", "shop/office"))).toStrictEqual(["Accepted False", "Ready False"]);
});

test("a finished cache clear keeps its status when its instance is deleted", async () => {
  const { meta } = aCacheClear("shop/release", {});
  for (const type of ["Complete", "Failed"]) {
    const status = { observedGeneration: meta.generation, conditions: [condition(type)] };
    expect(await written(meta, status)).toBeUndefined();
  }
});

test("a waiting cache clear, or one with a new trigger, is not ready without its instance", async () => {
  const { meta } = aCacheClear("shop/release", {});
  expect(await written(meta)).toStrictEqual(["Accepted False", "Ready False"]);
  const former = { observedGeneration: meta.generation - 1, conditions: [condition("Complete")] };
  expect(await written(meta, former)).toStrictEqual(["Accepted False", "Complete True", "Ready False"]);
});
