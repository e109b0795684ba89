// The contract of every record store, with a kill at each of its writes.
import { expect, test } from "@jest/globals";
import type { RecordKey, RecordStore } from "../../src/records/record-store.ts";

/** Texts longer than this have parts. */
export const textLengthMax = 2_000;
const writesMax = 60;

export interface StoreUnderTest {
  /** Opens the store in a new process, which is killed after this number of writes: undefined for never. */
  readonly open: (writesLeft?: number) => RecordStore;
  /** A record whose owner exists. */
  readonly newKey: () => Promise<RecordKey>;
  /** Changes the stored record as another program. */
  readonly damage: (key: RecordKey) => Promise<void>;
  /** The number of objects or files of a record. */
  readonly count: (key: RecordKey) => Promise<number>;
}

/** A first line that every save changes, and this number of other lines. */
export function aText(lines: number, first = "first", start = 0): string {
  const others = Array.from(
    { length: lines },
    (_, index) => `10.0.${(start + index) >> 8}.${(start + index) & 255} id`,
  );
  return [first, ...others.toSorted(), ""].join("\n");
}

export async function saveText(store: RecordStore, key: RecordKey, text: string): Promise<string> {
  const loaded = await store.load(key);
  if (loaded.state === "Unreachable") throw new Error(loaded.problem);
  return (await store.save(key, text, loaded.revision)).state;
}

export async function textOf(store: RecordStore, key: RecordKey): Promise<string | undefined> {
  const loaded = await store.load(key);
  if (loaded.state === "Loaded") return loaded.text;
  if (loaded.state === "Absent") return undefined;
  throw new Error(loaded.problem);
}

export function testRecordStore(under: () => StoreUnderTest): void {
  test("a text of any size is loaded as it was saved, with no unneeded objects", async () => {
    const { open, newKey, count } = under();
    const [key, other] = [await newKey(), await newKey()];
    expect(await open().load(key)).toStrictEqual({ state: "Absent", revision: "" });
    await saveText(open(), other, aText(1));
    for (const text of [
      aText(400),
      aText(500, "next"),
      aText(2),
      "",
      "no line end",
      `${"é".repeat(9_000)}\nx`,
      aText(1),
    ]) {
      expect(await saveText(open(), key, text)).toBe("Saved");
      expect(await textOf(open(), key)).toBe(text);
    }
    expect(await count(key)).toBe(1);
    expect(await textOf(open(), other)).toBe(aText(1));
  });

  test("saves follow one another by the revision that each returns", async () => {
    const { open, newKey } = under();
    const key = await newKey();
    const store = open();
    let revision = "";
    for (const lines of [2, 300, 301, 300, 1]) {
      const saved = await store.save(key, aText(lines), revision);
      if (saved.state !== "Saved") throw new Error(saved.problem);
      revision = saved.revision;
      expect(await textOf(open(), key)).toBe(aText(lines));
    }
  });

  test("of two writers with the same revision, one succeeds and the other one gets a conflict", async () => {
    const { open, newKey } = under();
    const key = await newKey();
    const [left, right] = [open(), open()];
    const states = await Promise.all([left.save(key, aText(300, "a"), ""), left.save(key, aText(300, "b"), "")]);
    expect(states.map(({ state }) => state).toSorted()).toStrictEqual(["Conflict", "Saved"]);
    const [seen, same] = [await left.load(key), await right.load(key)];
    if (seen.state !== "Loaded" || same.state !== "Loaded") throw new Error("not loaded");
    expect(await left.save(key, aText(301), seen.revision)).toMatchObject({ state: "Saved" });
    expect(await left.save(key, aText(2), seen.revision)).toMatchObject({ state: "Conflict" });
    expect(await right.save(key, aText(2), same.revision)).toMatchObject({ state: "Conflict" });
    expect(await open().save(key, aText(2), "")).toMatchObject({ state: "Conflict" });
    expect(await textOf(open(), key)).toBe(aText(301));
    const last = await left.load(key);
    await open().remove(key);
    expect(await left.save(key, aText(2), last.state === "Loaded" ? last.revision : "")).toMatchObject({
      state: "Conflict",
    });
  });

  test.each([
    { change: "creates", before: undefined, after: aText(300) },
    { change: "grows", before: aText(60), after: aText(300) },
    { change: "shrinks", before: aText(300), after: aText(40) },
    { change: "changes one line of", before: aText(300), after: aText(300, "other").replace(" id", " 2") },
    { change: "replaces", before: aText(200), after: aText(200, "first", 100) },
  ])(
    "a kill after any write of a save that $change a text leaves the former or the new one",
    async ({ before, after }) => {
      const { open, newKey, count } = under();
      for (let writes = 0; ; writes += 1) {
        const key = await newKey();
        if (before !== undefined) await saveText(open(), key, before);
        const outcome = await saveText(open(writes), key, after);
        const found = await textOf(open(), key);
        expect([before, after]).toContain(found);
        if (outcome === "Saved") expect(found).toBe(after);
        expect(await saveText(open(), key, after)).toBe("Saved");
        expect(await textOf(open(), key)).toBe(after);
        if (outcome === "Saved" && (await count(key)) === (await freshCount(under(), after))) break;
        expect(writes).toBeLessThan(writesMax);
      }
    },
  );

  test("a kill after any write of a removal leaves the record or nothing, and it can be removed again", async () => {
    const { open, newKey, count } = under();
    expect(await open().remove(await newKey())).toBeUndefined();
    for (let writes = 0; ; writes += 1) {
      const key = await newKey();
      await saveText(open(), key, aText(300));
      const problem = await open(writes).remove(key);
      expect([aText(300), undefined]).toContain(await textOf(open(), key));
      expect(await open().remove(key)).toBeUndefined();
      expect(await textOf(open(), key)).toBeUndefined();
      expect(await count(key)).toBe(0);
      if (problem === undefined) break;
      expect(writes).toBeLessThan(writesMax);
    }
  });

  test("a damaged record is neither loaded nor absent, and is replaced as a whole", async () => {
    const { open, newKey, damage, count } = under();
    const key = await newKey();
    await saveText(open(), key, aText(300));
    await damage(key);
    const store = open();
    const loaded = await store.load(key);
    expect(loaded).toMatchObject({ state: "Damaged", problem: expect.stringContaining(store.placeOf(key)) });
    expect(await saveText(store, key, aText(300))).toBe("Saved");
    expect(await textOf(open(), key)).toBe(aText(300));
    expect(await count(key)).toBe(await freshCount(under(), aText(300)));
  });
}

async function freshCount({ open, newKey, count }: StoreUnderTest, text: string): Promise<number> {
  const key = await newKey();
  await saveText(open(), key, text);
  return await count(key);
}
