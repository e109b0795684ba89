import { describe, expect, test } from "@jest/globals";
import { createApiServer } from "../../src/kube/api-server.ts";
import { clusterCredentials } from "../support/builders/cluster-credentials.ts";
import { ListWatch, type ListWatchOptions, type ListWatchProblem } from "../../src/kube/list-watch.ts";
import { createObjectStore } from "../../src/kube/store.ts";
import { createVirtualClock, type VirtualClock } from "../support/fakes/virtual-clock.ts";
import {
  failure,
  listed,
  scriptedStream,
  startScriptedApiServer,
  statusBody,
  testObject,
  type TestObject,
} from "../support/fakes/scripted-api-server.ts";
import { type Answer, type ScriptedServer, text } from "../support/fakes/scripted-server.ts";
import { atTestEnd } from "../support/builders/at-test-end.ts";

const widgets = { group: "test.dev", version: "v1", plural: "widgets", namespaced: true };

interface World {
  readonly clock: VirtualClock;
  readonly server: ScriptedServer;
  readonly listWatch: ListWatch<TestObject>;
  readonly changes: string[];
  readonly problems: ListWatchProblem[];
  readonly stopped: Promise<void>;
  readonly stop: () => Promise<void>;
  readonly names: () => string[];
  /** The request: `List` or `Watch <resourceVersion>`. */
  readonly asked: () => string[];
  /** Advances the time until this many requests have arrived. */
  readonly untilAsked: (count: number, limitMs?: number) => Promise<void>;
}

async function startWorld(options: Partial<ListWatchOptions<TestObject>> = {}): Promise<World> {
  const clock = createVirtualClock();
  const server = await startScriptedApiServer({ nowMs: () => clock.monotonicMs() });
  const credentials = clusterCredentials({ server: server.baseUrl });
  const api = createApiServer({ credentials, clock });
  const changes: string[] = [];
  const problems: ListWatchProblem[] = [];
  const listWatch = new ListWatch<TestObject>({
    api,
    clock,
    random: () => 0.5,
    type: widgets,
    store: createObjectStore<TestObject>(),
    onChange: ({ type, object }) => void changes.push(`${type} ${object.metadata.name}`),
    onProblem: (problem) => void problems.push(problem),
    ...options,
  });
  const stopping = new AbortController();
  const stopped = listWatch.run(stopping.signal);
  async function stop(): Promise<void> {
    stopping.abort();
    await stopped;
  }
  atTestEnd(async () => {
    await stop();
    api.close();
    await server.stop();
  });
  return {
    clock,
    server,
    listWatch,
    changes,
    problems,
    stopped,
    stop,
    names: () =>
      listWatch.store
        .list()
        .map(({ metadata }) => metadata.name)
        .sort(),
    asked: () => server.requests.map(({ query }) => nameOfRequest(query)),
    untilAsked: (count, limitMs = 120_000) => clock.advanceUntil(() => server.requests.length >= count, limitMs),
  };
}

/** A world that has listed these objects, and watches. */
async function startWatching(...objects: Parameters<typeof listed>) {
  const world = await startWorld();
  const first = scriptedStream();
  world.server.next(listed(...objects), first.answer);
  await world.clock.settle();
  return { ...world, first };
}

function nameOfRequest(query: Readonly<Record<string, string>>): string {
  return query["watch"] === "true" ? `Watch ${query["resourceVersion"]}` : "List";
}

/** Responds to each request in its form: with a list, or with a watch without changes. */
function widgetList(items: readonly TestObject[], resourceVersion: number): Answer {
  return (request, response) => {
    const answer = nameOfRequest(request.query) === "List" ? listed(items, resourceVersion) : scriptedStream().answer;
    void answer(request, response);
  };
}

