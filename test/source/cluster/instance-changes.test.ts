// Which instances a change concerns, and which feeds are used: only attached objects count.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import type { ApiServer } from "../../../src/kube/api-server.ts";
import type { KubeObject } from "../../../src/kube/kube-object.ts";
import type { ObjectStore } from "../../../src/kube/store.ts";
import { nameKey, type ResourceKind } from "../../../src/model/resource.ts";
import { ApiKeys } from "../../../src/source/cluster/api-keys.ts";
import type { Labels } from "../../../src/source/gather.ts";
import type { ClusterObject } from "../../../src/source/cluster/cluster-object.ts";
import { ClusterWatches } from "../../../src/source/cluster/cluster-watches.ts";
import { InstanceChanges } from "../../../src/source/cluster/instance-changes.ts";
import { apiVersion, instance, type Manifest, rule } from "../../support/builders/manifests.ts";

const nothing = (): void => undefined;
const toOwner = { instanceRef: { name: "waf", namespace: "owner" } };
const addressesFrom = [{ feedRef: { name: "threats" } }];
const borrowed = [{ feedRef: { name: "threats", namespace: "stranger" } }];

let watches: ClusterWatches;
let changes: InstanceChanges;
let feedChanges: number;
let written: number;

beforeEach(() => {
  const api = {} as ApiServer;
  const common = { api, clock: realClock };
  watches = new ClusterWatches({
    ...common,
    random: Math.random,
    namespace: undefined,
    onObject: nothing,
    onConfigMap: nothing,
    onNamespace: nothing,
    onProblem: nothing,
  });
  const { stores } = watches;
  const texts = { load: async () => undefined, read: () => ({}), forget: nothing, refresh: nothing };
  const keys = new ApiKeys({ texts, onKey: nothing });
  feedChanges = 0;
  const onFeedChange = () => void (feedChanges += 1);
  changes = new InstanceChanges({ stores, keys, texts, onChange: nothing, onFeedChange });
  written = 0;
  put(instance("owner", "https://owner.example"));
  put(instance("other", "https://other.example"));
});

/** Stores the object, and reports the change as the watch does. */
function put(manifest: Manifest): void {
  written += 1;
  const kind = manifest.kind as ResourceKind;
  const metadata = {
    ...manifest.metadata,
    uid: manifest.metadata.name,
    generation: written,
    resourceVersion: `${written}`,
  };
  const object = { ...manifest, metadata } as unknown as ClusterObject;
  for (const change of storeOf(kind).put(object)) changes.objectChanged(change);
}

function remove({ kind, metadata: { namespace, name } }: Manifest): void {
  for (const change of storeOf(kind as ResourceKind).remove(nameKey({ namespace, name })))
    changes.objectChanged(change);
}

function storeOf(kind: ResourceKind): ObjectStore<ClusterObject> {
  return watches.stores.byKind[kind] as ObjectStore<ClusterObject>;
}

function feed(namespace: string, spec: object = {}): Manifest {
  const metadata = { name: "threats", namespace };
  return { apiVersion, kind: "WafFeed", metadata, spec: { http: { url: "https://a.example/list" }, ...spec } };
}

function namespaceWith(labels: Labels): KubeObject {
  return { metadata: { name: "guest", uid: "guest", resourceVersion: "1", labels } };
}

/** The instances that have changed since the given versions. */
function changedSince(versions: Readonly<Record<string, number>>): string[] {
  return Object.keys(versions).filter((namespace) => versionsNow()[namespace] !== versions[namespace]);
}

function versionsNow(): Readonly<Record<string, number>> {
  return Object.fromEntries(
    ["owner", "other"].map((namespace) => [namespace, changes.version({ namespace, name: "waf" })]),
  );
}

function usedFeeds(): string[] {
  return changes.declaredFeeds().used.map(({ meta }) => meta.namespace);
}

