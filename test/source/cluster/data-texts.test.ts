// When ConfigMaps and Secrets are read, which content counts, and what is kept if they can't be read.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { type ApiResult, localFault, type ApiServer } from "../../../src/kube/api-server.ts";
import type { KubeObject } from "../../../src/kube/kube-object.ts";
import { createObjectStore, type ObjectStore } from "../../../src/kube/store.ts";
import { type DataObject, DataTexts } from "../../../src/source/cluster/data-texts.ts";

const name = { namespace: "shop", name: "list" };
const map: DataObject = { kind: "ConfigMap", ...name };
const secret: DataObject = { kind: "Secret", ...name };
const key = "list.txt";
const ageMsMax = 60_000;
const source = { ...map, key };
const lengthMax = 1_000;

let watched: ObjectStore<KubeObject>;
let texts: DataTexts;
let requests: ((result: ApiResult<unknown>) => void)[];
let changed: number;
let nowMs: number;

beforeEach(() => {
  watched = createObjectStore();
  requests = [];
  changed = 0;
  nowMs = 0;
  const clock = { monotonicMs: () => nowMs };
  texts = new DataTexts({ api: heldServer(), clock, watched, onChanged: () => void (changed += 1) });
});

/** Its requests end when the test answers them. */
function heldServer(): ApiServer {
  return {
    request: async <T>() =>
      await new Promise<ApiResult<T>>((resolve) => {
        requests.push((result) => resolve(result as ApiResult<T>));
      }),
    openStream: async () => ({ ok: false, fault: localFault("Aborted", "") }),
    close: () => undefined,
  };
}

function metadataIn(version: string): KubeObject["metadata"] {
  return { ...name, uid: "u", resourceVersion: version };
}

function answer(version: string, text: string): ApiResult<unknown> {
  return { ok: true, status: 200, value: { metadata: metadataIn(version), data: { [key]: text } } };
}

const notFound: ApiResult<unknown> = { ok: false, fault: { ...localFault("Unavailable", ""), code: "NotFound" } };

/** The watch shows this version. */
function show(version: string): void {
  watched.put({ metadata: metadataIn(version) });
  texts.configMapChanged({ metadata: metadataIn(version) });
}