describe("the first list", () => {
  test("is read from the server, and the watch continues from its version", async () => {
    const { server, clock, listWatch, names, changes, asked } = await startWorld();
    expect(listWatch.health()).toMatchObject({ isSynced: false, activity: "Listing" });
    const stream = scriptedStream();
    server.next(listed([testObject("b", 9), testObject("a", 3)], 10), stream.answer);
    stream.event("MODIFIED", testObject("a", 11));
    stream.event("DELETED", testObject("b", 12));
    stream.event("ADDED", testObject("c", 13));
    await clock.settle();
    expect(await listWatch.whenSynced()).toBe(true);
    expect(listWatch.health()).toMatchObject({
      isSynced: true,
      activity: "Watching",
      relists: 0,
      lastFault: undefined,
    });
    expect(changes).toStrictEqual(["Added b", "Added a", "Changed a", "Deleted b", "Added c"]);
    expect(names()).toStrictEqual(["a", "c"]);
    expect(asked()).toStrictEqual(["List", "Watch 10"]);
    expect(server.requests[0]?.query["resourceVersion"]).toBeUndefined();
    expect(server.requests[1]?.query).toMatchObject({ allowWatchBookmarks: "true", timeoutSeconds: "450" });
  });
});

describe("the position of the watch", () => {
  test("follows changes and bookmarks, so a kind without changes is never listed again", async () => {
    const watching = await startWatching([testObject("a", 1)], 100);
    const { server, asked, untilAsked, clock, listWatch, problems } = watching;
    let stream = watching.first;
    for (let round = 1; round <= 3; round += 1) {
      for (let minute = 1; minute <= 5; minute += 1) {
        await clock.advance(60_000);
        stream.bookmark(100 * round + minute);
      }
      stream.end();
      const next = scriptedStream();
      server.next(next.answer);
      await untilAsked(round + 2);
      stream = next;
    }
    stream.event("MODIFIED", testObject("a", 500));
    await clock.settle();
    stream.cut();
    await untilAsked(6);
    expect(asked()).toStrictEqual(["List", "Watch 100", "Watch 105", "Watch 205", "Watch 305", "Watch 500"]);
    expect(listWatch.health().relists).toBe(0);
    expect(problems.map(({ code }) => code)).toStrictEqual(["Unavailable"]);
  });

  test("that has expired leads to exactly one new list, whether reported as HTTP status or as ERROR event", async () => {
    const { server, asked, untilAsked, clock, changes, names, listWatch, first } = await startWatching(
      [testObject("a", 1), testObject("gone", 2), testObject("again", 3)],
      10,
    );
    await clock.advance(5000);
    first.end();
    const second = scriptedStream();
    server.next(
      failure(410, "Expired"),
      listed([testObject("a", 1), testObject("again", 12, "other")], 20),
      second.answer,
    );
    await untilAsked(5);
    await clock.settle();
    expect(names()).toStrictEqual(["a", "again"]);
    expect(changes.slice(3)).toStrictEqual(["Deleted gone", "Deleted again", "Added again"]);
    second.error(statusBody(410, "Expired"));
    server.next(listed([testObject("a", 1)], 30));
    await untilAsked(7);
    expect(asked()).toStrictEqual(["List", "Watch 10", "Watch 10", "List", "Watch 20", "List", "Watch 30"]);
    expect(names()).toStrictEqual(["a"]);
    expect(listWatch.health().relists).toBe(2);
  });
});

describe("a watch that fails", () => {
  test("by becoming silent is replaced within 160 s, and changes in the meantime are seen", async () => {
    const { server, untilAsked, clock, asked, names, first } = await startWatching([testObject("a", 1)], 10);
    const startMs = clock.monotonicMs();
    const second = scriptedStream();
    second.event("ADDED", testObject("b", 11));
    server.next(second.answer);
    await untilAsked(3, 200_000);
    expect(clock.monotonicMs() - startMs).toBeLessThanOrEqual(160_000);
    await clock.settle();
    expect(asked()).toStrictEqual(["List", "Watch 10", "Watch 10"]);
    expect(names()).toStrictEqual(["a", "b"]);
    first.event("ADDED", testObject("late", 12));
    await clock.settle();
    expect(names()).toStrictEqual(["a", "b"]);
  });

  test("does not count as silent while bytes arrive", async () => {
    const { clock, asked, first: stream } = await startWatching([], 10);
    for (let round = 1; round <= 5; round += 1) {
      await clock.advance(149_000);
      stream.bookmark(10 + round);
    }
    await clock.settle();
    expect(asked()).toStrictEqual(["List", "Watch 10"]);
  });
});

