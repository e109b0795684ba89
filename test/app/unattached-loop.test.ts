// Reports on objects that no run covers: on all of them in the end, with namespaces taking turns, and at a limited rate.
import { expect, test } from "@jest/globals";
import { UnattachedLoop } from "../../src/app/unattached-loop.ts";
import { ChangeSignal } from "../../src/async/change-signal.ts";
import { nameKey, nameOfKey, resourceKey, type ResourceKind, type ResourceMeta } from "../../src/model/resource.ts";
import type { ClusterObject } from "../../src/source/cluster/cluster-object.ts";
import type { Unattached } from "../../src/source/cluster/attachment.ts";
import { aMeta } from "../support/builders/declare.ts";
import { MemoryLifecycle } from "../support/fakes/memory-lifecycle.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

function stage() {
  const clock = createVirtualClock();
  const stored = new Map<string, ClusterObject>();
  /** Those of them that no run covers. */
  const objects = new Map<string, Unattached>();
  const written: string[] = [];
  const statuses = new Map<string, Readonly<Record<string, unknown>>>();
  const failing = new Set<string>();
  const events: string[] = [];
  const notReady: Record<string, number> = {};
  let counted: Readonly<Record<string, number>> = {};
  const loop = new UnattachedLoop({
    clock,
    lifecycle: new MemoryLifecycle(),
    isOwn: () => true,
    metrics: {
      unattached: (counts) => void (counted = Object.fromEntries(counts)),
      notReady: (kind, count) => void (notReady[kind] = count),
    },
    source: {
      objects: (kind) => [...stored.values()].filter((object) => object.kind === kind),
      objectOf: (ref) => stored.get(resourceKey(ref)),
      unattached: {
        find: ({ kind, metadata: { namespace = "", name } }) => objects.get(resourceKey({ kind, namespace, name })),
        changed: new ChangeSignal(),
      },
    },
    status: {
      read: (meta: ResourceMeta) => statuses.get(resourceKey(meta)),
      write: async (meta, status) => {
        written.push(nameKey(meta));
        if (!failing.has(nameKey(meta))) statuses.set(resourceKey(meta), status);
        return failing.has(nameKey(meta)) ? "The API server refused it." : undefined;
      },
      event: (meta, { type, reason, message }) =>
        void events.push(`${type} ${resourceKey(meta)} ${reason}: ${message}`),
    },
  });
  const store = (kind: ResourceKind, key: string, ready?: string): ClusterObject => {
    const status = { conditions: [{ type: "Ready", status: ready }] };
    const { namespace, name } = nameOfKey(key);
    const object = { kind, metadata: { namespace, name, uid: key, resourceVersion: "1" }, status };
    stored.set(resourceKey({ kind, namespace, name }), object);
    return object;
  };
  return {
    clock,
    objects,
    written,
    failing,
    events,
    counted: () => counted,
    notReady,
    loop,
    store,
    round: async (): Promise<void> => {
      const ended = loop.round(new AbortController().signal);
      await clock.advance(1_000);
      await ended;
    },
    add: (name: string, reason: Unattached["reason"] = "NotAllowed", ready?: string): void => {
      const meta = aMeta("WafIpRule", name);
      const object = store("WafIpRule", name, ready);
      objects.set(resourceKey(meta), { meta, reason, instance: undefined, problem: "No access.", stored: object });
    },
  };
}

test("objects that are not Ready are counted by kind, except those that no run covers", async () => {
  const { round, store, add, notReady, counted } = stage();
  store("WafIpRule", "shop/ready", "True");
  store("WafIpRule", "shop/new");
  store("WafIpRule", "shop/rejected", "False");
  store("WafFeed", "shop/down", "False");
  store("WafFeed", "shop/waiting", "Unknown");
  add("shop/typo", "InstanceNotFound", "False");
  await round();
  expect(notReady).toStrictEqual({ WafIpRule: 1, WafOrigin: 0, WafAutoBlock: 0, WafFeed: 1 });
  expect(counted()).toStrictEqual({ "WafIpRule InstanceNotFound": 1 });
});

test("a flood in one namespace delays the status in another by one write, and is rate-limited", async () => {
  const { clock, loop, add, written } = stage();
  for (let index = 0; index < 3_000; index += 1) add(`flood/rule-${index}`);
  add("other/rule");
  const stop = new AbortController();
  const running = loop.run(stop.signal);
  await clock.advance(100);
  expect(written.slice(0, 2)).toStrictEqual(["flood/rule-0", "other/rule"]);
  expect(written.length).toBeLessThanOrEqual(6);
  await clock.advance(120_000);
  expect(new Set(written).size).toBe(3_001);
  expect(written).toHaveLength(3_001);
  stop.abort();
  await running;
});

test("a failed status write is retried in the next round, and an object that has attached meanwhile is skipped", async () => {
  const { round, add, written, failing, objects } = stage();
  add("a/fails");
  add("b/attaches");
  failing.add("a/fails");
  const first = round();
  objects.delete("WafIpRule b/attaches");
  await first;
  expect(written).toStrictEqual(["a/fails"]);
  failing.clear();
  await round();
  expect(written).toStrictEqual(["a/fails", "a/fails"]);
  await round();
  expect(written).toHaveLength(2);
});

test("each object gets one Warning event, and all are counted by kind and reason", async () => {
  const { round, add, events, counted, objects } = stage();
  add("a/typo");
  add("b/typo");
  for (const _ of [1, 2]) {
    await round();
    expect(events).toStrictEqual(
      ["a/typo", "b/typo"].map((name) => `Warning WafIpRule ${name} NotAllowed: No access.`),
    );
    expect(counted()).toStrictEqual({ "WafIpRule NotAllowed": 2 });
  }
  objects.clear();
  await round();
  expect(counted()).toStrictEqual({});
});
