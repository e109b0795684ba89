// The status of objects that no run covers: their instance does not exist, is being deleted or grants no access, or their spec is invalid.
import { isDeepStrictEqual } from "node:util";
import type { Condition } from "../../kinds/conditions.ts";
import { removeCondition, setCondition } from "../../kinds/conditions.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import type { StatusPort } from "../ports.ts";
import { handledRequest } from "./write-status.ts";

const wafState: ReadonlySet<string> = new Set(["entries", "progress", "rejected", "sources", "state", "addedTime"]);

export interface UnattachedObject {
  readonly meta: ResourceMeta;
  /** A missing instance may be created soon; the other cases need a person. */
  readonly reason: "InstanceNotFound" | "NotAllowed" | "InvalidSpec";
  readonly message: string;
}

/** Writes the status of the object if it differs. Returns true if so. */
export async function reportUnattached(status: StatusPort, object: UnattachedObject, nowMs: number): Promise<boolean> {
  if (object.meta.deleting && object.meta.kind !== "WafInstance") return false;
  const before = status.read(object.meta) ?? {};
  const known = (before["conditions"] ?? []) as readonly Condition[];
  if (object.reason !== "InvalidSpec" && isFinished(object.meta, before, known)) return false;
  const after = {
    ...(object.reason === "InvalidSpec" ? before : withoutWafState(before)),
    ...handledRequest(object.meta),
    observedGeneration: object.meta.generation,
    conditions: unattachedConditions(known, object, nowMs),
  };
  if (isDeepStrictEqual(after, before)) return false;
  await status.write(object.meta, after);
  return true;
}

/** A finished cache clear keeps its status: it needs nothing from the instance. */
function isFinished(
  { kind, generation }: ResourceMeta,
  status: Readonly<Record<string, unknown>>,
  conditions: readonly Condition[],
): boolean {
  if (kind !== "WafCacheClear" || status["observedGeneration"] !== generation) return false;
  return conditions.some(({ type, status: state }) => (type === "Complete" || type === "Failed") && state === "True");
}

/** Drops the state of the entries on the WAF, which may be gone with the instance. Results of completed work stay. */
function withoutWafState(status: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(status).filter(([name]) => !wafState.has(name)));
}

function unattachedConditions(
  before: readonly Condition[],
  { meta, reason, message }: UnattachedObject,
  nowMs: number,
): readonly Condition[] {
  const common = { reason, message, observedGeneration: meta.generation } as const;
  let conditions = setCondition(before, { type: "Accepted", status: "False", ...common }, nowMs);
  conditions = setCondition(conditions, { type: "Ready", status: "False", ...common }, nowMs);
  // The former state on the WAF is no longer known.
  for (const type of ["Synced", "Reconciling"] as const) conditions = removeCondition(conditions, type);
  if (reason === "InstanceNotFound") return removeCondition(conditions, "Stalled");
  return setCondition(conditions, { type: "Stalled", status: "True", ...common }, nowMs);
}
