import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { createNdjsonReader } from "../../src/kube/watch-stream.ts";

const bytesOf = (text: string): Uint8Array => Buffer.from(text, "utf8");

describe("the line reader", () => {
  test("reads the same values wherever the chunks are split", () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue({ noUnicodeString: false, maxDepth: 3 }), { maxLength: 8 }),
        fc.array(fc.nat(400), { maxLength: 20 }),
        fc.boolean(),
        (values, cuts, carriageReturns) => {
          const bytes = bytesOf(
            values.map((value) => JSON.stringify(value) + (carriageReturns ? "\r\n" : "\n")).join(""),
          );
          const reader = createNdjsonReader();
          const ends = [...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
          const read: unknown[] = [];
          let start = 0;
          for (const end of ends) {
            const batch = reader.push(bytes.subarray(start, end));
            expect(batch.fault).toBeUndefined();
            read.push(...batch.values);
            start = end;
          }
          expect(reader.finish().fault).toBeUndefined();
          expect(read).toStrictEqual(values.map((value) => JSON.parse(JSON.stringify(value)) as unknown));
        },
      ),
      { numRuns: 1000 },
    );
  });

  test("the values before a broken line are kept, and the fault describes the error", () => {
    expect(createNdjsonReader().push(bytesOf('1\n{"half":\n2\n'))).toStrictEqual({ values: [1], fault: "BadJson" });
    const bad = Buffer.concat([bytesOf('1\n"'), Buffer.of(0xff), bytesOf('"\n')]);
    expect(createNdjsonReader().push(bad)).toStrictEqual({ values: [1], fault: "BadEncoding" });
  });

  test("a stream that ends within a line is a fault, but not one that ends after a line", () => {
    const reader = createNdjsonReader();
    reader.push(bytesOf('{"a":1}\n{"b"'));
    expect(reader.finish().fault).toBe("PartialLine");
    const whole = createNdjsonReader();
    whole.push(bytesOf('{"a":1}\n'));
    expect(whole.finish().fault).toBeUndefined();
  });

  test("a line of 9 MiB is refused before it has arrived completely", () => {
    const reader = createNdjsonReader();
    const chunk = new Uint8Array(1024 * 1024).fill(0x61);
    const faults = Array.from({ length: 9 }, () => reader.push(chunk).fault);
    expect(faults).toStrictEqual([...Array.from({ length: 8 }, () => undefined), "LineTooLong"]);
  });
});
