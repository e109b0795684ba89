import { describe, expect, test } from "@jest/globals";
import type { ApiFaultCode } from "../../src/kube/api-server.ts";
import {
  cutText,
  type EventNote,
  EventRecorder,
  messageBytesMax,
  queueLengthMax,
} from "../../src/kube/event-recorder.ts";
import { VirtualTime } from "../support/fakes/virtual-time.ts";
import { done, failed, fakeApi, silence, type StoredEvent } from "./fake-api-server.ts";

type Fault = {
  readonly code: ApiFaultCode;
  readonly causes?: readonly string[];
  readonly retryAfterMs?: number;
  readonly status?: number;
};

/** Stores events like the API server, and injects faults on request. */
class FakeEvents {
  readonly stored = new Map<string, StoredEvent>();
  readonly requests: string[] = [];
  /** Responds to the next requests with these responses. */
  readonly faults: Fault[] = [];
  /** Never responds, until the caller gives up. */
  silent = false;
  readonly api = fakeApi(async ({ method, path, body, signal }) => {
    const [, namespace = "", name = (body as StoredEvent).metadata.name] =
      /namespaces\/([^/]+)\/events(?:\/(.+))?$/u.exec(path) ?? [];
    const key = `${namespace}/${name}`;
    this.requests.push(`${method === "POST" ? "create" : "patch"} ${key}`);
    if (this.silent) return await silence(signal);
    const fault = this.faults.shift();
    if (fault !== undefined) return failed(fault.code, fault);
    const known = this.stored.get(key);
    if (method === "POST" && known !== undefined) return failed("AlreadyExists");
    if (method === "PATCH" && known === undefined) return failed("NotFound");
    const event = { ...known, ...(body as StoredEvent) };
    this.stored.set(key, event);
    return done({ ...event, metadata: { ...event.metadata, uid: "e", resourceVersion: "1" } });
  });

  get events(): StoredEvent[] {
    return [...this.stored.values()];
  }
}

const object = { apiVersion: "test.dev/v1", kind: "Widget", namespace: "default", name: "w", uid: "u1" };
const note = (more: Partial<EventNote> = {}): EventNote => ({
  object,
  type: "Warning",
  reason: "SyncFailed",
  message: "It failed",
  ...more,
});

function makeRecorder() {
  const time = new VirtualTime();
  const events = new FakeEvents();
  const dropped: string[] = [];
  const recorder = new EventRecorder({
    api: events.api,
    clock: time.clock(Date.UTC(2026, 10, 21, 12)),
    random: () => 0.5,
    controller: "test.dev/controller",
    instance: "pod-1",
    onDropped: (reason) => dropped.push(reason),
  });
  /** Records these notes at once, and lets them be written. */
  const record = async (...notes: readonly Partial<EventNote>[]): Promise<void> => {
    for (const one of notes) recorder.record(note(one));
    await time.advance(0);
  };
  return { time, events, recorder, dropped, record };
}

test("an event has both kinds of times, so kubectl describe shows and sorts it", async () => {
  const { events, record } = makeRecorder();
  await record({});
  expect(events.events).toStrictEqual([
    {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: expect.stringMatching(/^w\.[0-9a-f]+$/), namespace: "default" },
      involvedObject: { apiVersion: "test.dev/v1", kind: "Widget", namespace: "default", name: "w", uid: "u1" },
      type: "Warning",
      reason: "SyncFailed",
      action: "SyncFailed",
      message: "It failed",
      count: 1,
      eventTime: "2026-11-21T12:00:00.000000Z",
      firstTimestamp: "2026-11-21T12:00:00Z",
      lastTimestamp: "2026-11-21T12:00:00Z",
      reportingComponent: "test.dev/controller",
      reportingInstance: "pod-1",
      source: { component: "test.dev/controller" },
    },
  ]);
});

describe("repetition", () => {
  test("a repeated note increases the count and updates the last time", async () => {
    const { time, events, record } = makeRecorder();
    await record({});
    await time.advance(90_000);
    await record({});
    expect(events.requests.map((request) => request.split(" ")[0])).toStrictEqual(["create", "patch"]);
    expect(events.events[0]).toMatchObject({
      count: 2,
      firstTimestamp: "2026-11-21T12:00:00Z",
      lastTimestamp: "2026-11-21T12:01:30Z",
    });
  });

  test("notes that arrive during a request need only one more request together", async () => {
    const { events, record } = makeRecorder();
    await record(...Array.from({ length: 500 }, () => ({})));
    expect(events.requests).toHaveLength(2);
    expect(events.events[0]).toMatchObject({ count: 500 });
  });

  test("an event that has expired on the server is created again with the same count", async () => {
    const { time, events, record } = makeRecorder();
    await record({});
    await time.advance(3_700_000);
    events.stored.clear();
    await record({});
    expect(events.events[0]).toMatchObject({ count: 2 });
  });

  test("an object with too many events is rate-limited for a while", async () => {
    const { time, events, recorder, dropped } = makeRecorder();
    const noise = async (reason: string) => {
      recorder.record(note({ reason }));
      await time.advance(1);
    };
    for (let index = 0; index < 30; index += 1) await noise(`Reason${index}`);
    expect(events.events).toHaveLength(25);
    expect(dropped).toStrictEqual(Array.from({ length: 5 }, () => "Spam"));
    recorder.record(note({ object: { ...object, name: "other", uid: "u2" } }));
    await time.advance(300_000);
    await noise("Later");
    expect(events.events).toHaveLength(27);
  });
});

