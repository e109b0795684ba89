import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { finished } from "../../../src/model/finished.ts";
import { createRowIdentity } from "../../../src/plan/logs/row-identity.ts";
import { decodeTally, encodeTally } from "../../../src/plan/logs/tally-codec.ts";
import { LogTally } from "../../../src/plan/logs/tally.ts";
import { makeLogEntry } from "../../../src/simulator/log-entries.ts";
import { seededRandom } from "../../support/builders/seeded-random.ts";
import { row } from "../../support/fakes/scripted-logs.ts";

const identityOf = createRowIdentity({ low: 0x12_34_56_78, high: 0x9a_bc_de_f0 });

describe("the identity of a row", () => {
  test("is the same for rows with equal documented fields, and different with another seed", () => {
    expect(identityOf(row("/a"))).toBe(identityOf({ ...row("/a"), extra: 1 } as never));
    expect(identityOf(row("/a"))).not.toBe(createRowIdentity({ low: 1, high: 2 })(row("/a")));
  });

  test.each([
    [{ timestamp: "2026-06-10T10:00:00.001Z" }],
    [{ client_ip: "192.0.2.2" }],
    [{ http_method: "POST" }],
    [{ request_path: "/b" }],
    [{ http_status: 429 }],
    [{ response_size: 151 }],
    [{ response_size: 150.5 }],
    [{ response_size: 2 ** 40 }],
    [{ referrer: "" }],
    [{ user_agent: null }],
    [{ user_agent: "" }],
    [{ block_reason: "NONE" }],
    [{ country: null }],
    [{ cache_hit: true }],
    [{ request_path: "/", user_agent: "acurl/8.5.0" }],
  ])("depends on every field: %j", (change) => {
    expect(identityOf(row("/a", change))).not.toBe(identityOf(row("/a")));
  });

  test("is a whole number below 2^52, and differs between a hundred thousand rows", () => {
    const logDay = { seed: 3, day: 20_000, rowCount: 100_000, lateMsMax: 0 };
    const rows = new Map<number, string>();
    for (let index = 0; index < 100_000; index += 1) {
      const entry = makeLogEntry(logDay, index);
      const identity = identityOf(entry);
      const text = JSON.stringify(entry);
      if ((rows.get(identity) ?? text) !== text) throw new Error(`two rows have the identity ${identity}`);
      rows.set(identity, text);
    }
    expect([...rows.keys()].every((identity) => Number.isSafeInteger(identity) && identity < 2 ** 52)).toBe(true);
    expect(rows.size).toBeGreaterThan(95_000);
  });
});

/** Few distinct rows, so that many are equal, and some with the same position in the table. */
const identities = fc.array(
  fc.integer({ min: 0, max: 5 }).map((pick) => [0, 1, 1024, 2 ** 31, 2 ** 51, 2 ** 52 - 1][pick] ?? 0),
  {
    maxLength: 50,
  },
);

