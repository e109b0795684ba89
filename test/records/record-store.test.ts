// The contract of record stores, over files, over both places of a remote state, and over an API server in memory. On a real one:
// test/records/cluster-records.test.ts.
import { rm, readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { ApiServer } from "../../src/kube/api-server.ts";
import { ClusterRecordStore, splitText } from "../../src/records/cluster-record-store.ts";
import { FileRecordStore } from "../../src/records/file-record-store.ts";
import type { RecordKey, RecordStore } from "../../src/records/record-store.ts";
import { openStateDirectory, type StateDirectory } from "../../src/source/directory/state-directory.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";
import { MemoryRecords } from "./memory-records.ts";
import { aText, saveText, testRecordStore, textLengthMax, textOf } from "./test-record-store.ts";
import { hurriedClock } from "../support/worlds/git-remote.ts";
import { gitWorld, recordWorld, type RemoteProcess, type RemoteWorld } from "../support/worlds/remote-worlds.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";

let serial = 0;
const newKey = async (): Promise<RecordKey> => ({ type: "Inventory", namespace: "shop", name: `waf-${(serial += 1)}` });

describe("Records in files", () => {
  let state: StateDirectory;
  let folder: string;

  beforeAll(async () => {
    folder = (await scratchDirectory()).path;
    const opened = await openStateDirectory({ path: folder, command: "wafsync run", clock: createVirtualClock() });
    if (!opened.ok) throw new Error(opened.problem);
    ({ state } = opened);
  });
  afterAll(async () => {
    await state.release();
    await rm(folder, { recursive: true });
  });

  const open = (writesLeft = Number.POSITIVE_INFINITY): FileRecordStore => {
    let left = writesLeft;
    const isDead = (): boolean => (left -= 1) < 0;
    const killed = { ok: false, problem: "The process was killed." } as const;
    return new FileRecordStore({
      read: async (file, bytesMax) => await state.read(file, bytesMax),
      list: async (path) => await state.list(path),
      placeOf: (file) => state.placeOf(file),
      write: async (file, content) => (isDead() ? killed : await state.write(file, content)),
      remove: async (file) => (isDead() ? killed : await state.remove(file)),
    });
  };
  const pathOf = (key: RecordKey): string => open().placeOf(key);

  testRecordStore(() => ({
    open,
    newKey,
    count: async ({ name }) => {
      const listed = await state.list(["inventory", "shop"]);
      return listed.ok ? listed.value.filter((path) => path.at(-1) === `${name}.txt`).length : 0;
    },
    damage: async (key) => await writeFile(pathOf(key), "192.0.2.1\n"),
  }));

  test("say what they are, are listed, and are not used under another name", async () => {
    const [key, copy] = [await newKey(), await newKey()];
    await saveText(open(), key, aText(1));
    const text = await readFile(pathOf(key), "utf8");
    expect(text).toBe(`# inventory shop/${key.name}: wafsync writes this file, do not edit it.\n${aText(1)}`);
    await writeFile(pathOf(copy), text);
    expect(await open().load(copy)).toMatchObject({
      state: "Damaged",
      problem: expect.stringContaining("another object"),
    });
    await writeFile(pathOf(copy).replace(copy.name, "Not a name"), text);
    const listed = await open().list("Inventory");
    const names = listed.ok ? listed.value.map(({ name }) => name) : [];
    expect(names).toStrictEqual(expect.arrayContaining([key.name, copy.name]));
    expect(names).not.toContain("Not a name");
  });
});

interface Started extends RemoteProcess {
  readonly store: FileRecordStore;
}

describe.each([
  ["branch of a Git repository", gitWorld],
  ["record of a cluster", recordWorld],
])("Records in a %s", (_, openWorld) => {
  let world: RemoteWorld;
  /** The process that lives. The next one takes the state over. */
  let living: Promise<Started> | undefined;

  beforeAll(async () => void (world = await openWorld()));
  afterAll(async () => {
    await end();
    await world[Symbol.asyncDispose]();
  });

  const end = async (): Promise<void> => {
    const ending = living;
    living = undefined;
    await (await ending)?.state.close();
  };
  const start = async (actsLeft?: number): Promise<Started> => {
    await end();
    const started = await world.process();
    const { state: remote } = started;
    expect(await remote.hold()).toMatchObject({ ok: true });
    if (actsLeft !== undefined) started.killAfter(actsLeft);
    const opened = await openStateDirectory({ path: remote.path, command: "x", clock: hurriedClock(), remote });
    if (!opened.ok) throw new Error(opened.problem);
    return { ...started, store: new FileRecordStore(opened.state) };
  };
  const open = (actsLeft?: number): RecordStore => {
    const started = actsLeft === undefined ? (living ??= start()) : start(actsLeft);
    return {
      load: async (key) => await (await started).store.load(key),
      save: async (key, text, revision) => await (await started).store.save(key, text, revision),
      remove: async (key) => await (await started).store.remove(key),
      placeOf: (key) => `${pathOf(key)} in ${world.where}`,
    };
  };
  const pathOf = ({ name }: RecordKey): string => `inventory/shop/${name}.txt`;

  testRecordStore(() => ({
    open,
    newKey,
    count: async (key) => world.files().filter((path) => path === pathOf(key)).length,
    damage: async (key) => {
      await end();
      await using other = await world.process({ command: "another program" });
      await other.state.hold();
      await other.state.publish(pathOf(key).split("/"), "192.0.2.1\n");
    },
  }));

  test("are named by their place in messages", async () => {
    const key = await newKey();
    const { store } = await (living ??= start());
    await saveText(store, key, aText(1));
    expect(store.placeOf(key)).toBe(open().placeOf(key));
  });
});

describe("Records in WafRecords", () => {
  const records = new MemoryRecords();
  const openOver = (api: ApiServer): ClusterRecordStore =>
    new ClusterRecordStore({
      api,
      ownerOf: () => ({ uid: "u-1", retains: false }),
      mayWrite: () => true,
      textLengthMax,
    });
  const open = (writesLeft?: number): ClusterRecordStore => openOver(records.open(writesLeft));
  const objectsOf = ({ name }: RecordKey) =>
    [...records.objects.values()].filter(({ metadata }) => metadata.name.startsWith(`${name}-inventory`));

  testRecordStore(() => ({
    open,
    newKey,
    count: async (key) => objectsOf(key).length,
    damage: async (key) => void (objectsOf(key)[0]!.spec.text += "x"),
  }));

  test.each<[string, (objects: ReturnType<typeof objectsOf>) => void, string]>([
    ["a missing part", ([part]) => void records.objects.delete(part!.metadata.name), "is missing"],
    ["another list of parts", (objects) => void objects.at(-1)!.spec.parts!.pop(), "was changed"],
    ["a newer format", (objects) => void (objects.at(-1)!.spec.format = 2), "run the newer version"],
  ])("%s is damage, and the problem says so", async (_, damage, problem) => {
    const key = await newKey();
    await saveText(open(), key, aText(300));
    damage(objectsOf(key).toSorted((a) => (a.spec.parts === undefined ? -1 : 1)));
    expect(await open().load(key)).toMatchObject({ state: "Damaged", problem: expect.stringContaining(problem) });
  });

  test("a record without its labels is found by its name", async () => {
    const key = await newKey();
    await saveText(open(), key, aText(300));
    for (const { metadata } of objectsOf(key)) metadata.labels = {};
    expect(await textOf(open(), key)).toBe(aText(300));
  });

  test("a save with the same content makes older revisions stale", async () => {
    const key = await newKey();
    const former = open();
    await saveText(former, key, aText(5));
    const seen = await former.load(key);
    await saveText(open(), key, aText(5));
    expect(await former.save(key, aText(6), seen.state === "Loaded" ? seen.revision : "")).toMatchObject({
      state: "Conflict",
    });
  });

  test("a slow process deletes no part that a newer version lists, although that has the text of a former one", async () => {
    const key = await newKey();
    const api = records.open();
    let meanwhile = async (): Promise<unknown> => undefined;
    const slow = openOver({
      ...api,
      request: async (sent) => {
        const act = meanwhile;
        if (sent.method === "DELETE") meanwhile = async () => undefined;
        if (sent.method === "DELETE") await act();
        return await api.request(sent);
      },
    });
    await saveText(slow, key, aText(300));
    meanwhile = async () => await saveText(open(), key, aText(300));
    expect(await saveText(slow, key, aText(10))).toBe("Saved");
    expect(await textOf(open(), key)).toBe(aText(300));
  });

  test("a part that a killed process left, and that was damaged since, is written again", async () => {
    const key = await newKey();
    await saveText(open(2), key, aText(300));
    for (const { spec } of objectsOf(key)) spec.text = "x";
    expect(await saveText(open(), key, aText(300))).toBe("Saved");
    expect(await textOf(open(), key)).toBe(aText(300));
  });

  test("a changed line of a large record costs two parts at most, and the object that lists them", async () => {
    const key = await newKey();
    const store = new ClusterRecordStore({
      api: records.open(),
      ownerOf: () => ({ uid: "u-1", retains: true }),
      mayWrite: () => true,
    });
    const large = aText(100_000);
    await saveText(store, key, large);
    records.writes.length = 0;
    await saveText(store, key, large.replace("first", "next").replace("10.0.99.99 id", "10.0.99.99 changed"));
    const sent = records.writes.filter((write) => !write.startsWith("DELETE"));
    expect(sent.length).toBeLessThanOrEqual(3);
    const bytes = sent.reduce((sum, write) => sum + Number(write.split(" ").at(-1)), 0);
    expect(bytes).toBeLessThan(large.length / 4);
  });
});

test("Parts are the text when joined, begin behind the first line, and stay small", () => {
  for (const text of [aText(4_000), `${"x".repeat(9_000)}\n${aText(400)}`, "\n\n", "\ud83d\ude00".repeat(3_000)]) {
    const { first, parts } = splitText(text, textLengthMax);
    expect([first, ...parts].join("")).toBe(text);
    expect(Math.max(0, ...parts.map(({ length }) => length))).toBeLessThanOrEqual(2 * textLengthMax);
    for (const part of parts) expect(part.isWellFormed()).toBe(true);
  }
  expect(splitText(aText(4_000), textLengthMax)).toMatchObject({ first: "first\n" });
});
