// The desired state from a real API server: which changes concern which instance, what is read again and when, and what a fresh
// read shows that the watches do not. This test changes CRDs, so it has its own control plane.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import { instanceFinalizer } from "../../../src/kinds/kinds.ts";
import { type ApiResult, localFault, type ApiRequest } from "../../../src/kube/api-server.ts";
import type { Gathered } from "../../../src/model/gathered.ts";
import { nameKey, type ObjectName, type ResourceKind, type ResourceRef } from "../../../src/model/resource.ts";
import { readInstanceOnce } from "../../../src/source/cluster/read-cluster.ts";
import { createAll, deleteManifest, patchObject } from "../../support/fakes/api-clients.ts";
import { sourceOver, type WatchingSource, watchingSource } from "./watching-source.ts";
import { createNamespace, installDefinitions, waitFor } from "../../support/builders/cluster-objects.ts";
import { describeWithOwnControlPlane } from "../../support/control-plane/suite.ts";
import { cacheClear, configMap, instance, keySecret, type Manifest, rule } from "../../support/builders/manifests.ts";

const waitMs = 30_000;
const baseUrl = "https://waf.example";
const definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

await describeWithOwnControlPlane("desired state from a cluster", (cluster) => {
  let world: WatchingSource;
  let namespace: string;
  let name: ObjectName;

  beforeAll(async () => {
    world = await watchingSource(cluster);
    namespace = await createNamespace(cluster, "source");
    name = { namespace, name: "waf" };
    await createAll(cluster, keySecret(namespace, "a-first-key-0123"), instance(namespace, baseUrl));
    await world.seen(instance(namespace, baseUrl));
  });
  afterAll(() => world.close());

  function refOf({ kind, metadata }: Manifest): ResourceRef {
    return { kind: kind as ResourceKind, namespace: metadata.namespace, name: metadata.name };
  }

  const gather = async (of: ObjectName = name): Promise<Gathered> => await world.gather(of);

  async function keyOf(of: ObjectName): Promise<string | undefined> {
    const { key } = await gather(of);
    return key.state === "Present" ? key.key.reveal() : undefined;
  }

  async function grows(since: number, of: ObjectName = name): Promise<void> {
    await waitFor("a higher version", waitMs, async () =>
      world.source.changes.version(of) > since ? true : undefined,
    );
  }

  test("a write of status, of another program's labels, or of wafsync's own finalizer is no change; a request for a reconcile is one", async () => {
    const mine = rule(namespace, "quiet", ["198.51.100.1"]);
    await createAll(cluster, mine);
    await world.seen(mine);
    const version = world.source.changes.version(name);
    const status = { status: { observedGeneration: 1, progress: "1/1" } };
    await world.seen(mine, await patchObject(cluster, mine, status, "/status"));
    const ofOthers = { metadata: { labels: { storm: "1" }, annotations: { "example.com/note": "1" } } };
    await world.seen(mine, await patchObject(cluster, mine, ofOthers));
    const finalizersOf = () => world.source.objectOf({ kind: "WafInstance", ...name })?.metadata.finalizers;
    const finalizers = { metadata: { finalizers: [instanceFinalizer] } };
    await patchObject(cluster, instance(namespace, baseUrl), finalizers);
    await waitFor("the finalizer", waitMs, async () => finalizersOf()?.includes(instanceFinalizer) || undefined);
    expect(world.source.changes.version(name)).toBe(version);
    await patchObject(cluster, mine, { metadata: { annotations: { "wafsync.dev/requested-at": "now" } } });
    await grows(version);
    const requested = world.source.changes.version(name);
    await patchObject(cluster, instance(namespace, baseUrl), { metadata: { finalizers: null } });
    await grows(requested);
  });

  test("a ConfigMap is read when a rule uses it and when its content changes, and a missing one when it appears", async () => {
    const fed = rule(namespace, "fed", [], {
      addressesFrom: [
        { configMapKeyRef: { name: "used", key: "list.txt" } },
        { configMapKeyRef: { name: "later", key: "list.txt" } },
      ],
    });
    const used = configMap(namespace, "used", "198.51.100.4\n");
    await createAll(cluster, used, configMap(namespace, "unused", "198.51.100.2\n"), fed);
    await world.seen(fed);
    const textsOf = async () => (await gather()).rules.find(({ rule: { meta } }) => meta.name === "fed")?.texts;
    const reads = (): number => world.client.sent.filter((request) => request.endsWith("/configmaps/used")).length;
    expect(await textsOf()).toMatchObject([{ text: "198.51.100.4\n" }, { state: "Missing" }]);
    expect((await gather()).brokenSources).toStrictEqual([]);
    let version = world.source.changes.version(name);
    const before = reads();
    await patchObject(cluster, used, { metadata: { annotations: { note: "1" } } });
    await waitFor("one more read", waitMs, async () => (reads() > before ? true : undefined));
    await gather();
    expect(world.source.changes.version(name)).toBe(version);
    await patchObject(cluster, used, { data: { "list.txt": "198.51.100.5\n" } });
    await grows(version);
    version = world.source.changes.version(name);
    await createAll(cluster, configMap(namespace, "later", "198.51.100.6\n"));
    await grows(version);
    expect(await textsOf()).toMatchObject([{ text: "198.51.100.5\n" }, { text: "198.51.100.6\n" }]);
    version = world.source.changes.version(name);
    await deleteManifest(cluster, used);
    await grows(version);
    expect(await textsOf()).toMatchObject([{ state: "Missing" }, { state: "Read" }]);
    expect(world.client.sent.filter((request) => request.endsWith("/configmaps/unused"))).toStrictEqual([]);
    await deleteManifest(cluster, fed);
  });

  test("a Secret with addresses is read by name, and again after a request for a reconcile", async () => {
    const addressesFrom = [{ secretKeyRef: { name: "partners", key: "list.txt" } }];
    const fed = rule(namespace, "partners", [], { addressesFrom });
    const metadata = { name: "partners", namespace };
    const secret = { apiVersion: "v1", kind: "Secret", metadata, stringData: { "list.txt": "198.51.100.7\n" } };
    await createAll(cluster, secret, fed);
    await world.seen(fed);
    const textsOf = async () => (await gather()).rules.find(({ rule: { meta } }) => meta.name === "partners")?.texts;
    expect(await textsOf()).toMatchObject([{ text: "198.51.100.7\n", source: { kind: "Secret" } }]);
    await patchObject(cluster, secret, { stringData: { "list.txt": "198.51.100.8\n" } });
    expect(await textsOf()).toMatchObject([{ text: "198.51.100.7\n" }]);
    const version = world.source.changes.version(name);
    await patchObject(cluster, instance(namespace, baseUrl), {
      metadata: { annotations: { "wafsync.dev/requested-at": "x" } },
    });
    await grows(version);
    expect(await textsOf()).toMatchObject([{ text: "198.51.100.8\n" }]);
    await deleteManifest(cluster, fed);
  });

  test("Secrets are read one at a time, and again only after a refusal, a request or a resync", async () => {
    const keyOf = async (): Promise<string> => {
      const { key } = await gather();
      return key.state === "Present" ? key.key.fingerprint() : key.problem;
    };
    const reads = (): number => world.client.sent.filter((request) => request.includes("/secrets")).length;
    const first = await keyOf();
    const before = reads();
    expect(await keyOf()).toBe(first);
    expect(reads()).toBe(before);
    const secret = keySecret(namespace, "");
    await patchObject(cluster, secret, { stringData: { apiKey: "a-second-key-0123" } });
    expect(await keyOf()).toBe(first);
    world.source.secretRefused(name);
    const second = await keyOf();
    expect(second).not.toBe(first);
    expect(reads()).toBe(before + 1);
    await deleteManifest(cluster, secret);
    world.source.secretRefused(name);
    expect(await keyOf()).toContain("There is no Secret");
    const version = world.source.changes.version(name);
    await createAll(cluster, keySecret(namespace, "a-third-key-0123"));
    await grows(version);
    expect(world.client.sent.filter((request) => /\/secrets(\?|$)/.test(request))).toStrictEqual([]);
  });

  test("instances with the same key are reported to each other, whatever their URLs, until their keys differ", async () => {
    const elsewhere = await createNamespace(cluster, "twin");
    const twin = instance(elsewhere, `${baseUrl}.:443`);
    const of = { namespace: elsewhere, name: "waf" };
    const version = world.source.changes.version(name);
    await createAll(cluster, keySecret(elsewhere, (await keyOf(name)) ?? ""), twin);
    await world.seen(twin);
    expect((await gather(of)).sameKey.map(nameKey)).toStrictEqual([nameKey(name)]);
    await grows(version);
    expect((await gather()).sameKey.map(nameKey)).toStrictEqual([nameKey(of)]);
    const shared = world.source.changes.version(name);
    await deleteManifest(cluster, twin);
    await grows(shared);
    expect((await gather()).sameKey).toStrictEqual([]);
  });

  test("objects whose instance does not exist are distinguished from invalid ones", async () => {
    const lost = rule(namespace, "lost", ["198.51.100.8"], { instanceRef: { name: "wav" } });
    const early = cacheClear(namespace, "early", { instanceRef: { name: "nothing-like-it" } });
    await createAll(cluster, lost, early);
    await world.seen(lost);
    await world.seen(early);
    const problems = world.unattached().map(({ meta, problem }) => [meta.name, problem]);
    expect(problems).toContainEqual(["lost", `There is no WafInstance ${namespace}/wav; did you mean waf?`]);
    expect(problems).toContainEqual(["early", `There is no WafInstance ${namespace}/nothing-like-it.`]);
    expect(world.unattached().filter(({ reason }) => reason === "InvalidSpec")).toStrictEqual([]);
    await deleteManifest(cluster, lost);
    await deleteManifest(cluster, early);
  });

  test("an object that is recreated with a broken reference concerns its former instance, and reports why", async () => {
    const right = rule(namespace, "scanners", ["198.51.100.8"]);
    await createAll(cluster, right);
    await world.seen(right);
    await deleteManifest(cluster, right);
    await waitFor(
      "the end of the rule",
      waitMs,
      async () => world.source.objectOf(refOf(right)) === undefined || undefined,
    );
    const version = world.source.changes.version(name);
    await createAll(cluster, rule(namespace, "scanners", [], { instanceRef: { name: "wav" } }));
    await grows(version);
    const key = `WafIpRule ${namespace}/scanners`;
    const { brokenReferences } = await gather();
    expect(brokenReferences?.objects.get(key)).toMatchObject({
      declared: { meta: { name: "scanners" } },
      problem: `There is no WafInstance ${namespace}/wav; did you mean waf?`,
    });
    expect((await gather()).brokenReferences).toBe(brokenReferences);
    const confirmed = await world.source.confirm(name);
    expect(confirmed).toMatchObject({ state: "Read", gathered: { brokenReferences } });
    const command = await readInstanceOnce(world.api, realClock, name);
    expect(command).toMatchObject({ ok: true, read: { gathered: { brokenReferences } } });
    const beforeEnd = world.source.changes.version(name);
    await deleteManifest(cluster, right);
    await grows(beforeEnd);
    expect((await gather()).brokenReferences?.objects.has(key)).toBe(false);
  });

  test("a command whose user may not read the named instance believes the status of the object", async () => {
    const abroad = rule(namespace, "abroad", ["198.51.100.8"], { instanceRef: { name: "waf", namespace: "nowhere" } });
    await createAll(cluster, abroad);
    const request = async <T>(wanted: ApiRequest): Promise<ApiResult<T>> => {
      const isRefused = wanted.path.endsWith("/wafinstances") && !wanted.path.includes("/namespaces/");
      return isRefused ? { ok: false, fault: localFault("Forbidden", "no") } : await world.api.request<T>(wanted);
    };
    const lostOf = async (): Promise<readonly string[]> => {
      const found = await readInstanceOnce({ ...world.api, request }, realClock, name);
      return found.ok ? [...(found.read.gathered.brokenReferences?.objects.keys() ?? [])] : [found.problem];
    };
    expect(await lostOf()).toStrictEqual([]);
    const at = { lastTransitionTime: "2026-01-01T00:00:00Z", message: "None.", observedGeneration: 1 };
    const conditions = [{ type: "Ready", status: "False", reason: "InstanceNotFound", ...at }];
    await patchObject(cluster, abroad, { status: { conditions } }, "/status");
    expect(await lostOf()).toStrictEqual([`WafIpRule ${namespace}/abroad`]);
    await deleteManifest(cluster, abroad);
  });

  test("a fresh read shows changes that the watches have not seen, and objects that now refer to another instance", async () => {
    const blind = sourceOver(world.api);
    const seenLate = rule(namespace, "late", ["198.51.100.9"]);
    await createAll(cluster, seenLate);
    const confirmed = await blind.confirm(name);
    if (confirmed.state !== "Read") throw new Error(confirmed.problem);
    expect(confirmed.gathered?.rules.map(({ rule: { meta } }) => meta.name)).toContain("late");
    expect(await blind.confirm({ namespace, name: "nobody" })).toStrictEqual({ state: "Read", gathered: undefined });
    await deleteManifest(cluster, seenLate);
  });

  test("an object that only a newer wafsync understands is not taken for a deleted one, and reports this", async () => {
    const path = `${definition}/wafiprules.wafsync.dev`;
    const field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/reputation";
    const body = [{ op: "add", path: field, value: { type: "integer" } }];
    const changed = await cluster.request({ method: "PATCH", path, body, contentType: "application/json-patch+json" });
    expect(changed.status).toBe(200);
    const newer = rule(namespace, "newer", ["198.51.100.10"], { reputation: 7 });
    await waitFor("the new field", waitMs, async () => {
      await cluster.request({
        method: "POST",
        path: `/apis/wafsync.dev/v1alpha1/namespaces/${namespace}/wafiprules`,
        body: newer,
      });
      const stored = world.source.objectOf(refOf(newer))?.spec as { reputation?: number } | undefined;
      if (stored?.reputation === 7) return true;
      if (stored !== undefined) await deleteManifest(cluster, newer);
      return undefined;
    });
    expect(world.unattached().filter(({ reason }) => reason === "InvalidSpec")).toMatchObject([
      { meta: { name: "newer" }, instance: name, problem: expect.stringContaining("reputation") },
    ]);
    const { brokenSources, invalidObjects, rules } = await gather();
    expect(rules.map(({ rule: { meta } }) => meta.name)).not.toContain("newer");
    expect(brokenSources).toStrictEqual([]);
    expect(invalidObjects?.get(`WafIpRule ${namespace}/newer`)).toContain("reputation");
    await deleteManifest(cluster, newer);
    await waitFor("the end of it", waitMs, async () =>
      (await gather()).invalidObjects === undefined ? true : undefined,
    );
  });

  test("uninstalling a kind removes no entries, and its objects have time to be restored", async () => {
    const kept = rule(namespace, "kept", ["198.51.100.11"]);
    const held = { ...kept, metadata: { ...kept.metadata, finalizers: ["test.dev/hold"] } };
    await createAll(cluster, held);
    await world.seen(held);
    await cluster.request({ method: "DELETE", path: `${definition}/wafiprules.wafsync.dev` });
    const failed = await waitFor("the end of the kind", waitMs, async () => {
      const confirmed = await world.source.confirm(name);
      return confirmed.state === "Failed" ? confirmed : undefined;
    });
    expect(failed.problem).toContain("The CRD of WafIpRule is being deleted");
    expect(await world.source.isUninstalling()).toBe(false);
    await patchObject(cluster, held, { metadata: { finalizers: null } });
    await waitFor("an unready source", waitMs, async () =>
      world.source.watches.notReadyBecause() === undefined ? undefined : true,
    );
    expect(world.source.watches.notReadyBecause()).toContain("wafiprules");
    expect((await gather()).brokenSources.join()).toContain("does not know wafiprules");
    await installDefinitions(cluster);
    await waitFor("a ready source", 60_000, async () =>
      world.source.watches.notReadyBecause() === undefined ? true : undefined,
    );
    expect((await gather()).brokenSources.join()).toContain("be restored within 5 minutes");
    expect(world.source.watches.gaps()).not.toStrictEqual([]);
  });
});
