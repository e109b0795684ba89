// How long a caller waits for a ConfigMap, and the result if that is not enough.
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { ApiResult } from "../../../src/kube/api-result.ts";
import type { ApiServer } from "../../../src/kube/api-server.ts";
import { localFault } from "../../../src/kube/api-result.ts";
import { createObjectStore } from "../../../src/kube/store.ts";
import type { AddressText } from "../../../src/model/gathered.ts";
import { contentOf } from "../../../src/source/cluster/config-map-content.ts";
import { AddressTexts, type Freshness } from "../../../src/source/cluster/address-texts.ts";
import { aRule } from "../../support/builders/declare.ts";
import { createVirtualClock, type VirtualClock } from "../../support/fakes/virtual-clock.ts";

const source = "ConfigMap guest/list, key list.txt";
const stillRead: AddressText = { state: "Missing", source, problem: "ConfigMap guest/list is still being read." };
const { rule } = aRule("guest/rule", { addressesFrom: [{ name: "list", key: "list.txt" }] });

let clock: VirtualClock;
let texts: AddressTexts;
let requests: ((result: ApiResult<unknown>) => void)[];
let changed: string[];
let wanted: ReadonlySet<string>;

beforeEach(() => {
  wanted = new Set(["list.txt"]);
  clock = createVirtualClock();
  requests = [];
  changed = [];
  texts = new AddressTexts({
    api: heldServer(),
    clock,
    watched: createObjectStore(),
    wantedOf: () => wanted,
    onChanged: (mapKey) => void changed.push(mapKey),
  });
});

/** Its requests end when the test releases them. */
function heldServer(): ApiServer {
  return {
    request: async <T>() =>
      await new Promise<ApiResult<T>>((resolve) => {
        requests.push((result) => resolve(result as ApiResult<T>));
      }),
    openStream: async () => ({ ok: false, fault: localFault("Aborted", "") }),
    close: async () => undefined,
  };
}

function answer(text: string, version = "1"): ApiResult<unknown> {
  const metadata = { namespace: "guest", name: "list", uid: "u", resourceVersion: version };
  return { ok: true, status: 200, value: { metadata, data: { "list.txt": text } } };
}

/** Reads with a limit of 250 ms. */
async function readInTime(freshness: Partial<Freshness> = {}): Promise<readonly AddressText[]> {
  const now = clock.monotonicMs();
  const read = await texts.read(rule, {
    notBeforeMs: Number.NEGATIVE_INFINITY,
    bypassWatch: false,
    waitUntilMs: now + 250,
    ...freshness,
  });
  expect([read.problems, read.missing]).toStrictEqual([[], []]);
  return read.texts;
}

/** The result for a caller that waits until its limit. */
async function readTooShort(freshness: Partial<Freshness> = {}): Promise<readonly AddressText[]> {
  const reading = readInTime(freshness);
  await clock.advance(250);
  return await reading;
}

/** The ConfigMap was read and contains this text. */
async function known(text: string): Promise<void> {
  const reading = readInTime();
  requests[0]?.(answer(text));
  await reading;
}

describe("a caller that waits for a limited time", () => {
  test("gets the text if the read ends in time, and nothing is reported", async () => {
    const reading = readInTime();
    await clock.advance(249);
    requests[0]?.(answer("198.51.100.1\n"));
    expect(await reading).toStrictEqual([{ state: "Read", source, text: "198.51.100.1\n" }]);
    await clock.advance(1_000);
    expect(changed).toStrictEqual([]);
  });

  test("learns that the first read continues, and is notified of its end", async () => {
    expect(await readTooShort()).toStrictEqual([stillRead]);
    expect(changed).toStrictEqual([]);
    requests[0]?.(answer("198.51.100.1\n"));
    await clock.settle();
    expect(changed).toStrictEqual(["guest/list"]);
    expect(await readInTime()).toStrictEqual([{ state: "Read", source, text: "198.51.100.1\n" }]);
    expect(requests).toHaveLength(1);
  });

  test("is also notified of the end of a failed read", async () => {
    await readTooShort();
    requests[0]?.({ ok: false, fault: localFault("TimedOut", "No answer") });
    await clock.settle();
    expect(changed).toStrictEqual(["guest/list"]);
  });

  test("waits only once for the same read", async () => {
    await readTooShort();
    expect(await readInTime()).toStrictEqual([stillRead]);
    expect([requests.length, clock.sleeperCount()]).toStrictEqual([1, 0]);
  });

  test("gets the last text if another read takes too long, and is notified of the new one", async () => {
    await known("198.51.100.1\n");
    await clock.advance(1);
    texts.refresh("guest/list");
    expect(await readTooShort()).toStrictEqual([{ state: "Read", source, text: "198.51.100.1\n" }]);
    requests[1]?.(answer("198.51.100.2\n", "2"));
    await clock.settle();
    expect(changed).toContain("guest/list");
    expect(await readInTime()).toStrictEqual([{ state: "Read", source, text: "198.51.100.2\n" }]);
  });
});

describe("a fresh read with a limit", () => {
  test("does not rely on the first read if that takes too long", async () => {
    expect(await readTooShort({ bypassWatch: true })).toStrictEqual([stillRead]);
  });

  test("does not rely on a read that began earlier, even if it ends meanwhile", async () => {
    await readTooShort();
    const notBeforeMs = clock.monotonicMs();
    const reading = readInTime({ bypassWatch: true, notBeforeMs });
    requests[0]?.(answer("198.51.100.1\n"));
    await clock.advance(250);
    expect(await reading).toStrictEqual([stillRead]);
  });

  test("waits without limit for a text that was read before", async () => {
    await known("198.51.100.1\n");
    await clock.advance(1);
    const reading = readInTime({ bypassWatch: true, notBeforeMs: clock.monotonicMs() });
    let isOver = false;
    void reading.then(() => void (isOver = true));
    await clock.advance(5_000);
    expect(isOver).toBe(false);
    requests[1]?.(answer("198.51.100.2\n", "2"));
    expect(await reading).toStrictEqual([{ state: "Read", source, text: "198.51.100.2\n" }]);
  });
});

test("of a ConfigMap, only the keys that rules use are kept, and other keys must be read", async () => {
  const metadata = { namespace: "guest", name: "list", uid: "u", resourceVersion: "1" };
  const data = { "list.txt": "192.0.2.1\n", "other.txt": "192.0.2.2\n" };
  const both: ApiResult<unknown> = { ok: true, status: 200, value: { metadata, data } };
  const first = readInTime();
  requests[0]?.(both);
  await first;
  const content = contentOf({ metadata, data: { ...data, "huge.txt": "198.51.100.1\n" } }, wanted);
  expect([...content.data.keys()]).toStrictEqual(["list.txt"]);
  // Kept keys need no further request.
  expect(await readInTime()).toMatchObject([{ state: "Read", text: "192.0.2.1\n" }]);
  expect(requests).toHaveLength(1);

  wanted = new Set(["list.txt", "other.txt"]);
  const other = aRule("guest/other", { addressesFrom: [{ name: "list", key: "other.txt" }] });
  const second = texts.read(other.rule, { notBeforeMs: Number.NEGATIVE_INFINITY, bypassWatch: false });
  await clock.settle();
  expect(requests).toHaveLength(2);
  requests[1]?.(both);
  expect((await second).texts).toMatchObject([{ state: "Read", text: "192.0.2.2\n" }]);
});
