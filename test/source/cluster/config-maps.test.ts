// When a ConfigMap is read, which content counts, and what is kept if it can't be read.
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { ApiResult } from "../../../src/kube/api-result.ts";
import { localFault } from "../../../src/kube/api-result.ts";
import type { ApiServer } from "../../../src/kube/api-server.ts";
import type { KubeObject } from "../../../src/kube/kube-object.ts";
import { createObjectStore, type ObjectStore } from "../../../src/kube/store.ts";
import { ConfigMaps } from "../../../src/source/cluster/config-maps.ts";

const name = { namespace: "shop", name: "list" };
const key = "list.txt";
const source = "ConfigMap shop/list, key list.txt";
const lengthMax = 1_000;

let watched: ObjectStore<KubeObject>;
let maps: ConfigMaps;
let requests: ((result: ApiResult<unknown>) => void)[];
let changed: number;

beforeEach(() => {
  watched = createObjectStore();
  requests = [];
  changed = 0;
  maps = new ConfigMaps({ api: heldServer(), watched, onChanged: () => void (changed += 1) });
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
  maps.changed({ metadata: metadataIn(version) });
}

/** Loads, and answers the request. */
async function load(result: ApiResult<unknown>, options: { isFresh?: boolean; lengthMax?: number } = {}) {
  const loading = maps.load(name, { lengthMax, isFresh: false, ...options });
  await settled();
  requests.at(-1)?.(result);
  await loading;
  return maps.text(name, key);
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe("A ConfigMap", () => {
  test("is read once for each version, and the same text is the same object", async () => {
    expect(maps.text(name, key)).toMatchObject({
      state: "Missing",
      problem: "ConfigMap shop/list is still being read.",
    });
    show("1");
    await settled();
    expect(requests).toHaveLength(0);
    const first = await load(answer("1", "192.0.2.1\n"));
    expect(first).toStrictEqual({ state: "Read", source, text: "192.0.2.1\n" });
    await maps.load(name, { lengthMax, isFresh: false });
    expect(requests).toHaveLength(1);
    show("2");
    await settled();
    requests[1]?.(answer("2", "192.0.2.1\n"));
    await settled();
    expect([maps.text(name, key), changed]).toStrictEqual([first, 0]);
    expect(maps.text(name, key)).toBe(first);
    show("3");
    await settled();
    requests[2]?.(answer("3", "192.0.2.2\n"));
    await settled();
    expect([maps.text(name, key), changed]).toMatchObject([{ text: "192.0.2.2\n" }, 1]);
  });

  test("that was read stays as it was read while the watch lags behind, which does not show it yet", async () => {
    await load(answer("1", "192.0.2.1\n"), { isFresh: true });
    expect(await load(answer("1", "192.0.2.1\n"))).toMatchObject({ text: "192.0.2.1\n" });
    expect(requests).toHaveLength(2);
  });

  test("that changes while it is read is read once more, for all callers", async () => {
    show("1");
    const loading = maps.load(name, { lengthMax, isFresh: false });
    await settled();
    for (const version of ["2", "3"]) show(version);
    const fresh = maps.load(name, { lengthMax, isFresh: true });
    requests[0]?.(answer("1", "192.0.2.1\n"));
    await loading;
    await settled();
    requests[1]?.(answer("3", "192.0.2.3\n"));
    await fresh;
    expect([requests.length, maps.text(name, key)]).toMatchObject([2, { text: "192.0.2.3\n" }]);
  });

  test("is read again by a fresh read, although the watch shows no change", async () => {
    show("1");
    await load(answer("1", "192.0.2.1\n"));
    expect(await load(answer("2", "192.0.2.2\n"), { isFresh: true })).toMatchObject({ text: "192.0.2.2\n" });
  });

  test("that does not exist is requested only by a fresh read, until the watch shows it", async () => {
    await maps.load(name, { lengthMax, isFresh: false });
    const missing = { problem: expect.stringContaining("There is no ConfigMap shop/list") };
    expect([requests.length, maps.text(name, key)]).toMatchObject([0, missing]);
    expect(await load(notFound, { isFresh: true })).toMatchObject(missing);
    show("1");
    await settled();
    requests[1]?.(answer("1", "192.0.2.1\n"));
    await settled();
    expect([maps.text(name, key), changed]).toMatchObject([{ text: "192.0.2.1\n" }, 1]);
    expect(maps.text(name, "other")).toMatchObject({
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
    expect(maps.text(name, key)).toMatchObject({ text: "192.0.2.1\n" });
    expect(maps.problem(name)).toBe("ConfigMap shop/list could not be read: No answer.");
    expect(changed).toBe(1);
    const retrying = maps.retry();
    await settled();
    requests[2]?.(answer("2", "192.0.2.1\n"));
    await retrying;
    expect([maps.problem(name), changed]).toStrictEqual([undefined, 2]);
  });

  test("with a longer text than a grant allows is not kept, and is read again if the limit is higher", async () => {
    show("1");
    const text = "192.0.2.1\n".repeat(101);
    expect(await load(answer("1", text))).toMatchObject({
      isTooLarge: true,
      problem: expect.stringContaining("1,000"),
    });
    expect(await load(answer("1", text), { lengthMax: 2_000 })).toMatchObject({ state: "Read" });
    // Another user's lower limit does not drop it.
    await maps.load(name, { lengthMax, isFresh: false });
    expect([requests.length, maps.text(name, key).state]).toStrictEqual([2, "Read"]);
  });
});
