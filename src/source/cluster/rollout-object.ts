// Deployments, StatefulSets and DaemonSets, reduced to what is needed to follow rollouts. The revision is:
//
//   Deployment   the annotation that its controller increases; not by scaling, or by a change that is reverted during a pause
//   StatefulSet  `status.updateRevision`, a hash of the pod template; with a partition, each stage has a separate revision
//   DaemonSet    the generation of its template, an annotation that the API server increases
import { hexDigest } from "../../model/hex-digest.ts";
import { apiGroup } from "../../api/kinds.ts";
import { isRecord, type KubeObject } from "../../kube/kube-object.ts";
import type { ResourceType } from "../../kube/resource-path.ts";
import type { WorkloadRef } from "../../model/declared.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import type { RolloutProgress, SeenWorkload } from "../../model/workload.ts";

export type WorkloadKind = WorkloadRef["kind"];
export const workloadKinds: readonly WorkloadKind[] = ["Deployment", "StatefulSet", "DaemonSet"];

/** Annotation of a workload: the instances of other namespaces that may follow its rollouts, as `namespace/name`, comma-separated. */
export const clearsCacheOfAnnotation = `${apiGroup}/clears-cache-of`;

const deploymentRevisionAnnotation = "deployment.kubernetes.io/revision";
const templateGenerationAnnotation = "deprecated.daemonset.template.generation";
const hashLength = 16;
const consentsMax = 32;

export function typeOfWorkload(kind: WorkloadKind): ResourceType {
  return { group: "apps", version: "v1", plural: `${kind.toLowerCase()}s`, namespaced: true };
}

/** The stored form of a workload. */
export interface WorkloadObject extends KubeObject {
  /** Everything except the fields that depend only on its history. */
  readonly seen: Omit<SeenWorkload, "isRolledOut" | "wasUnderWay">;
  /** `namespace/name` of the instances in other namespaces that may see it. */
  readonly consents: readonly string[];
}

export function slimWorkload(kind: WorkloadKind, object: KubeObject): WorkloadObject {
  const { namespace = "", name, uid, resourceVersion, annotations = {} } = object.metadata;
  const consents = (annotations[clearsCacheOfAnnotation] ?? "").split(",").slice(0, consentsMax);
  return {
    metadata: { namespace, name, uid, resourceVersion },
    seen: seenOf(kind, object),
    consents: consents.map((text) => text.trim()).filter((text) => text !== ""),
  };
}

/** A user who may write an instance must not learn about workloads in other namespaces unless those allow it. */
export function maySee(instance: ObjectName, { metadata, consents }: WorkloadObject): boolean {
  return metadata.namespace === instance.namespace || consents.includes(nameKey(instance));
}

function seenOf(kind: WorkloadKind, object: KubeObject): WorkloadObject["seen"] {
  const { uid, generation = 0, annotations = {} } = object.metadata;
  const spec = fieldOf(object, "spec");
  const isPaused = fieldOf(spec, "paused") === true;
  const progress = progressOf(kind, object);
  if (kind === "StatefulSet") {
    const revision = stageOf(object);
    return { uid, generation, revision, content: revision, isPaused, progress };
  }
  const annotation = kind === "Deployment" ? deploymentRevisionAnnotation : templateGenerationAnnotation;
  const content = hashOf(fieldOf(spec, "template"));
  return { uid, generation, revision: annotations[annotation] ?? "", content, isPaused, progress };
}

/** While a partition excludes pods, the revision and the partition; a partition that excludes all pods changes nothing. */
function stageOf(object: KubeObject): string {
  const spec = fieldOf(object, "spec");
  const status = fieldOf(object, "status");
  const partition = partitionOf(spec);
  const current = textOf(status, "currentRevision");
  const update = textOf(status, "updateRevision");
  if (partition === 0 || update === current) return update;
  return partition >= numberOf(spec, "replicas", 1) ? current : `${update} partition=${partition}`;
}

/** The pods with a lower number keep their revision. */
function partitionOf(spec: unknown): number {
  return numberOf(fieldOf(fieldOf(spec, "updateStrategy"), "rollingUpdate"), "partition");
}

/**
 * Whether a rollout is complete, by the rules of `kubectl rollout status`. Where kubectl ends with an error, the rollout counts as
 * failed or as one that can't be followed.
 */
function progressOf(kind: WorkloadKind, object: KubeObject): RolloutProgress {
  const spec = fieldOf(object, "spec");
  const status = fieldOf(object, "status");
  const count = (name: string): number => numberOf(status, name);
  if (kind !== "Deployment" && fieldOf(fieldOf(spec, "updateStrategy"), "type") !== "RollingUpdate") {
    return { state: "Untracked", message: "Rollouts can only be followed with the update strategy RollingUpdate." };
  }
  const observed = count("observedGeneration");
  if (observed < (object.metadata.generation ?? 0) || (kind === "StatefulSet" && observed === 0)) {
    return progressing("The workload's controller has not observed the change yet.");
  }
  if (kind === "Deployment" && isOverDeadline(status)) {
    return { state: "Failed", message: "The rollout has exceeded its progress deadline." };
  }
  const desired = kind === "DaemonSet" ? count("desiredNumberScheduled") : numberOf(spec, "replicas", 1);
  if (kind === "StatefulSet" && count("readyReplicas") < desired) {
    return progressing(`${count("readyReplicas")} of ${desired} pods are ready.`);
  }
  const updated = count(kind === "DaemonSet" ? "updatedNumberScheduled" : "updatedReplicas");
  const toUpdate = kind === "StatefulSet" ? desired - partitionOf(spec) : desired;
  if (updated < toUpdate) return progressing(`${updated} of ${toUpdate} pods are updated.`);
  if (kind === "Deployment" && count("replicas") > updated) {
    return progressing(`${count("replicas") - updated} old pods have not terminated yet.`);
  }
  if (kind === "Deployment" && count("availableReplicas") < updated) {
    return progressing(`${count("availableReplicas")} of ${updated} updated pods are available.`);
  }
  if (kind === "DaemonSet" && count("numberAvailable") < desired) {
    return progressing(`${count("numberAvailable")} of ${desired} pods are available.`);
  }
  return { state: "Complete", message: "The rollout is complete." };
}

function progressing(message: string): RolloutProgress {
  return { state: "Progressing", message };
}

function isOverDeadline(status: unknown): boolean {
  const conditions = fieldOf(status, "conditions");
  if (!Array.isArray(conditions)) return false;
  const progress = conditions.find((condition: unknown) => fieldOf(condition, "type") === "Progressing") as unknown;
  return fieldOf(progress, "reason") === "ProgressDeadlineExceeded";
}

/** Equal values have equal hashes, whatever the order of fields. */
function hashOf(value: unknown): string {
  const text = JSON.stringify(value, (_key, part: unknown) =>
    isRecord(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
  return hexDigest(text ?? "", hashLength);
}

function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

function numberOf(value: unknown, name: string, otherwise = 0): number {
  const number = fieldOf(value, name);
  return typeof number === "number" ? number : otherwise;
}

function textOf(value: unknown, name: string): string {
  const text = fieldOf(value, name);
  return typeof text === "string" ? text : "";
}
