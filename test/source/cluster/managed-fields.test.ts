import { expect, test } from "@jest/globals";
import { setterOf } from "../../../src/source/cluster/cluster-object.ts";

const annotation = "wafsync.dev/approve-removals";

function entry(manager: string, time: string, ...annotations: readonly string[]) {
  const fields = Object.fromEntries(annotations.map((name) => [`f:${name}`, {}]));
  return { manager, operation: "Update", time, fieldsV1: { "f:metadata": { "f:annotations": fields }, "f:spec": {} } };
}

test("the last manager of the annotation is found among the managers of other fields", () => {
  const time = "2026-01-01T00:00:02Z";
  const fields = [
    entry("argocd", "2026-01-01T00:00:03Z", "other"),
    entry("kubectl-annotate", time, "other", annotation),
    entry("kubectl-edit", "2026-01-01T00:00:01Z", annotation),
  ];
  expect(setterOf(fields, "metadata", "annotations", annotation)).toStrictEqual({ manager: "kubectl-annotate", time });
});
