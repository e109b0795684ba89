import { afterEach, describe, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import { createApiServer } from "../../../src/kube/api-server.ts";
import type { KubeObject } from "../../../src/kube/kube-object.ts";
import { clusterCredentials } from "../../support/builders/cluster-credentials.ts";
import type { DeclaredInstance, WorkloadRef } from "../../../src/model/declared.ts";
import type { ObservedWorkload } from "../../../src/model/gathered.ts";
import { Rollouts, storedWorkload } from "../../../src/source/cluster/rollouts.ts";
import { waitFor } from "../../support/builders/cluster-objects.ts";
import { anInstance } from "../../support/builders/declare.ts";
import {
  listed,
  scriptedStream,
  type ScriptedStream,
  startScriptedApiServer,
  type TestObject,
} from "../../support/fakes/scripted-api-server.ts";
import type { ScriptedServer } from "../../support/fakes/scripted-server.ts";

const patienceMs = 30_000;
const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface Deployment {
  readonly name?: string;
  readonly version: number;
  readonly revision: string;
  readonly available: number;
  readonly replicas?: number;
  readonly agrees?: string;
}

/** A Deployment in the namespace `edge` with two pods, of which this many are available. */
function deployment({ name = "web", version, revision, available, replicas = 2, agrees }: Deployment): TestObject {
  const annotations = {
    "deployment.kubernetes.io/revision": revision,
    ...(agrees === undefined ? {} : { "wafsync.dev/clears-cache-of": agrees }),
  };
  const metadata = { namespace: "edge", name, uid: name, resourceVersion: String(version), generation: 1, annotations };
  const spec = { replicas, template: { revision } };
  const status = { observedGeneration: 1, replicas, updatedReplicas: replicas, availableReplicas: available };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata, spec, status } as unknown as TestObject;
}

class World {
  readonly streams = new Map<string, ScriptedStream>();
  readonly told: string[] = [];
  readonly problems: string[] = [];
  readonly server: ScriptedServer;
  readonly watches: Rollouts;
  instances: DeclaredInstance[] = [];

  constructor(server: ScriptedServer, namespace?: string) {
    this.server = server;
    const api = createApiServer({ credentials: clusterCredentials({ server: server.baseUrl }), clock: realClock });
    this.watches = new Rollouts({
      api,
      clock: realClock,
      random: () => 0.5,
      namespace,
      instances: () => this.instances,
      onRollout: ({ name }) => this.told.push(name),
      onProblem: (plural, { code }) => this.problems.push(`${plural} ${code}`),
    });
    const ending = new AbortController();
    const running = this.watches.run(ending.signal);
    cleanUps.push(
      () => server.stop(),
      async () => api.close(),
      async () => {
        ending.abort();
        await running;
      },
    );
  }

  /** Each kind is served by a list with these objects, and a stream that the test writes to. */
  static async begin(namespace?: string, ...objects: readonly TestObject[]): Promise<World> {
    const server = await startScriptedApiServer();
    const world = new World(server, namespace);
    server.answers((request, response) => {
      if (request.query["watch"] === undefined) return listed(objects, 1)(request, response);
      const stream = scriptedStream();
      world.streams.set(request.path, stream);
      return stream.answer(request, response);
    });
    return world;
  }

  declare(...instances: readonly (readonly [string, readonly WorkloadRef[]])[]): void {
    this.instances = instances.map(([name, afterRolloutOf]) =>
      anInstance({ name, cacheClear: { afterRolloutOf, minIntervalMs: 0 } }),
    );
    for (const instance of this.instances) this.watches.of(instance);
  }

  async stream(plural: string): Promise<ScriptedStream> {
    const find = async () => this.streams.get(`/apis/apps/v1/${plural}`);
    return await waitFor(`a watch of ${plural}`, patienceMs, find);
  }

  sight(instance = 0): ObservedWorkload {
    const [sight] = this.watches.of(this.instances[instance] as DeclaredInstance);
    if (sight === undefined) throw new Error("no workload is listed");
    return sight;
  }

  /** Waits until the first instance's information about the workload contains this text. */
  async sees(...texts: readonly string[]): Promise<void> {
    const look = async () => {
      const text = JSON.stringify(this.sight());
      return texts.every((part) => text.includes(part)) ? true : undefined;
    };
    await waitFor(texts.join(" and "), patienceMs, look);
  }

  takeTold(): string[] {
    return this.told.splice(0);
  }
}

const web: WorkloadRef = { kind: "Deployment", namespace: "edge", name: "web" };

test("A kind is watched only if an instance lists a workload of it", async () => {
  const world = await World.begin();
  world.declare(["edge/a", []], ["edge/b", [web]]);
  await world.stream("deployments");
  world.declare(["edge/a", [{ ...web, kind: "DaemonSet" }]], ["edge/b", [web]]);
  await world.stream("daemonsets");
  expect(new Set(world.server.requests.map(({ path }) => path))).toStrictEqual(
    new Set(["/apis/apps/v1/deployments", "/apis/apps/v1/daemonsets"]),
  );
});

