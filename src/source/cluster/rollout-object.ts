// Deployments, StatefulSets and DaemonSets, reduced to what is needed to follow rollouts. The revision is:
//
//   Deployment   the annotation that its controller increases; scaling does not
//   StatefulSet  `status.updateRevision`, a hash of the pod template; with a partition, each stage has a separate revision
//   DaemonSet    the generation of its template, an annotation that the API server increases
import { apiGroup } from "../../kinds/kinds.ts";
import { isRecord, type KubeObject } from "../../kube/kube-object.ts";
import type { ResourceType } from "../../kube/resource-path.ts";
import type { WorkloadRef } from "../../model/declared.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import type { WorkloadSight } from "../../model/workload.ts";

export type WorkloadKind = WorkloadRef["kind"];

/** Annotation of a workload: the instances of other namespaces that may follow its rollouts, as `namespace/name`, comma-separated. */
export const clearsCacheOfAnnotation = `${apiGroup}/clears-cache-of`;

const consentsMax = 32;
const unobserved = "The workload's controller has not observed the change yet.";
export const exceededDeadline = "The rollout has exceeded its progress deadline.";

export function typeOfWorkload(kind: WorkloadKind): ResourceType {
  return { group: "apps", version: "v1", plural: `${kind.toLowerCase()}s`, namespaced: true };
}

/** The stored form of a workload. */
export interface WorkloadObject extends KubeObject, Pick<WorkloadSight, "message"> {
  readonly rollout: NonNullable<WorkloadSight["rollout"]>;
  /** `namespace/name` of the instances in other namespaces that may see it. */
  readonly consents: readonly string[];
}

export function slimWorkload(kind: WorkloadKind, object: KubeObject): WorkloadObject {
  const { namespace = "", name, uid, resourceVersion, annotations = {} } = object.metadata;
  const consents = (annotations[clearsCacheOfAnnotation] ?? "").split(",").slice(0, consentsMax);
  const message = waitsFor(kind, object);
  return {
    metadata: { namespace, name, uid, resourceVersion },
    rollout: {
      id: `${uid}/${revisionOf(kind, object)}`,
      isComplete: message === "",
      ...(message === unobserved ? { isUnobserved: true } : {}),
    },
    message,
    consents: consents.map((text) => text.trim()).filter((text) => text !== ""),
  };
}

/** A user who may write an instance must not learn about workloads in other namespaces unless those allow it. */
export function maySee(instance: ObjectName, { metadata, consents }: WorkloadObject): boolean {
  return metadata.namespace === instance.namespace || consents.includes(nameKey(instance));
}

function revisionOf(kind: WorkloadKind, object: KubeObject): string {
  const { annotations = {} } = object.metadata;
  if (kind === "Deployment") return annotations["deployment.kubernetes.io/revision"] ?? "";
  if (kind === "DaemonSet") return annotations["deprecated.daemonset.template.generation"] ?? "";
  const partition = partitionOf(object);
  const { currentRevision: current = "", updateRevision: update = "" } = (fieldOf(object, "status") ?? {}) as {
    readonly currentRevision?: string;
    readonly updateRevision?: string;
  };
  if (partition === 0 || update === current) return update;
  return partition >= numberOf(object, "spec", "replicas", 1) ? current : `${update} partition=${partition}`;
}

/** The pods of a StatefulSet with a lower number keep their revision. */
function partitionOf(object: KubeObject): number {
  return numberOf(fieldOf(object, "spec", "updateStrategy"), "rollingUpdate", "partition");
}

/** What a rollout waits for, by the rules of `kubectl rollout status`; empty if it is complete. */
function waitsFor(kind: WorkloadKind, object: KubeObject): string {
  const count = (name: string): number => numberOf(object, "status", name);
  if (kind !== "Deployment" && fieldOf(fieldOf(object, "spec", "updateStrategy"), "type") !== "RollingUpdate") {
    return "Rollouts can only be followed with the update strategy RollingUpdate.";
  }
  const observed = count("observedGeneration");
  if (observed < (object.metadata.generation ?? 0) || (kind === "StatefulSet" && observed === 0)) {
    return unobserved;
  }
  const conditions = fieldOf(object, "status", "conditions");
  const isLate = (condition: unknown): boolean => fieldOf(condition, "reason") === "ProgressDeadlineExceeded";
  if (Array.isArray(conditions) && conditions.some(isLate)) return exceededDeadline;
  const desired = kind === "DaemonSet" ? count("desiredNumberScheduled") : numberOf(object, "spec", "replicas", 1);
  const updated = count(kind === "DaemonSet" ? "updatedNumberScheduled" : "updatedReplicas");
  const toUpdate = kind === "StatefulSet" ? desired - partitionOf(object) : desired;
  if (updated < toUpdate) return `${updated} of ${toUpdate} pods are updated.`;
  const old = kind === "Deployment" ? count("replicas") - updated : 0;
  if (old > 0) return `${old} old pods have not terminated yet.`;
  const ready = count(
    { Deployment: "availableReplicas", StatefulSet: "readyReplicas", DaemonSet: "numberAvailable" }[kind],
  );
  const toBeReady = kind === "Deployment" ? updated : desired;
  return ready < toBeReady ? `${ready} of ${toBeReady} pods are ready.` : "";
}

function fieldOf(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((part, name) => (isRecord(part) ? part[name] : undefined), value);
}

function numberOf(value: unknown, part: string, name: string, otherwise = 0): number {
  const number = fieldOf(value, part, name);
  return typeof number === "number" ? number : otherwise;
}