describe("A former guest's object", () => {
  const theirs = rule("guest", "theirs", ["198.51.100.2"], toOwner);

  test("concerns the instance while it is attached, and also if it returns with a broken reference", () => {
    put(instance("owner", "https://owner.example", { access: [{ namespaces: { from: "All" } }] }));
    const before = versionsNow();
    put(theirs);
    expect(changedSince(before)).toStrictEqual(["owner"]);
    remove(theirs);
    const deleted = versionsNow();
    put(rule("guest", "theirs", [], { instanceRef: { name: "wav", namespace: "owner" } }));
    expect(changedSince(deleted)).toStrictEqual(["owner"]);
  });

  test("concerns no instance after the access has been withdrawn", () => {
    put(instance("owner", "https://owner.example", { access: [{ namespaces: { from: "All" } }] }));
    put(theirs);
    remove(theirs);
    put(instance("owner", "https://owner.example"));
    const before = versionsNow();
    put(theirs);
    put(rule("guest", "theirs", ["198.51.100.3"], toOwner));
    expect(changedSince(before)).toStrictEqual([]);
  });
});

test("A label of a namespace concerns an instance only if it attaches or detaches the namespace", () => {
  const selector = { matchLabels: { waf: "yes" } };
  put(instance("owner", "https://owner.example", { access: [{ namespaces: { from: "Selector", selector } }] }));
  put(rule("guest", "theirs", ["198.51.100.2"], toOwner));
  const changedBy = (from: Labels, to: Labels): string[] => {
    const before = versionsNow();
    changes.namespaceChanged({ type: "Changed", old: namespaceWith(from), object: namespaceWith(to) });
    return changedSince(before);
  };
  expect(changedBy({}, { team: "shop" })).toStrictEqual([]);
  expect(changedBy({ team: "shop" }, { waf: "yes" })).toStrictEqual(["owner"]);
  expect(changedBy({ waf: "yes" }, { waf: "yes", team: "shop" })).toStrictEqual([]);
  expect(changedBy({ waf: "yes" }, { waf: "no" })).toStrictEqual(["owner"]);
});

describe("A feed", () => {
  test("is used by attached rules of its namespace, and changes their instances only", () => {
    for (const namespace of ["owner", "other", "stranger"]) put(feed(namespace));
    put(rule("owner", "mine", [], { addressesFrom }));
    put(rule("stranger", "theirs", [], { addressesFrom, ...toOwner }));
    expect(usedFeeds()).toStrictEqual(["owner"]);
    expect(changes.declaredFeeds().unused.map(({ meta }) => meta.namespace)).toStrictEqual(["other", "stranger"]);
    const before = versionsNow();
    changes.feedsChanged(["other/threats", "stranger/threats"]);
    expect(changedSince(before)).toStrictEqual([]);
    changes.feedsChanged(["owner/threats"]);
    expect(changedSince(before)).toStrictEqual(["owner"]);
  });

  test("is used by a rule of another namespace only if it allows this, and notifies it either way", () => {
    put(feed("stranger"));
    put(rule("other", "borrowed", [], { addressesFrom: borrowed }));
    expect(usedFeeds()).toStrictEqual([]);
    const before = versionsNow();
    changes.feedsChanged(["stranger/threats"]);
    expect(changedSince(before)).toStrictEqual(["other"]);
    put(feed("stranger", { allowedNamespaces: { from: "All" } }));
    expect(usedFeeds()).toStrictEqual(["stranger"]);
  });

  test("is looked at again when a feed, an instance or a rule with feeds changes, and not for other rules", () => {
    const changesOf = (act: () => void): number => {
      const before = feedChanges;
      act();
      return feedChanges - before;
    };
    expect(changesOf(() => put(feed("owner")))).toBe(1);
    expect(changesOf(() => put(rule("owner", "plain", ["198.51.100.2"])))).toBe(0);
    expect(changesOf(() => put(rule("owner", "mine", [], { addressesFrom })))).toBe(1);
    expect(changesOf(() => put(rule("owner", "mine", ["198.51.100.2"])))).toBe(1);
    expect(changesOf(() => put(instance("owner", "https://new.example")))).toBe(1);
    expect(changesOf(() => changes.namespaceChanged({ type: "Added", object: namespaceWith({}) }))).toBe(1);
  });
});