/** Loads, and answers the request. */
async function load(
  result: ApiResult<unknown>,
  options: { isFresh?: boolean; lengthMax?: number; object?: DataObject } = {},
) {
  const { object = map, ...others } = options;
  const loading = texts.load(object, { lengthMax, ageMsMax, isFresh: false, ...others });
  await settled();
  requests.at(-1)?.(result);
  await loading;
  return texts.text({ ...object, key });
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe("A ConfigMap", () => {
  test("is read once for each version, and the same text is the same object", async () => {
    expect(texts.text({ ...map, key })).toMatchObject({
      state: "Missing",
      problem: "ConfigMap shop/list is still being read.",
    });
    show("1");
    await settled();
    expect(requests).toHaveLength(0);
    const first = await load(answer("1", "192.0.2.1\n"));
    expect(first).toStrictEqual({ state: "Read", source, text: "192.0.2.1\n" });
    await texts.load(map, { lengthMax, ageMsMax, isFresh: false });
    expect(requests).toHaveLength(1);
    show("2");
    await settled();
    requests[1]?.(answer("2", "192.0.2.1\n"));
    await settled();
    expect([texts.text({ ...map, key }), changed]).toStrictEqual([first, 0]);
    expect(texts.text({ ...map, key })).toBe(first);
    show("3");
    await settled();
    requests[2]?.(answer("3", "192.0.2.2\n"));
    await settled();
    expect([texts.text({ ...map, key }), changed]).toMatchObject([{ text: "192.0.2.2\n" }, 1]);
  });

  test("that was read stays as it was read while the watch lags behind, which does not show it yet", async () => {
    await load(answer("1", "192.0.2.1\n"), { isFresh: true });
    expect(await load(answer("1", "192.0.2.1\n"))).toMatchObject({ text: "192.0.2.1\n" });
    expect(requests).toHaveLength(2);
  });

  test("that changes while it is read is read once more, for all callers", async () => {
    show("1");
    const loading = texts.load(map, { lengthMax, ageMsMax, isFresh: false });
    await settled();
    for (const version of ["2", "3"]) show(version);
    const fresh = texts.load(map, { lengthMax, ageMsMax, isFresh: true });
    requests[0]?.(answer("1", "192.0.2.1\n"));
    await loading;
    await settled();
    requests[1]?.(answer("3", "192.0.2.3\n"));
    await fresh;
    expect([requests.length, texts.text({ ...map, key })]).toMatchObject([2, { text: "192.0.2.3\n" }]);
  });

  test("is read again by a fresh read, although the watch shows no change", async () => {
    show("1");
    await load(answer("1", "192.0.2.1\n"));
    expect(await load(answer("2", "192.0.2.2\n"), { isFresh: true })).toMatchObject({ text: "192.0.2.2\n" });
  });

  test("that does not exist is requested only by a fresh read, until the watch shows it", async () => {
    await texts.load(map, { lengthMax, ageMsMax, isFresh: false });
    const missing = { problem: expect.stringContaining("There is no ConfigMap shop/list") };
    expect([requests.length, texts.text({ ...map, key })]).toMatchObject([0, missing]);
    expect(await load(notFound, { isFresh: true })).toMatchObject(missing);
    show("1");
    await settled();
    requests[1]?.(answer("1", "192.0.2.1\n"));
    await settled();
    expect([texts.text({ ...map, key }), changed]).toMatchObject([{ text: "192.0.2.1\n" }, 1]);
    expect(texts.text({ ...map, key: "other" })).toMatchObject({
      problem: expect.stringContaining("has no key other: it has list.txt"),
    });
  });

  test("that can't be read keeps its last content, reports the problem, and is read again", async () => {
    show("1");
    await load(answer("1", "192.0.2.1\n"));
    show("2");
    await settled();
    requests[1]?.({ ok: false, fault: localFault("TimedOut", "No answer.") });
    await settled();
    expect(texts.text({ ...map, key })).toMatchObject({ text: "192.0.2.1\n" });
    expect(texts.problem(map)).toBe("ConfigMap shop/list could not be read: No answer.");
    expect(changed).toBe(1);
    const retrying = texts.retry();
    await settled();
    requests[2]?.(answer("2", "192.0.2.1\n"));
    await retrying;
    expect([texts.problem(map), changed]).toStrictEqual([undefined, 2]);
  });

  test("with a longer text than a grant allows is not kept, and is read again if the limit is higher", async () => {
    show("1");
    const text = "192.0.2.1\n".repeat(101);
    expect(await load(answer("1", text))).toMatchObject({
      state: "Missing",
      problem: expect.stringContaining("1,000"),
    });
    expect(await load(answer("1", text), { lengthMax: 2_000 })).toMatchObject({ state: "Read" });
    // Another user's lower limit does not drop it.
    await texts.load(map, { lengthMax, ageMsMax, isFresh: false });
    expect([requests.length, texts.text({ ...map, key }).state]).toStrictEqual([2, "Read"]);
  });
});

describe("A Secret", () => {
  const encoded = (text: string): ApiResult<unknown> => answer("1", Buffer.from(text).toString("base64"));

  test("is decoded, and read again only when its content is too old or must be fresh", async () => {
    const first = await load(encoded("192.0.2.1\n"), { object: secret });
    expect(first).toStrictEqual({ state: "Read", source: { ...secret, key }, text: "192.0.2.1\n" });
    nowMs = ageMsMax - 1;
    await texts.load(secret, { lengthMax, ageMsMax, isFresh: false });
    expect(requests).toHaveLength(1);
    nowMs = ageMsMax;
    expect(await load(encoded("192.0.2.1\n"), { object: secret })).toBe(first);
    expect([requests.length, changed]).toStrictEqual([2, 0]);
    texts.refresh(secret);
    expect(await load(encoded("192.0.2.2\n"), { object: secret })).toMatchObject({ text: "192.0.2.2\n" });
    expect(await load(encoded("192.0.2.3\n"), { object: secret, isFresh: true })).toMatchObject({
      text: "192.0.2.3\n",
    });
    expect([requests.length, changed]).toStrictEqual([4, 2]);
  });

  test("that does not exist is requested again until it does, and its other keys are not named", async () => {
    const missing = { problem: expect.stringContaining("There is no Secret shop/list") };
    expect(await load(notFound, { object: secret })).toMatchObject(missing);
    const retrying = texts.retry();
    await settled();
    requests[1]?.(encoded("192.0.2.1\n"));
    await retrying;
    expect([changed, texts.text({ ...secret, key }).state]).toStrictEqual([1, "Read"]);
    expect(texts.text({ ...secret, key: "other" })).toMatchObject({
      problem: "Secret shop/list has no key other: correct spec.addressesFrom.",
    });
  });
});
