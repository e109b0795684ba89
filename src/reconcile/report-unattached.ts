// The status of what can't be worked on at all: objects without their instance, and objects that can't be understood.
import type { Condition } from "../api/conditions.ts";
import { removeCondition, setCondition } from "../api/conditions.ts";
import type { ResourceMeta } from "../model/resource.ts";
import type { StatusPort } from "./ports.ts";

export interface UnattachedObject {
  readonly meta: ResourceMeta;
  /** `InstanceNotFound` may be over in a moment, when the instance is created; `InvalidSpec` takes a person. */
  readonly reason: "InstanceNotFound" | "InvalidSpec";
  readonly message: string;
}

/** Writes the status of each; the port writes only what differs. */
export async function reportUnattached(
  status: StatusPort,
  objects: readonly UnattachedObject[],
  nowMs: number,
): Promise<void> {
  for (const object of objects) {
    const before = status.read(object.meta) ?? {};
    const known = (before["conditions"] ?? []) as readonly Condition[];
    await status.write(object.meta, {
      ...before,
      observedGeneration: object.meta.generation,
      conditions: unattachedConditions(known, object, nowMs),
    });
  }
}

function unattachedConditions(
  before: readonly Condition[],
  { meta, reason, message }: UnattachedObject,
  nowMs: number,
): readonly Condition[] {
  const common = { reason, message, observedGeneration: meta.generation } as const;
  let conditions = setCondition(before, { type: "Accepted", status: "False", ...common }, nowMs);
  conditions = setCondition(conditions, { type: "Ready", status: "False", ...common }, nowMs);
  // What was true of the WAF when it was attached is not known any more.
  for (const type of ["Synced", "Reconciling"] as const) conditions = removeCondition(conditions, type);
  if (reason === "InvalidSpec") return setCondition(conditions, { type: "Stalled", status: "True", ...common }, nowMs);
  return removeCondition(conditions, "Stalled");
}