test("a kind that is not installed is found within 35 s of its installation", async () => {
  const { server, clock, listWatch } = await startWorld({ random: () => 0.999 });
  server.answers(text(404, "404 page not found\n"));
  await clock.advance(180_000);
  expect(listWatch.health()).toMatchObject({ activity: "WaitingForKind", isSynced: false });
  server.next(failure(429, "TooManyRequests", { "retry-after": "1" }));
  server.answers(widgetList([testObject("a", 1)], 10));
  const startMs = clock.monotonicMs();
  await clock.advanceUntil(() => listWatch.health().isSynced, 60_000);
  expect(clock.monotonicMs() - startMs).toBeLessThanOrEqual(35_000);
});

describe("functions that were passed in", () => {
  test("a handler that throws is reported and has no other effect", async () => {
    const seen: string[] = [];
    const { server, clock, names, problems } = await startWorld({
      onChange: ({ object }) => {
        seen.push(object.metadata.name);
        throw new RangeError("broken handler");
      },
    });
    const stream = scriptedStream();
    server.next(listed([testObject("a", 1), testObject("b", 2)], 10), stream.answer);
    stream.event("ADDED", testObject("c", 11));
    await clock.settle();
    expect(seen).toStrictEqual(["a", "b", "c"]);
    expect(names()).toStrictEqual(["a", "b", "c"]);
    expect(problems.map(({ code }) => code)).toStrictEqual(["Unexpected", "Unexpected", "Unexpected"]);
  });

  test("a transform makes objects smaller; one that throws loses no object", async () => {
    const { server, clock, listWatch, problems } = await startWorld({
      transform(object) {
        if (object.metadata.name === "bad") throw new RangeError("broken transform");
        const { managedFields: _dropped, ...metadata } = object.metadata;
        return { ...object, metadata };
      },
    });
    const [good, bad] = ["good", "bad"].map((name) => {
      const object = testObject(name, 1);
      return { ...object, metadata: { ...object.metadata, managedFields: [1] } };
    });
    if (good === undefined || bad === undefined) throw new Error("no objects");
    server.next(listed([good, bad], 10));
    await clock.settle();
    expect(listWatch.store.get("default/good")?.metadata.managedFields).toBeUndefined();
    expect(listWatch.store.get("default/bad")?.metadata.managedFields).toStrictEqual([1]);
    expect(problems.map(({ code }) => code)).toStrictEqual(["Unexpected"]);
  });

  test("a store that throws makes the list-watch start over, not stop", async () => {
    let broken = true;
    const store = createObjectStore<TestObject>({
      color: ({ spec }) => {
        if (broken) throw new RangeError("broken index");
        return [spec.color];
      },
    });
    const { server, clock, problems, names } = await startWorld({ store });
    server.answers(widgetList([testObject("a", 1)], 10));
    await clock.settle();
    expect(problems.map(({ code }) => code)).toStrictEqual(["Unexpected"]);
    broken = false;
    await clock.advance(30_000);
    expect(names()).toStrictEqual(["a"]);
  });
});

describe("stopping", () => {
  test.each(["before the first response", "in a watch", "in a backoff"])(
    "%s ends the run and leaves nothing running",
    async (when) => {
      const { server, clock, stop, listWatch, stopped } = await startWorld();
      const synced = listWatch.whenSynced();
      if (when === "in a watch") server.next(listed([], 10));
      if (when === "in a backoff") server.next(failure(500, "InternalError"));
      await clock.settle();
      await stop();
      await stopped;
      expect(await synced).toBe(when === "in a watch");
      await clock.settle();
      expect(clock.sleeperCount()).toBe(0);
      expect(server.requests).toHaveLength(when === "in a watch" ? 2 : 1);
    },
  );
});