test("An instance is notified of a new revision and its completion, but not of pods or of workloads that only others list", async () => {
  const world = await World.begin(undefined, deployment({ version: 1, revision: "1", available: 2 }));
  world.declare(["edge/a", [web]]);
  expect(world.sight()).toMatchObject({
    state: "NotSeen",
    why: "The Deployment objects have not been listed yet.",
  });
  const stream = await world.stream("deployments");
  await world.sees(`"rollout":"web/1"`, `"state":"Complete"`);
  await waitFor("the first news", patienceMs, async () => (world.told.length > 0 ? true : undefined));
  expect(world.takeTold()).toStrictEqual(["a"]);

  stream.event("MODIFIED", deployment({ version: 2, revision: "1", available: 2, replicas: 5 }));
  stream.event("ADDED", deployment({ name: "other", version: 3, revision: "1", available: 0 }));
  stream.event("MODIFIED", deployment({ version: 4, revision: "1", available: 4, replicas: 5 }));
  await world.sees(`"rollout":"web/1"`, `"state":"RollingOut"`);
  expect(world.takeTold()).toStrictEqual(["a"]);

  stream.event("MODIFIED", deployment({ version: 5, revision: "2", available: 0 }));
  stream.event("MODIFIED", deployment({ version: 6, revision: "2", available: 1 }));
  stream.event("MODIFIED", deployment({ version: 7, revision: "2", available: 2 }));
  await world.sees(`"rollout":"web/2"`, `"state":"Complete"`);
  expect(world.takeTold()).toStrictEqual(["a", "a"]);

  stream.event("DELETED", deployment({ version: 8, revision: "2", available: 2 }));
  await world.sees("There is no Deployment web in namespace edge.");
  expect(world.takeTold()).toStrictEqual(["a"]);
});

test("A workload elsewhere that does not allow access looks missing, and is seen as soon as it does", async () => {
  const world = await World.begin();
  world.declare(["tenant/waf", [web]]);
  const stream = await world.stream("deployments");
  await world.sees("There is no Deployment edge/web, or its annotation");
  const none = world.sight();
  stream.event("ADDED", deployment({ version: 2, revision: "1", available: 0, agrees: "tenant/other" }));
  stream.event("MODIFIED", deployment({ version: 3, revision: "1", available: 2, agrees: "tenant/other" }));
  await waitFor("news", patienceMs, async () => (world.told.length >= 2 ? true : undefined));
  expect(world.sight()).toStrictEqual(none);
  stream.event("MODIFIED", deployment({ version: 4, revision: "1", available: 2, agrees: "tenant/other, tenant/waf" }));
  await world.sees(`"state":"Complete"`);
});

/** The stored form of a workload, without its name. */
function stored(kind: WorkloadRef["kind"], { generation = 1, annotations = {}, replicas = 3, ...status }) {
  const metadata = { namespace: "shop", name: "web", uid: "u-1", resourceVersion: "7", generation, annotations };
  const { metadata: _, ...rest } = storedWorkload(kind, { metadata, spec: { replicas }, status } as KubeObject);
  return rest;
}

describe("A rollout is judged as by kubectl rollout status", () => {
  const generations = { generation: 2, observedGeneration: 2 };
  const pods = { ...generations, readyReplicas: 3, updatedReplicas: 3, availableReplicas: 3 };
  const daemonPods = { ...generations, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3 };

  test.each([
    ["a complete Deployment", "Deployment", pods, "Complete"],
    ["a Deployment whose change was not observed", "Deployment", { ...pods, generation: 3 }, "Unobserved"],
    ["a Deployment with too few updated pods", "Deployment", { ...pods, updatedReplicas: 2 }, "RollingOut"],
    ["a Deployment with unavailable pods", "Deployment", { ...pods, availableReplicas: 2 }, "RollingOut"],
    ["a Deployment scaled to nothing", "Deployment", { ...generations, replicas: 0 }, "Complete"],
    ["a complete StatefulSet", "StatefulSet", pods, "Complete"],
    [
      "a StatefulSet that was never observed",
      "StatefulSet",
      { ...pods, generation: 0, observedGeneration: 0 },
      "Unobserved",
    ],
    ["a StatefulSet with pods that are not ready", "StatefulSet", { ...pods, readyReplicas: 2 }, "RollingOut"],
    ["a StatefulSet updated down to its partition", "StatefulSet", { ...pods, updatedReplicas: 1 }, "RollingOut"],
    ["a complete DaemonSet", "DaemonSet", daemonPods, "Complete"],
    ["a DaemonSet with too few updated pods", "DaemonSet", { ...daemonPods, updatedNumberScheduled: 2 }, "RollingOut"],
    ["a DaemonSet with unavailable pods", "DaemonSet", { ...daemonPods, numberAvailable: 2 }, "RollingOut"],
  ] as const)("%s", (_title, kind, parts, state) => {
    expect(stored(kind, parts).state).toBe(state);
  });

  test("a Deployment with old pods", () => {
    const metadata = { namespace: "shop", name: "web", uid: "u-1", resourceVersion: "7", generation: 2 };
    const status = { ...pods, replicas: 4 };
    expect(storedWorkload("Deployment", { metadata, spec: { replicas: 3 }, status } as KubeObject).state).toBe(
      "RollingOut",
    );
  });
});

test("The stored form of a workload is small, and contains its revision and consents", () => {
  const annotations = {
    note: "x".repeat(10_000),
    "deployment.kubernetes.io/revision": "2",
    "deprecated.daemonset.template.generation": "3",
    "wafsync.dev/clears-cache-of": "edge/waf, edge/other",
  };
  const deployment = stored("Deployment", { annotations });
  expect(deployment).toStrictEqual({ rollout: "u-1/2", state: "Unobserved", consents: ["edge/waf", "edge/other"] });
  expect(stored("StatefulSet", { updateRevision: "web-7" }).rollout).toBe("u-1/web-7");
  expect(stored("DaemonSet", { annotations }).rollout).toBe("u-1/3");
});
