// Effects of namespaces without access on an instance, on a real API server: nothing is read for them, none of their changes
// concerns the instance, and a fresh read does not request their objects.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import type { ApiRequest, ApiServer } from "../../../src/kube/api-server.ts";
import type { DeclaredFeed } from "../../../src/model/declared-feed.ts";
import type { Gathered } from "../../../src/model/gathered.ts";
import { nameKey, type ObjectName, type ResourceKind } from "../../../src/model/resource.ts";
import type { ClusterSource } from "../../../src/source/cluster/cluster-source.ts";
import { createClusterSource } from "../../../src/source/cluster/cluster-source.ts";
import { entry, ownedBy, planOf } from "../../support/builders/gathered.ts";
import { createNamespace, installDefinitions, waitFor } from "../../support/builders/cluster-objects.ts";
import type { Manifest } from "../../support/builders/manifests.ts";
import {
  addresses,
  apiVersion,
  cacheClear,
  configMap,
  instance,
  keySecret,
  origin,
  rule,
} from "../../support/builders/manifests.ts";
import { describeWithOwnControlPlane } from "../../support/control-plane/suite.ts";
import type { WatchedClient } from "../../support/fakes/api-clients.ts";
import { apiClient, createAll, deleteManifest, patchObject, watchedClient } from "../../support/fakes/api-clients.ts";

const waitMs = 30_000;

