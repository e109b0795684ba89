// Effects of namespaces without access on an instance, on a real API server: nothing is read for them, and none of their changes
// concerns the instance.
// Long: `npm run test:deploy` runs it.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { ApiRequest, ApiServer } from "../../../src/kube/api-server.ts";
import type { Gathered } from "../../../src/model/gathered.ts";
import { nameKey, type ObjectName } from "../../../src/model/resource.ts";
import { entry, ownedBy, planOf } from "../../support/builders/gathered.ts";
import { createNamespace, waitFor } from "../../support/builders/cluster-objects.ts";
import {
  addresses,
  apiVersion,
  cacheClear,
  configMap,
  instance,
  keySecret,
  type Manifest,
  origin,
  rule,
} from "../../support/builders/manifests.ts";
import { describeWithOwnControlPlane } from "../../support/control-plane/suite.ts";
import { createAll, patchObject } from "../../support/fakes/api-clients.ts";
import { sourceOver, type WatchingSource, watchingSource } from "./watching-source.ts";

const waitMs = 30_000;

await describeWithOwnControlPlane("strangers", (cluster) => {
  let world: WatchingSource;

  beforeAll(async () => {
    world = await watchingSource(cluster);
  });
  afterAll(() => world.close());

  async function created(...manifests: readonly Manifest[]): Promise<void> {
    await createAll(cluster, ...manifests);
    const own = manifests.filter((manifest) => manifest.apiVersion.includes("wafsync"));
    for (const manifest of own) await world.seen(manifest);
  }

  async function anInstance(prefix: string, spec: object = {}): Promise<ObjectName> {
    const namespace = await createNamespace(cluster, prefix);
    const home = instance(namespace, `https://${prefix}.example`, { ...spec });
    await created(keySecret(namespace, `a-key-of-${prefix}`), home);
    return { namespace, name: "waf" };
  }

  function readsOf(text: string): number {
    return world.client.sent.filter((request) => request.includes(text)).length;
  }

  test("a stranger's rules are excluded and report this, and none of its ConfigMaps is ever read", async () => {
    const name = await anInstance("owner");
    const stranger = await createNamespace(cluster, "stranger");
    const instanceRef = { name: "waf", namespace: name.namespace };
    const addressesFrom = [{ configMapKeyRef: { name: "huge", key: "list.txt" } }];
    await created(
      configMap(stranger, "huge", "198.51.100.1\n"),
      rule(stranger, "theirs", ["198.51.100.2"], { instanceRef, addressesFrom }),
      origin(stranger, "theirs", "b.example", { instanceRef }),
      cacheClear(stranger, "theirs", { instanceRef }),
    );
    const { rules, origins, cacheClears } = await world.gather(name);
    expect([rules, origins, cacheClears]).toStrictEqual([[], [], []]);
    const confirmed = await world.source.confirm(name);
    expect(confirmed).toMatchObject({ state: "Read", gathered: { rules: [], origins: [], cacheClears: [] } });
    expect(readsOf("/configmaps/huge")).toBe(0);
    expect(readsOf(`/namespaces/${stranger}/`)).toBe(0);
    const told = world.unattached().filter((object) => object.meta.namespace === stranger);
    expect(told.map((object) => object.reason)).toStrictEqual(["NotAllowed", "NotAllowed", "NotAllowed"]);
    expect(told[0]?.problem).toContain(`does not grant WafIpRule objects to namespace ${stranger}`);
  });

  test("another namespace does not learn the names of instances that resemble its reference", async () => {
    const name = await anInstance("named-like");
    const stranger = await createNamespace(cluster, "guessing");
    const instanceRef = { name: "wav", namespace: name.namespace };
    await created(rule(stranger, "guess", ["198.51.100.2"], { instanceRef }));
    await created(rule(name.namespace, "typo", ["198.51.100.2"], { instanceRef: { name: "wav" } }));
    const problemOf = (namespace: string) =>
      world.unattached().find((object) => object.meta.namespace === namespace)?.problem;
    expect(problemOf(stranger)).toBe(`There is no WafInstance ${name.namespace}/wav.`);
    expect(problemOf(name.namespace)).toBe(`There is no WafInstance ${name.namespace}/wav; did you mean waf?`);
  });

  test("a text of a guest has a limit, and one of the owner has none", async () => {
    const guest = await createNamespace(cluster, "lines");
    const name = await anInstance("limits", { access: [{ namespaces: { from: "Names", names: [guest] } }] });
    const instanceRef = { name: "waf", namespace: name.namespace };
    const from = (...maps: readonly string[]) => ({
      addressesFrom: maps.map((map) => ({ configMapKeyRef: { name: map, key: "list.txt" } })),
    });
    const lines = (count: number, place: number): string => addresses(count, place * count).join("\n");
    await created(
      configMap(name.namespace, "huge", lines(60_000, 0)),
      rule(name.namespace, "huge", [], from("huge")),
      configMap(guest, "huge", lines(60_000, 1)),
      rule(guest, "a-huge", [], { instanceRef, ...from("huge") }),
    );
    const textOf = async (wanted: ObjectName) =>
      (await world.gather(name)).rules.find(({ rule: { meta } }) => nameKey(meta) === nameKey(wanted))?.texts;
    expect(await textOf({ ...name, name: "huge" })).toMatchObject([{ state: "Read" }]);
    expect(await textOf({ namespace: guest, name: "a-huge" })).toMatchObject([
      { state: "Missing", problem: expect.stringContaining("the 65,536 characters that the grant allows") },
    ]);
  });

  test("a slow read of a guest's ConfigMap delays no other rule, and no entry of its rule is removed meanwhile", async () => {
    const guest = await createNamespace(cluster, "slow");
    const name = await anInstance("patient", { access: [{ namespaces: { from: "Names", names: [guest] } }] });
    const addressesFrom = [{ configMapKeyRef: { name: "list", key: "list.txt" } }];
    const instanceRef = { name: "waf", namespace: name.namespace };
    await created(
      configMap(guest, "list", "198.51.100.1\n198.51.100.2\n"),
      rule(guest, "slow", [], { instanceRef, addressesFrom }),
      rule(name.namespace, "urgent", ["203.0.113.1"]),
    );
    const held = holding(world.api, `/namespaces/${guest}/configmaps/list`);
    const late = sourceOver(held.api);
    const stop = new AbortController();
    const ended = late.run(stop.signal);
    await late.watches.whenSynced();
    const ofGuest = ownedBy("198.51.100.2", [`${guest}/slow`], `ConfigMap ${guest}/list, key list.txt`);
    const planFor = (gathered: Gathered | undefined) =>
      planOf({
        gathered: { ...gathered, namespaceLabels: new Map([[guest, {}]]) },
        observed: { blocklist: ["198.51.100.2"] },
        inventory: { blocklist: [ofGuest] },
      });

    const before = planFor(await late.gather(name));
    expect(before.operations).toMatchObject([{ kind: "AddEntry", entry: "203.0.113.1" }]);
    expect(before.inventory.entries.blocklist.has(entry("198.51.100.2"))).toBe(true);
    const problem = `ConfigMap ${guest}/list is still being read.`;
    const slow = (await late.gather(name))?.rules.filter(({ rule: { meta } }) => meta.name === "slow");
    expect(slow).toMatchObject([{ texts: [{ state: "Missing", problem }] }]);

    const version = late.changes.version(name);
    held.release();
    await waitFor("the end of the read", waitMs, async () => (late.changes.version(name) > version ? true : undefined));
    const after = planFor(await late.gather(name));
    const added = after.operations.map((operation) => (operation.kind === "AddEntry" ? String(operation.entry) : ""));
    expect(new Set(added)).toStrictEqual(new Set(["198.51.100.1", "203.0.113.1"]));
    stop.abort();
    await ended;
  });

  test("a fresh read reads only its own namespace if no other has access", async () => {
    const guest = await createNamespace(cluster, "granted");
    const name = await anInstance("named", { access: [{ namespaces: { from: "Names", names: [guest] } }] });
    const instanceRef = { name: "waf", namespace: name.namespace };
    await created(rule(guest, "guest", ["198.51.100.2"], { instanceRef }));
    const listsOf = async (): Promise<{ readonly rules: number; readonly lists: readonly string[] }> => {
      const sent = world.client.sent.length;
      const confirmed = await sourceOver(world.client).confirm(name);
      if (confirmed.state !== "Read") throw new Error(confirmed.problem);
      const lists = world.client.sent.slice(sent).filter((request) => request.endsWith("/wafiprules"));
      return { rules: confirmed.gathered?.rules.length ?? 0, lists };
    };
    expect(await listsOf()).toStrictEqual({ rules: 1, lists: [`GET /apis/${apiVersion}/wafiprules`] });
    const home = instance(name.namespace, "https://named.example");
    await world.seen(home, await patchObject(cluster, home, { spec: { access: null } }));
    const path = `GET /apis/${apiVersion}/namespaces/${name.namespace}/wafiprules`;
    expect(await listsOf()).toStrictEqual({ rules: 0, lists: [path] });
  });
});

/** Holds responses for this path until they are released. */
function holding(api: ApiServer, path: string): { readonly api: ApiServer; readonly release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const request = async <T>(wanted: ApiRequest) => {
    if (wanted.path.endsWith(path)) await promise;
    return await api.request<T>(wanted);
  };
  return {
    api: { request, openStream: async (wanted) => await api.openStream(wanted), close: () => undefined },
    release: resolve,
  };
}
