import { expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import { createApiServer, type ApiServer } from "../../src/kube/api-server.ts";
import { kubeConfigCredentials, loadKubeConfig } from "../../src/kube/credentials.ts";
import type { KubeObject } from "../../src/kube/kube-object.ts";
import { createListWatch, type ListWatch, type ListWatchProblem } from "../../src/kube/list-watch.ts";
import type { ResourceType } from "../../src/kube/resource-path.ts";
import { createObjectStore } from "../../src/kube/store.ts";
import { createObject, deleteObject, listObjects, mergePatchObject } from "../../src/kube/verbs.ts";
import { waitFor } from "../support/builders/cluster-objects.ts";
import { describeWithOwnControlPlane } from "../support/control-plane/suite.ts";
import { slow } from "../support/processes/slowness.ts";

const namespace = "default";
const configMaps: ResourceType = { group: "", version: "v1", plural: "configmaps", namespaced: true };
const definitions: ResourceType = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  namespaced: false,
};
const widgets: ResourceType = { group: "test.dev", version: "v1", plural: "widgets", namespaced: true };

interface Running {
  readonly api: ApiServer;
  readonly listWatch: ListWatch<KubeObject>;
  readonly problems: ListWatchProblem[];
  stop(): Promise<void>;
}

function startListWatch(kubeconfig: string, type: ResourceType): Running {
  const credentials = kubeConfigCredentials(loadKubeConfig({ file: kubeconfig, environment: {} }));
  const api = createApiServer({ credentials, clock: realClock, requestTimeoutMs: slow(5_000) });
  const problems: ListWatchProblem[] = [];
  const listWatch = createListWatch<KubeObject>({
    api,
    clock: realClock,
    random: () => 0,
    type,
    namespace,
    store: createObjectStore(),
    onChange: () => undefined,
    onProblem: (problem) => void problems.push(problem),
  });
  const stopping = new AbortController();
  const running = listWatch.run(stopping.signal);
  return {
    api,
    listWatch,
    problems,
    async stop() {
      stopping.abort();
      await running;
      api.close();
    },
  };
}

const versionsOf = (objects: readonly KubeObject[]): string =>
  objects
    .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`)
    .sort()
    .join("\n");

/** Waits until the store equals a fresh, consistent list. */
async function waitUntilEqual({ api, listWatch }: Running, type: ResourceType): Promise<void> {
  await waitFor("the store to equal a fresh list", 30_000, async () => {
    const fresh = await listObjects(api, type, { namespace });
    const isEqual = fresh.ok && versionsOf(fresh.value.items) === versionsOf(listWatch.store.list());
    return isEqual ? true : undefined;
  });
}

/** Edits as fast as the server accepts them, whatever it responds, until the signal aborts. */
async function editWithoutPause(api: ApiServer, signal: AbortSignal, onAccepted: () => void): Promise<void> {
  for (let round = 0; !signal.aborted; round += 1) {
    const name = `edited-${round % 7}`;
    const body = { data: { round: String(round) } };
    const result =
      round % 5 === 4 ? await deleteObject(api, configMaps, { namespace, name }) : await upsert(api, name, body);
    if (result) onAccepted();
    else await realClock.sleep(20, signal);
  }
}

async function upsert(api: ApiServer, name: string, body: Readonly<Record<string, unknown>>): Promise<boolean> {
  const patched = await mergePatchObject(api, configMaps, { namespace, name }, body);
  if (patched.ok) return true;
  if (patched.fault.code !== "NotFound") return false;
  return (await createObject(api, configMaps, namespace, { metadata: { name }, ...body })).ok;
}

function widgetDefinition(properties: Readonly<Record<string, unknown>>): unknown {
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.test.dev" },
    spec: {
      group: "test.dev",
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}

await describeWithOwnControlPlane("a list-watch of a real API server", (controlPlane) => {
  test("survives kills of the server during edits and equals a fresh list each time", async () => {
    const running = startListWatch(controlPlane.kubeconfig, configMaps);
    expect(await running.listWatch.whenSynced(AbortSignal.timeout(slow(10_000)))).toBe(true);
    for (let kill = 0; kill < 3; kill += 1) {
      const stopEditing = new AbortController();
      const edited = Promise.withResolvers<void>();
      const editing = editWithoutPause(running.api, stopEditing.signal, edited.resolve);
      await edited.promise;
      await controlPlane.restartApiServer("SIGKILL");
      stopEditing.abort();
      await editing;
      await waitUntilEqual(running, configMaps);
    }
    expect(running.problems.map(({ code }) => code)).toContain("Unavailable");
    expect(running.listWatch.health()).toMatchObject({ activity: "Watching" });
    await running.stop();
  });

  test("waits for a kind, follows changes of its schema, and makes few requests when it is removed", async () => {
    const running = startListWatch(controlPlane.kubeconfig, widgets);
    const { api, listWatch } = running;
    await waitFor("the kind to be missed", 10_000, async () =>
      listWatch.health().activity === "WaitingForKind" ? true : undefined,
    );
    await createObject(api, definitions, undefined, widgetDefinition({ color: { type: "string" } }));
    expect(await listWatch.whenSynced(AbortSignal.timeout(slow(40_000)))).toBe(true);
    const widget = { apiVersion: "test.dev/v1", kind: "Widget" };
    for (const name of ["a", "b"]) await createObject(api, widgets, namespace, { ...widget, metadata: { name } });
    const [version] = (
      widgetDefinition({ color: { type: "string" }, size: { type: "string" } }) as {
        spec: { versions: unknown[] };
      }
    ).spec.versions;
    await mergePatchObject(api, definitions, { name: "widgets.test.dev" }, { spec: { versions: [version] } });
    await mergePatchObject(api, widgets, { namespace, name: "a" }, { spec: { color: "blue" } });
    await waitUntilEqual(running, widgets);
    expect(listWatch.store.size).toBe(2);
    await deleteObject(api, definitions, { name: "widgets.test.dev" });
    await waitFor("the kind to be missed again", 30_000, async () =>
      listWatch.health().activity === "WaitingForKind" ? true : undefined,
    );
    expect(listWatch.store.size).toBe(0);
    await running.stop();
  });
});
