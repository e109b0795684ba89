import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { lineLengthMax, readJsonLines } from "../../src/kube/list-watch.ts";

/** The values, and whether a fault ended them. */
async function read(...chunks: readonly Uint8Array[]): Promise<readonly unknown[]> {
  const values: unknown[] = [];
  try {
    for await (const value of readJsonLines(chunks as unknown as AsyncIterable<Uint8Array>)) values.push(value);
  } catch {
    values.push("fault");
  }
  return values;
}

describe("the lines of a watch", () => {
  test("are the same values wherever the chunks are split", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue({ noUnicodeString: false, maxDepth: 3 }), { maxLength: 8 }),
        fc.array(fc.nat(400), { maxLength: 20 }),
        fc.constantFrom("\n", "\r\n", "\n\n"),
        async (values, cuts, lineEnd) => {
          const bytes = Buffer.from(values.map((value) => JSON.stringify(value) + lineEnd).join(""));
          const ends = [...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
          const chunks = ends.map((end, place) => bytes.subarray(ends[place - 1] ?? 0, end));
          expect(await read(...chunks)).toStrictEqual(
            values.map((value) => JSON.parse(JSON.stringify(value)) as unknown),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  test.each(['1\n{"half":\n2\n', '1\n{"b"'])(
    "that can't be read are a fault after the values before them: %j",
    async (text) => {
      expect(await read(Buffer.from(text))).toStrictEqual([1, "fault"]);
    },
  );

  test("that are not UTF-8 or too long are faults", async () => {
    expect(await read(Buffer.from("1\n"), Buffer.of(0x22, 0xff, 0x22, 0x0a))).toStrictEqual([1, "fault"]);
    expect(await read(new Uint8Array(lineLengthMax + 1).fill(0x61))).toStrictEqual(["fault"]);
  });
});
