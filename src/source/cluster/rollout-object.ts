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
import type { SeenWorkload } from "../../model/workload.ts";
import { decideProgress, type WorkloadNumbers } from "../../plan/cache-clear/rollout-status.ts";

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
  const { uid, generation = 0 } = object.metadata;
  const spec = fieldOf(object, "spec");
  const numbers = numbersOf(kind, object);
  const template = hashOf(fieldOf(spec, "template"));
  const { revision, content = template } = revisionOf(kind, object, numbers);
  const isPaused = fieldOf(spec, "paused") === true;
  return { uid, generation, revision, content, isPaused, progress: decideProgress(numbers) };
}

function revisionOf(
  kind: WorkloadKind,
  object: KubeObject,
  numbers: WorkloadNumbers,
): { readonly revision: string; readonly content?: string } {
  const { annotations = {} } = object.metadata;
  if (numbers.kind === "StatefulSet") {
    const stage = stageOf(fieldOf(object, "status"), numbers);
    return { revision: stage, content: stage };
  }
  const annotation = kind === "Deployment" ? deploymentRevisionAnnotation : templateGenerationAnnotation;
  return { revision: annotations[annotation] ?? "" };
}

/** While a partition excludes pods, the revision and the partition; a partition that excludes all pods changes nothing. */
function stageOf(
  status: unknown,
  { partition, desiredReplicas }: { partition: number; desiredReplicas: number },
): string {
  const current = textOf(status, "currentRevision");
  const update = textOf(status, "updateRevision");
  if (partition === 0 || update === current) return update;
  return partition >= desiredReplicas ? current : `${update} partition=${partition}`;
}

function numbersOf(kind: WorkloadKind, object: KubeObject): WorkloadNumbers {
  const spec = fieldOf(object, "spec");
  const status = fieldOf(object, "status");
  const generations = {
    generation: object.metadata.generation ?? 0,
    observedGeneration: numberOf(status, "observedGeneration"),
  };
  const updatedReplicas = numberOf(status, "updatedReplicas");
  const desiredReplicas = numberOf(spec, "replicas", 1);
  const isRollingUpdate = fieldOf(fieldOf(spec, "updateStrategy"), "type") === "RollingUpdate";
  switch (kind) {
    case "Deployment":
      return {
        kind,
        ...generations,
        desiredReplicas,
        replicas: numberOf(status, "replicas"),
        updatedReplicas,
        availableReplicas: numberOf(status, "availableReplicas"),
        isOverDeadline: isOverDeadline(status),
      };
    case "StatefulSet": {
      const rollingUpdate = fieldOf(fieldOf(spec, "updateStrategy"), "rollingUpdate");
      const partition = numberOf(rollingUpdate, "partition");
      const readyReplicas = numberOf(status, "readyReplicas");
      return { kind, ...generations, isRollingUpdate, desiredReplicas, readyReplicas, updatedReplicas, partition };
    }
    case "DaemonSet":
      return {
        kind,
        ...generations,
        isRollingUpdate,
        desiredPods: numberOf(status, "desiredNumberScheduled"),
        updatedPods: numberOf(status, "updatedNumberScheduled"),
        availablePods: numberOf(status, "numberAvailable"),
      };
  }
}

function isOverDeadline(status: unknown): boolean {
  const conditions = fieldOf(status, "conditions");
  if (!Array.isArray(conditions)) return false;
  const progressing = conditions.find((condition: unknown) => fieldOf(condition, "type") === "Progressing") as unknown;
  return fieldOf(progressing, "reason") === "ProgressDeadlineExceeded";
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
