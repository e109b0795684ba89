import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { createRowIdentity, decodeTally, encodeTally, type RowTally } from "../../src/logs/row-tally.ts";
import { makeLogEntry } from "../../src/simulator/log-entries.ts";
import { row } from "../support/fakes/scripted-logs.ts";

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

function tallyOf(items: Iterable<number>): RowTally {
  const tally: RowTally = new Map();
  for (const item of items) tally.set(item, (tally.get(item) ?? 0) + 1);
  return tally;
}

describe("an encoded tally", () => {
  test("is restored unchanged", () => {
    fc.assert(
      fc.property(identities, (items) => {
        const tally = tallyOf(items);
        expect(decodeTally(encodeTally(tally))).toStrictEqual(tally);
      }),
    );
  });

  test("is refused if it is truncated or invalid", () => {
    const bytes = Buffer.from(encodeTally(tallyOf([5, 5, 2 ** 40])), "base64");
    expect(decodeTally(bytes.subarray(0, bytes.length - 1).toString("base64"))).toBeUndefined();
    expect(decodeTally(Buffer.alloc(40, 255).toString("base64"))).toBeUndefined();
    fc.assert(fc.property(fc.string(), (noise) => void decodeTally(noise)));
  });
});
