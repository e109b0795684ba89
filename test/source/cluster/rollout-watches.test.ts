import { afterEach, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import { createApiServer } from "../../../src/kube/api-server.ts";
import { clusterCredentials } from "../../support/builders/cluster-credentials.ts";
import type { DeclaredInstance, WorkloadRef } from "../../../src/model/declared.ts";
import type { WorkloadSight } from "../../../src/model/workload.ts";
import { RolloutWatches } from "../../../src/source/cluster/rollout-watches.ts";
import { waitFor } from "../../support/builders/cluster-objects.ts";
import { anInstance } from "../../support/builders/declare.ts";
import { scriptedStream, startScriptedApiServer } from "../../support/fakes/scripted-api-server.ts";
import type { ScriptedStream, TestObject } from "../../support/fakes/scripted-api-server.ts";
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
  readonly watches: RolloutWatches;
  instances: DeclaredInstance[] = [];

  constructor(server: ScriptedServer, namespace?: string) {
    this.server = server;
    const api = createApiServer({ credentials: clusterCredentials({ server: server.baseUrl }), clock: realClock });
    this.watches = new RolloutWatches({
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

  /** Each kind is served by a stream that the test writes to. */
  static async begin(namespace?: string): Promise<World> {
    const server = await startScriptedApiServer();
    const world = new World(server, namespace);
    server.answers((request, response) => {
      const stream = scriptedStream();
      world.streams.set(request.path, stream);
      stream.answer(request, response);
    });
    return world;
  }

  declare(...instances: readonly (readonly [string, readonly WorkloadRef[]])[]): void {
    this.instances = instances.map(([name, afterRolloutOf]) =>
      anInstance({ name, cacheClear: { afterRolloutOf, minIntervalMs: 0 } }),
    );
    for (const instance of this.instances) this.watches.sightsOf(instance);
  }

  async stream(plural: string): Promise<ScriptedStream> {
    const find = async () => this.streams.get(`/apis/apps/v1/${plural}`);
    return await waitFor(`a watch of ${plural}`, patienceMs, find);
  }

  sight(instance = 0): WorkloadSight {
    const [sight] = this.watches.sightsOf(this.instances[instance] as DeclaredInstance);
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
  expect(world.server.requests.map(({ path }) => path).toSorted()).toStrictEqual([
    "/apis/apps/v1/daemonsets",
    "/apis/apps/v1/deployments",
  ]);
});

test("An instance is notified of a new revision and its completion, but not of pods or of workloads that only others list", async () => {
  const world = await World.begin();
  world.declare(["edge/a", [web]]);
  expect(world.sight()).toMatchObject({
    rollout: undefined,
    message: "The Deployment objects have not been listed yet.",
  });
  const stream = await world.stream("deployments");
  stream.event("ADDED", deployment({ version: 1, revision: "1", available: 2 }));
  stream.endInitialEvents(1);
  await world.sees(`"id":"web/1"`, `"isComplete":true`);
  await waitFor("the first news", patienceMs, async () => (world.told.length > 0 ? true : undefined));
  expect(world.takeTold()).toStrictEqual(["a"]);

  stream.event("MODIFIED", deployment({ version: 2, revision: "1", available: 2, replicas: 5 }));
  stream.event("ADDED", deployment({ name: "other", version: 3, revision: "1", available: 0 }));
  stream.event("MODIFIED", deployment({ version: 4, revision: "1", available: 4, replicas: 5 }));
  await world.sees("4 of 5 pods are ready.");
  expect(world.takeTold()).toStrictEqual(["a"]);

  stream.event("MODIFIED", deployment({ version: 5, revision: "2", available: 0 }));
  stream.event("MODIFIED", deployment({ version: 6, revision: "2", available: 1 }));
  stream.event("MODIFIED", deployment({ version: 7, revision: "2", available: 2 }));
  await world.sees(`"id":"web/2"`, `"isComplete":true`);
  expect(world.takeTold()).toStrictEqual(["a", "a"]);

  stream.event("DELETED", deployment({ version: 8, revision: "2", available: 2 }));
  await world.sees("There is no Deployment web in namespace edge.");
  expect(world.takeTold()).toStrictEqual(["a"]);
});

test("A workload elsewhere that does not allow access looks missing, and is seen as soon as it does", async () => {
  const world = await World.begin();
  world.declare(["tenant/waf", [web]]);
  const stream = await world.stream("deployments");
  stream.endInitialEvents(1);
  await world.sees("There is no Deployment edge/web, or its annotation");
  const none = world.sight();
  stream.event("ADDED", deployment({ version: 2, revision: "1", available: 0, agrees: "tenant/other" }));
  stream.event("MODIFIED", deployment({ version: 3, revision: "1", available: 2, agrees: "tenant/other" }));
  await waitFor("news", patienceMs, async () => (world.told.length >= 2 ? true : undefined));
  expect(world.sight()).toStrictEqual(none);
  stream.event("MODIFIED", deployment({ version: 4, revision: "1", available: 2, agrees: "tenant/other, tenant/waf" }));
  await world.sees(`"isComplete":true`);
});