await describeWithOwnControlPlane("strangers", (cluster) => {
  let api: ApiServer;
  let client: WatchedClient;
  let source: ClusterSource;
  let running: Promise<void>;
  const end = new AbortController();
  let unattachedChanges = 0;
  let feedChanges = 0;

  beforeAll(async () => {
    await installDefinitions(cluster);
    api = apiClient(cluster);
    client = watchedClient(api);
    source = createClusterSource({
      ...quiet(client),
      onUnattachedChange: () => void (unattachedChanges += 1),
      onFeedChange: () => void (feedChanges += 1),
    });
    running = source.run(end.signal);
    await source.whenSynced();
  });
  afterAll(async () => {
    end.abort();
    await running;
    api.close();
  });

  /** Waits until the watch shows the object in this version. */
  async function seen({ kind, metadata }: Manifest, written: unknown): Promise<void> {
    const { resourceVersion } = (written as { metadata: { resourceVersion: string } }).metadata;
    const ref = { kind: kind as ResourceKind, ...metadata };
    await waitFor(`${kind} ${metadata.name}`, waitMs, async () =>
      source.objectOf(ref)?.metadata.resourceVersion === resourceVersion ? true : undefined,
    );
  }

  async function created(...manifests: readonly Manifest[]): Promise<void> {
    await createAll(cluster, ...manifests);
    for (const manifest of manifests.filter(({ apiVersion }) => apiVersion.includes("wafsync"))) {
      const ref = { kind: manifest.kind as ResourceKind, ...manifest.metadata };
      await waitFor(manifest.metadata.name, waitMs, async () => source.objectOf(ref));
    }
  }

  async function anInstance(prefix: string, spec: object = {}): Promise<ObjectName> {
    const namespace = await createNamespace(cluster, prefix);
    const home = instance(namespace, `https://${prefix}.example`, { ...spec });
    await created(keySecret(namespace, `a-key-of-${prefix}`), home);
    return { namespace, name: "waf" };
  }

  async function gather(name: ObjectName): Promise<Gathered> {
    const gathered = await source.gather(name);
    if (gathered === undefined) throw new Error("there is no such instance");
    return gathered;
  }

  function readsOf(text: string): number {
    return client.sent.filter((request) => request.includes(text)).length;
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
    const { rules, origins, cacheClears } = await gather(name);
    expect([rules, origins, cacheClears]).toStrictEqual([[], [], []]);
    const confirmed = await source.confirm(name);
    expect(confirmed).toMatchObject({ state: "Read", gathered: { rules: [], origins: [], cacheClears: [] } });
    expect(readsOf("/configmaps/huge")).toBe(0);
    expect(readsOf(`/namespaces/${stranger}/`)).toBe(0);
    const told = [...source.unattached()].filter((object) => object?.meta.namespace === stranger);
    expect(told.map((object) => object?.reason)).toStrictEqual(["NotAllowed", "NotAllowed", "NotAllowed"]);
    expect(told[0]?.problem).toContain(`does not grant access to namespace ${stranger}`);
  });

  test("another namespace does not learn the names of instances that resemble its reference", async () => {
    const name = await anInstance("named-like");
    const stranger = await createNamespace(cluster, "guessing");
    const instanceRef = { name: "wav", namespace: name.namespace };
    await created(rule(stranger, "guess", ["198.51.100.2"], { instanceRef }));
    await created(rule(name.namespace, "typo", ["198.51.100.2"], { instanceRef: { name: "wav" } }));
    const problemOf = (namespace: string) =>
      [...source.unattached()].find((object) => object?.meta.namespace === namespace)?.problem;
    expect(problemOf(stranger)).toBe(`There is no WafInstance ${name.namespace}/wav.`);
    expect(problemOf(name.namespace)).toBe(`There is no WafInstance ${name.namespace}/wav; did you mean waf?`);
  });

  test("no change by a stranger is a change of the instance", async () => {
    const name = await anInstance("quiet");
    const stranger = await createNamespace(cluster, "busy");
    const spec = { instanceRef: { name: "waf", namespace: name.namespace } };
    const theirs = rule(stranger, "theirs", ["198.51.100.2"], spec);
    const version = source.version(name);
    await created(theirs);
    await seen(theirs, await patchObject(cluster, theirs, { metadata: { labels: { storm: "1" } } }));
    const annotations = { "wafsync.dev/requested-at": "now" };
    await seen(theirs, await patchObject(cluster, theirs, { metadata: { annotations } }));
    const before = unattachedChanges;
    await seen(theirs, await patchObject(cluster, theirs, { spec: { addresses: ["198.51.100.3"] } }));
    await deleteManifest(cluster, theirs);
    await waitFor("the end of it", waitMs, async () =>
      source.objectOf({ kind: "WafIpRule", ...theirs.metadata }) === undefined ? true : undefined,
    );
    expect(source.version(name)).toBe(version);
    expect(unattachedChanges).toBe(before + 2);
  });

  test("a former guest's change is no change either, although its deleted object was attached", async () => {
    const name = await anInstance("former", { access: [{ namespaces: { from: "All" } }] });
    const guest = await createNamespace(cluster, "former-guest");
    const theirs = rule(guest, "theirs", ["198.51.100.2"], {
      instanceRef: { name: "waf", namespace: name.namespace },
    });
    await created(theirs);
    expect((await gather(name)).rules).toHaveLength(1);
    await deleteManifest(cluster, theirs);
    await waitFor("the end of it", waitMs, async () =>
      source.objectOf({ kind: "WafIpRule", ...theirs.metadata }) === undefined ? true : undefined,
    );
    const home = instance(name.namespace, "https://former.example");
    await seen(home, await patchObject(cluster, home, { spec: { access: null } }));
    const version = source.version(name);
    await created(theirs);
    await seen(theirs, await patchObject(cluster, theirs, { spec: { addresses: ["198.51.100.3"] } }));
    expect(source.version(name)).toBe(version);
  });

  test("a feed is used only by attached rules whose namespaces it allows, and changes only their instances", async () => {
    const user = await anInstance("feed-user");
    const other = await anInstance("feed-other");
    const stranger = await createNamespace(cluster, "feed-stranger");
    const addressesFrom = [{ feedRef: { name: "threats" } }];
    const borrowed = [{ feedRef: { name: "threats", namespace: stranger } }];
    const instanceRef = { name: "waf", namespace: user.namespace };
    const theirs = feed(stranger);
    await created(
      feed(user.namespace),
      theirs,
      rule(user.namespace, "mine", [], { addressesFrom }),
      rule(stranger, "theirs", [], { addressesFrom, instanceRef }),
      rule(other.namespace, "borrowed", [], { addressesFrom: borrowed }),
    );
    const namesOf = (feeds: readonly DeclaredFeed[]): string[] =>
      feeds.map(({ meta }) => meta.namespace).filter((one) => one === user.namespace || one === stranger);
    expect(namesOf(source.feeds.declared().used)).toStrictEqual([user.namespace]);
    expect(namesOf(source.feeds.declared().unused)).toStrictEqual([stranger]);
    const versions = (): number[] => [source.version(user), source.version(other)];
    const [ofUser = 0, ofOther = 0] = versions();
    source.feeds.contentChanged([`${user.namespace}/threats`]);
    const changed = source.version(user);
    expect(changed).toBeGreaterThan(ofUser);
    expect(versions()).toStrictEqual([changed, ofOther]);
    // The rule that is not attached does not count; the one that borrows the feed does.
    source.feeds.contentChanged([`${stranger}/threats`]);
    expect(source.version(user)).toBe(changed);
    expect(source.version(other)).toBeGreaterThan(ofOther);
    const allowed = await patchObject(cluster, theirs, { spec: { allowedNamespaces: { from: "All" } } });
    const before = feedChanges;
    await seen(theirs, allowed);
    expect(namesOf(source.feeds.declared().used).sort()).toStrictEqual([user.namespace, stranger].sort());
    await deleteManifest(cluster, rule(other.namespace, "borrowed", []));
    await waitFor("the end of the use", waitMs, async () =>
      namesOf(source.feeds.declared().unused).includes(stranger) ? true : undefined,
    );
    expect(feedChanges).toBeGreaterThan(before);
  });

  test("labels and annotations of other programs on attached objects are no change", async () => {
    const name = await anInstance("labelled");
    const mine = rule(name.namespace, "mine", ["198.51.100.2"]);
    await created(mine);
    const version = source.version(name);
    await seen(mine, await patchObject(cluster, mine, { metadata: { labels: { storm: "1" } } }));
    await seen(mine, await patchObject(cluster, mine, { metadata: { annotations: { "example.com/note": "1" } } }));
    expect(source.version(name)).toBe(version);
    const adopting = { metadata: { annotations: { "wafsync.dev/adopt": "true" } } };
    await seen(mine, await patchObject(cluster, mine, adopting));
    expect(source.version(name)).toBeGreaterThan(version);
  });

  test("a label of a namespace is a change only if it attaches or detaches the namespace", async () => {
    const selector = { matchLabels: { waf: "yes" } };
    const name = await anInstance("select", { access: [{ namespaces: { from: "Selector", selector } }] });
    const guest = await createNamespace(cluster, "guest");
    await created(rule(guest, "theirs", ["198.51.100.2"], { instanceRef: { name: "waf", namespace: name.namespace } }));
    const labelled = async (label: string): Promise<void> => {
      const before = unattachedChanges;
      await cluster.expectKubectl(["label", "namespace", guest, label, "--overwrite"]);
      await waitFor(`the label ${label}`, waitMs, async () => (unattachedChanges > before ? true : undefined));
    };
    const version = source.version(name);
    await labelled("team=shop");
    expect(source.version(name)).toBe(version);
    await labelled("waf=yes");
    expect(source.version(name)).toBeGreaterThan(version);
    expect((await gather(name)).rules).toHaveLength(1);
    expect(await source.confirm(name)).toMatchObject({
      gathered: { rules: [{ rule: { meta: { namespace: guest } } }] },
    });
    const attached = source.version(name);
    await labelled("team=other");
    expect(source.version(name)).toBe(attached);
    await labelled("waf=no");
    expect(source.version(name)).toBeGreaterThan(attached);
    expect((await gather(name)).rules).toStrictEqual([]);
  });

  test("a guest's ConfigMaps have a limit in total, and the owner's have none", async () => {
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
      ...[0, 1].map((place) => configMap(guest, `half-${place}`, lines(3_000, place))),
      rule(guest, "b-half", [], { instanceRef, ...from("half-0") }),
      rule(guest, "c-half", [], { instanceRef, ...from("half-1") }),
    );
    const textOf = async (wanted: ObjectName) =>
      (await gather(name)).rules.find(({ rule: { meta } }) => nameKey(meta) === nameKey(wanted))?.texts;
    expect(await textOf({ ...name, name: "huge" })).toMatchObject([{ state: "Read" }]);
    expect(await textOf({ namespace: guest, name: "a-huge" })).toMatchObject([{ isTooLarge: true }]);
    expect(await textOf({ namespace: guest, name: "b-half" })).toMatchObject([{ state: "Read" }]);
    const last = await textOf({ namespace: guest, name: "c-half" });
    expect(last).toMatchObject([{ isTooLarge: true, problem: expect.stringContaining("but the grant allows 65,536") }]);
    const version = source.version(name);
    await patchObject(cluster, configMap(guest, "half-1", ""), { data: { "list.txt": "198.51.100.1" } });
    await waitFor("the smaller source", waitMs, async () => (source.version(name) > version ? true : undefined));
    expect(await textOf({ namespace: guest, name: "c-half" })).toMatchObject([{ state: "Read" }]);
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
    const held = holding(api, `/namespaces/${guest}/configmaps/list`);
    const late = createClusterSource(quiet(held.api));
    const stop = new AbortController();
    const ended = late.run(stop.signal);
    await late.whenSynced();
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

    const version = late.version(name);
    held.release();
    await waitFor("the end of the read", waitMs, async () => (late.version(name) > version ? true : undefined));
    const after = planFor(await late.gather(name));
    const added = after.operations.map((operation) => (operation.kind === "AddEntry" ? String(operation.entry) : ""));
    expect(new Set(added)).toStrictEqual(new Set(["198.51.100.1", "203.0.113.1"]));
    stop.abort();
    await ended;
  });

  test("a fresh read uses smaller pages if responses are too long, and reads only namespaces with access", async () => {
    const guest = await createNamespace(cluster, "granted");
    const name = await anInstance("named", { access: [{ namespaces: { from: "Names", names: [guest] } }] });
    const stranger = await createNamespace(cluster, "huge");
    const instanceRef = { name: "waf", namespace: name.namespace };
    const long = (place: number): string[] =>
      addresses(10_000, place * 10_000).map((address) => `2001:0db8:0000:0000:0000:0000:${toIpv6(address)}`);
    const many = Array.from({ length: 44 }, (_, place) => place);
    await created(...many.map((place) => rule(guest, `guest-${place}`, long(place), { instanceRef })));
    await created(
      ...many.slice(0, 2).map((place) => rule(stranger, `stranger-${place}`, long(place), { instanceRef })),
    );
    const blind = createClusterSource(quiet(client));
    const sent = client.sent.length;
    const confirmed = await blind.confirm(name);
    if (confirmed.state !== "Read") throw new Error(confirmed.problem);
    expect(confirmed.gathered?.rules).toHaveLength(44);
    const lists = client.sent.slice(sent).filter((request) => request.endsWith("/wafiprules"));
    expect(new Set(lists.map((request) => request.split("/")[5]))).toStrictEqual(new Set([name.namespace, guest]));
    expect(lists.length).toBeGreaterThan(2);
  });
});

function feed(namespace: string): Manifest {
  return {
    apiVersion,
    kind: "WafFeed",
    metadata: { name: "threats", namespace },
    spec: { http: { url: "https://feeds.example/list.txt" }, suspend: true },
  };
}

function quiet(api: ApiServer) {
  return { api, clock: realClock, random: Math.random, namespace: undefined, onChange: () => undefined };
}

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

function toIpv6(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  const group = (high: number, low: number): string => ((high << 8) | low).toString(16).padStart(4, "0");
  return `${group(a, b)}:${group(c, d)}`;
}
