import { describe, expect, test } from "@jest/globals";
import type { KubeObject } from "../../../src/kube/kube-object.ts";
import type { WorkloadKind } from "../../../src/source/cluster/rollout-object.ts";
import { maySee, slimWorkload, typeOfWorkload } from "../../../src/source/cluster/rollout-object.ts";

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

function revisionOf(kind: WorkloadKind, parts: Parts) {
  const { revision, content } = slimWorkload(kind, anObject(parts)).seen;
  return { revision, content };
}

describe("The stored form of a workload", () => {
  test("is small, and contains the progress of its rollout", () => {
    const status = { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 1 };
    const slim = slimWorkload("Deployment", anObject({ annotations: { note: "x".repeat(10_000) }, status }));
    expect(JSON.stringify(slim).length).toBeLessThan(600);
    expect(slim.seen.progress).toStrictEqual({ state: "Progressing", message: "1 of 2 updated pods are available." });
  });

  test("tolerates a malformed object", () => {
    for (const kind of ["Deployment", "StatefulSet", "DaemonSet"] as const) {
      const metadata = { namespace: "shop", name: "web", uid: "u-1", resourceVersion: "7" };
      for (const odd of [{}, { spec: [], status: "no" }, { spec: null, status: { conditions: [null, 1] } }]) {
        expect(slimWorkload(kind, { metadata, ...odd }).seen.isPaused).toBe(false);
      }
      expect(typeOfWorkload(kind)).toMatchObject({ group: "apps", version: "v1" });
    }
  });
});

describe("The revision", () => {
  test("of a Deployment is its controller's count, and its content is the template in any order of fields", () => {
    const annotations = { "deployment.kubernetes.io/revision": "3" };
    const { revision, content } = revisionOf("Deployment", { annotations });
    expect(revision).toBe("3");
    expect(revisionOf("Deployment", { annotations, spec: { replicas: 9 }, generation: 4 })).toStrictEqual({
      revision,
      content,
    });
    const reordered = { spec: { ...template.spec }, metadata: { ...template.metadata } };
    expect(revisionOf("Deployment", { annotations, spec: { template: reordered } }).content).toBe(content);
    const other = { ...template, spec: { containers: [{ name: "main", image: "two" }] } };
    expect(revisionOf("Deployment", { annotations, spec: { template: other } }).content).not.toBe(content);
  });

  test("of a DaemonSet is the generation of its template", () => {
    const annotations = { "deprecated.daemonset.template.generation": "5" };
    expect(revisionOf("DaemonSet", { annotations, generation: 9 }).revision).toBe("5");
  });

  test("of a StatefulSet is its update revision, and with a partition, each stage that changes pods has a separate one", () => {
    const of = (partition: number, currentRevision: string, updateRevision: string): string => {
      const spec = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } } };
      const seen = revisionOf("StatefulSet", { spec, status: { currentRevision, updateRevision } });
      expect(seen.content).toBe(seen.revision);
      return seen.revision;
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