describe("faults", () => {
  test.each([
    { code: "TooManyRequests", status: 429 },
    { code: "Unavailable", status: 500 },
  ] as const)("an event refused with $status is retried later, and the others do not wait for it", async (fault) => {
    const { time, events, record, dropped } = makeRecorder();
    events.faults.push(fault, fault);
    await record({ reason: "A" }, { reason: "B" }, { reason: "C" });
    expect(events.events.map(({ reason }) => reason)).toStrictEqual(["C"]);
    await record({ reason: "D" });
    expect(events.events.map(({ reason }) => reason)).toStrictEqual(["C", "D"]);
    await time.advance(1_500);
    expect(events.events.map(({ reason }) => reason)).toStrictEqual(["C", "D", "A", "B"]);
    expect([events.requests.length, dropped, time.pendingTimers]).toStrictEqual([6, [], 0]);
  });

  test.each([{ code: "TooManyRequests", status: 429, retryAfterMs: 7_000 }, { code: "Unavailable" }] as const)(
    "all events wait after $code if the server asks for a delay or does not respond",
    async (fault) => {
      const { time, events, recorder } = makeRecorder();
      events.faults.push(fault);
      for (const reason of ["A", "B"]) recorder.record(note({ reason }));
      await time.advance(1_499);
      expect(events.requests).toHaveLength(1);
      await time.advance(10_000);
      expect(events.events).toHaveLength(2);
    },
  );

  test("an event is not created twice if the response was lost", async () => {
    const { time, events, recorder, dropped } = makeRecorder();
    events.faults.push({ code: "TimedOut" }, { code: "AlreadyExists" });
    recorder.record(note());
    await time.advance(60_000);
    expect(events.requests).toHaveLength(2);
    expect(dropped).toStrictEqual([]);
  });

  test("an outage drops events after some attempts, and reports this", async () => {
    const { time, events, recorder, dropped } = makeRecorder();
    for (let index = 0; index < 6; index += 1) events.faults.push({ code: "Unavailable" });
    recorder.record(note());
    await time.advance(600_000);
    expect(events.requests).toHaveLength(6);
    expect(dropped).toStrictEqual(["Unavailable"]);
    await recorder.stop(0);
    expect(dropped).toStrictEqual(["Unavailable"]);
  });

  test("a refusal is reported, unless the namespace is terminating", async () => {
    const { events, record, dropped } = makeRecorder();
    events.faults.push({ code: "Forbidden", causes: ["NamespaceTerminating"] });
    await record({ reason: "A" });
    events.faults.push({ code: "NotFound" });
    await record({ reason: "B" });
    expect(dropped).toStrictEqual([]);
    events.faults.push({ code: "Forbidden" });
    await record({ reason: "C" });
    expect(dropped).toStrictEqual(["Refused"]);
  });

  test("a full queue drops and counts, and the caller never waits", async () => {
    const { time, events, recorder, dropped } = makeRecorder();
    events.silent = true;
    for (let index = 0; index < queueLengthMax + 51; index += 1) {
      recorder.record(note({ object: { ...object, uid: `u${index}` } }));
    }
    expect(dropped).toStrictEqual(Array.from({ length: 50 }, () => "QueueFull"));
    const stopping = recorder.stop(1_000);
    await time.advance(1_000);
    await stopping;
    expect(dropped.filter((why) => why === "Stopped")).toHaveLength(queueLengthMax + 1);
  });
});

describe("stopping", () => {
  test("writes the queued events first", async () => {
    const { time, events, recorder, dropped } = makeRecorder();
    for (const reason of ["A", "B", "C"]) recorder.record(note({ reason }));
    const stopping = recorder.stop(5_000);
    await time.advance(0);
    await stopping;
    expect(events.events).toHaveLength(3);
    recorder.record(note());
    expect(dropped).toStrictEqual(["Stopped"]);
  });

  test("ends at its deadline", async () => {
    const { time, events, recorder, dropped } = makeRecorder();
    events.silent = true;
    for (const reason of ["A", "B", "C"]) recorder.record(note({ reason }));
    const stopping = recorder.stop(5_000);
    await time.advance(5_000);
    await stopping;
    await time.advance(60_000);
    expect(events.requests).toHaveLength(1);
    expect(dropped).toStrictEqual(["Stopped", "Stopped", "Stopped"]);
    expect(time.pendingTimers).toBe(0);
  });
});

test("notes that differ in object, type, reason or message are different events", async () => {
  const { events, record } = makeRecorder();
  const others = [{ type: "Normal" }, { reason: "Removed" }, { message: "Added another entry" }] as const;
  await record({}, ...others, { object: { ...object, uid: "u2" } }, {});
  expect(events.events.map(({ count }) => count)).toStrictEqual([2, 1, 1, 1, 1]);
});

test("a long message is truncated, but never within a character", async () => {
  const { events, record } = makeRecorder();
  await record({ message: "x".repeat(5_000) });
  const { message = "" } = events.events[0] ?? {};
  expect(Buffer.byteLength(message)).toBe(messageBytesMax);
  expect(message.endsWith("x…")).toBe(true);
  expect(cutText("ab😀cd", 7)).toBe("ab…");
  expect(cutText("ab😀", 6)).toBe("ab😀");
});

test("the name of an event is not longer than Kubernetes allows", async () => {
  const { events, record } = makeRecorder();
  await record({ object: { ...object, name: "n".repeat(253) } });
  expect(events.events[0]?.metadata.name).toHaveLength(253);
});
