import { describe, expect, test } from "@jest/globals";
import type { KubeObject } from "../../../src/kube/kube-object.ts";
import type { WorkloadKind } from "../../../src/source/cluster/rollout-object.ts";
import { maySee, slimWorkload } from "../../../src/source/cluster/rollout-object.ts";

interface Parts {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly generation?: number;
  readonly spec?: object;
  readonly status?: object;
}

const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "one" }] } };

function anObject({ annotations = {}, generation = 1, spec = {}, status = {} }: Parts = {}): KubeObject {
  const metadata = { namespace: "shop", name: "web", uid: "u-1", resourceVersion: "7", generation, annotations };
  return { metadata, spec: { replicas: 2, template, ...spec }, status } as KubeObject;
}

function revisionOf(kind: WorkloadKind, parts: Parts): string {
  return slimWorkload(kind, anObject(parts)).rollout.id.replace("u-1/", "");
}

describe("The stored form of a workload", () => {
  test("is small, and contains the progress of its rollout", () => {
    const status = { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 1 };
    const slim = slimWorkload("Deployment", anObject({ annotations: { note: "x".repeat(10_000) }, status }));
    expect(JSON.stringify(slim).length).toBeLessThan(600);
    expect(slim).toMatchObject({ rollout: { isComplete: false }, message: "1 of 2 pods are ready." });
  });
});

describe("A rollout is judged as by kubectl rollout status", () => {
  const generations = { generation: 2, observedGeneration: 2 };
  const pods = { ...generations, readyReplicas: 3, replicas: 3, updatedReplicas: 3, availableReplicas: 3 };
  const daemonPods = { ...generations, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3 };
  const late = { conditions: [{ type: "Progressing", reason: "ProgressDeadlineExceeded" }] };

  test.each([
    ["a complete Deployment", "Deployment", pods, "Complete"],
    ["a Deployment whose change was not observed", "Deployment", { ...pods, generation: 3 }, "Progressing"],
    ["a Deployment with too few updated pods", "Deployment", { ...pods, updatedReplicas: 2 }, "Progressing"],
    ["a Deployment with old pods", "Deployment", { ...pods, replicas: 4 }, "Progressing"],
    ["a Deployment with unavailable pods", "Deployment", { ...pods, availableReplicas: 2 }, "Progressing"],
    ["a Deployment beyond its deadline", "Deployment", { ...pods, updatedReplicas: 1, ...late }, "Progressing"],
    ["a Deployment scaled to nothing", "Deployment", { ...generations, wanted: 0 }, "Complete"],
    ["a complete StatefulSet", "StatefulSet", pods, "Complete"],
    [
      "a StatefulSet that was never observed",
      "StatefulSet",
      { ...pods, generation: 0, observedGeneration: 0 },
      "Progressing",
    ],
    ["a StatefulSet whose change was not observed", "StatefulSet", { ...pods, generation: 3 }, "Progressing"],
    ["a StatefulSet with pods that are not ready", "StatefulSet", { ...pods, readyReplicas: 2 }, "Progressing"],
    ["a StatefulSet with too few updated pods", "StatefulSet", { ...pods, updatedReplicas: 2 }, "Progressing"],
    [
      "a StatefulSet updated down to its partition",
      "StatefulSet",
      { ...pods, updatedReplicas: 1, partition: 2 },
      "Complete",
    ],
    ["a StatefulSet that is updated by deletion", "StatefulSet", { ...pods, type: "OnDelete" }, "Progressing"],
    ["a complete DaemonSet", "DaemonSet", daemonPods, "Complete"],
    ["a DaemonSet whose change was not observed", "DaemonSet", { ...daemonPods, generation: 3 }, "Progressing"],
    ["a DaemonSet with too few updated pods", "DaemonSet", { ...daemonPods, updatedNumberScheduled: 2 }, "Progressing"],
    ["a DaemonSet with unavailable pods", "DaemonSet", { ...daemonPods, numberAvailable: 2 }, "Progressing"],
    ["a DaemonSet that is updated by deletion", "DaemonSet", { ...daemonPods, type: "OnDelete" }, "Progressing"],
  ] as const)("%s", (title, kind, parts, state) => {
    const { generation, ...status } = parts;
    const {
      wanted = 3,
      partition = 0,
      type = "RollingUpdate",
    } = parts as Readonly<Record<string, number>> & { type?: string };
    const spec = { replicas: wanted, updateStrategy: { type, rollingUpdate: { partition } } };
    const { rollout, message } = slimWorkload(kind, anObject({ generation, spec, status }));
    expect(rollout.isComplete).toBe(state === "Complete");
    expect(rollout.isUnobserved).toBe(/not observed|never observed/.test(title) ? true : undefined);
    expect(message).toMatch(rollout.isComplete ? /^$/ : /^[A-Z0-9].*\.$/);
  });
});

describe("The revision", () => {
  test("of a StatefulSet is its update revision, and with a partition, each stage that changes pods has a separate one", () => {
    const of = (partition: number, currentRevision: string, updateRevision: string): string => {
      const spec = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } } };
      return revisionOf("StatefulSet", { spec, status: { currentRevision, updateRevision } });
    };
    expect(of(0, "web-1", "web-1")).toBe("web-1");
    expect(of(0, "web-1", "web-2")).toBe("web-2");
    expect(of(2, "web-1", "web-2")).toBe("web-1");
    expect(of(1, "web-1", "web-2")).toBe("web-2 partition=1");
    expect(of(1, "web-2", "web-2")).toBe("web-2");
  });
});

describe("An instance", () => {
  test("may see the workloads of its own namespace, and those elsewhere that allow it", () => {
    const agreeing = { "wafsync.dev/clears-cache-of": "edge/waf, edge/other" };
    const web = slimWorkload("Deployment", anObject({ annotations: agreeing }));
    expect(maySee({ namespace: "shop", name: "any" }, web)).toBe(true);
    expect(maySee({ namespace: "edge", name: "waf" }, web)).toBe(true);
    expect(maySee({ namespace: "edge", name: "third" }, web)).toBe(false);
    expect(maySee({ namespace: "edge", name: "waf" }, slimWorkload("Deployment", anObject()))).toBe(false);
  });
});