function countsOf(items: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

function countsIn(tally: LogTally): Map<number, number> {
  return new Map([...finished(tally.identities())].map((identity) => [identity, tally.countOf(identity)]));
}

describe("a tally", () => {
  test("equals a Map of counts, however it grows and whatever is given back", () => {
    const random = seededRandom(7);
    const rows = Array.from({ length: 3_000 }, (_, index) => row(`/${index}`));
    const tally = new LogTally(identityOf);
    const expected = new Map<number, number>();
    for (let step = 0; step < 20_000; step += 1) {
      const entry = rows[Math.floor(random() * Math.min(rows.length, 1 + step / 5))] ?? row("/");
      const identity = identityOf(entry);
      const count = expected.get(identity) ?? 0;
      if (random() < 0.6) {
        expect(tally.take(identity)).toBe(true);
        expected.set(identity, count + 1);
      } else {
        tally.giveBack(entry);
        if (count > 1) expected.set(identity, count - 1);
        else expected.delete(identity);
      }
    }
    expect(tally.size).toBe(expected.size);
    expect(countsIn(tally)).toStrictEqual(expected);
    tally.beginReading();
    for (const [identity, count] of expected) {
      for (let time = 0; time < count; time += 1) expect(tally.take(identity)).toBe(false);
      expect(tally.take(identity)).toBe(true);
    }
  });

  test("forwards each row as often as the reading that contained it most often", () => {
    fc.assert(
      fc.property(fc.array(identities, { minLength: 1, maxLength: 5 }), (readings) => {
        const tally = new LogTally(identityOf);
        const handedOn: number[] = [];
        for (const reading of readings) {
          tally.beginReading();
          handedOn.push(...reading.filter((identity) => tally.take(identity)));
        }
        const expected = new Map<number, number>();
        for (const reading of readings) {
          for (const [item, count] of countsOf(reading)) expected.set(item, Math.max(count, expected.get(item) ?? 0));
        }
        expect(countsOf(handedOn)).toStrictEqual(expected);
        expect(countsIn(tally)).toStrictEqual(expected);
      }),
    );
  });

  test("forwards rows that it has no room to record, and reports this", () => {
    const tally = new LogTally(identityOf, { rowsMax: 2 });
    expect([1, 2, 1].map((item) => tally.take(item))).toStrictEqual([true, true, true]);
    expect(tally.isOverfull).toBe(false);
    expect([3, 3, 1].map((item) => tally.take(item))).toStrictEqual([true, true, true]);
    expect(tally.isOverfull).toBe(true);
    expect([...countsIn(tally)]).toStrictEqual([
      [1, 3],
      [2, 1],
    ]);
  });
});

describe("a tally as bytes", () => {
  test("is restored unchanged", () => {
    fc.assert(
      fc.property(identities, (items) => {
        const tally = new LogTally(identityOf);
        for (const item of items) tally.take(item);
        const back = decodeTally(finished(encodeTally(tally)), identityOf);
        expect(back && countsIn(back)).toStrictEqual(countsIn(tally));
      }),
    );
  });

  test("is encoded in slices of at most 131,072 rows or slots, whatever its size", () => {
    const tally = new LogTally(identityOf);
    const random = seededRandom(11);
    // The generator has 32 bits, and the low bits of an identity are its position in the table.
    const half = (): number => Math.floor(random() * 2 ** 26);
    for (let index = 0; index < 200_000; index += 1) tally.take(half() * 2 ** 26 + half());
    const slices = encodeTally(tally);
    let count = 1;
    let slice = slices.next();
    for (; slice.done !== true; slice = slices.next()) count += 1;
    // 7 buckets are sorted, 2 ** 19 slots are scanned, and 200,000 rows are written.
    expect(count).toBeGreaterThan(7 + 4 + 12);
    const back = decodeTally(slice.value, identityOf);
    expect(finished(back!.identities())).toStrictEqual(finished(tally.identities()));
  });

  test("takes about five bytes per row", () => {
    const tally = new LogTally(identityOf);
    const logDay = { seed: 3, day: 20_000, rowCount: 20_000, lateMsMax: 0 };
    for (let index = 0; index < 20_000; index += 1) tally.take(identityOf(makeLogEntry(logDay, index)));
    expect(finished(encodeTally(tally)).length / 20_000).toBeLessThan(6);
  });

  test("is refused if it is truncated or invalid", () => {
    const tally = new LogTally(identityOf);
    for (const item of [5, 5, 2 ** 40]) tally.take(item);
    const bytes = finished(encodeTally(tally));
    expect(decodeTally(bytes.subarray(0, bytes.length - 1), identityOf)).toBeUndefined();
    expect(decodeTally(new Uint8Array(40).fill(255), identityOf)).toBeUndefined();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (noise) => {
        decodeTally(noise, identityOf);
      }),
    );
  });
});
