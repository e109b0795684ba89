import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import type { LogPage } from "../../src/model/log-entry.ts";
import { LogDayReading, type PageVerdict } from "../../src/logs/day-reading.ts";
import { createRowIdentity, type RowTally } from "../../src/logs/row-tally.ts";
import { pageOf, row } from "../support/fakes/scripted-logs.ts";

const identityOf = createRowIdentity({ low: 1, high: 2 });
const rowsMax = 3;

function page(paths: string, scrollId: string | null, textLength?: number): LogPage {
  const entries = paths.split(" ").map((path) => row(path));
  return pageOf(entries, 6, scrollId, textLength);
}

function pathsOf({ rows }: PageVerdict): string {
  return rows.map(({ request_path }) => request_path).join(" ");
}

describe("a day with more rows than the limit", () => {
  test("is forwarded completely in one reading", () => {
    const reading = new LogDayReading(identityOf, undefined, rowsMax);
    const verdicts = [page("a b", "1"), page("c d", "2"), page("e f", null)].map((one) => reading.page(one));
    expect(verdicts.map(pathsOf)).toStrictEqual(["a b", "c d", "e f"]);
    expect(verdicts.at(-1)).toMatchObject({ next: "Nothing", summary: { came: 6, total: 6 } });
  });

  test("can be read again only as long as all forwarded rows are known", () => {
    const reading = new LogDayReading(identityOf, undefined, rowsMax);
    expect(pathsOf(reading.page(page("a b", "1")))).toBe("a b");
    reading.begin();
    expect(pathsOf(reading.page(page("b a", "1")))).toBe("");
    expect(pathsOf(reading.page(page("c d", "2")))).toBe("c d");
    reading.begin();
    const problem = "more log entries for one day than wafsync remembers, and the day had to be read again";
    expect(reading.page(page("a b", "1"))).toStrictEqual({ next: "Failed", rows: [], problem });
  });
});

describe.each([
  ["kept as text", 1000],
  ["identified", 2 ** 25],
])("a page that contains duplicate rows once, and is %s", (_, length) => {
  test("is reported after a second reading: the rows were forwarded more often than they exist", () => {
    const reading = new LogDayReading(identityOf, undefined);
    expect(pathsOf(reading.page(page("a a b b", "1", length)))).toBe("a a b b");
    expect(reading.page(page("c d e", "2", length))).toMatchObject({ next: "Again", defect: "TooManyRows" });
    reading.begin();
    const verdicts = [page("a b", "1", length), page("c d", "2", length), page("e f", null, length)].map((one) =>
      reading.page(one),
    );
    expect(verdicts.map(pathsOf)).toStrictEqual(["", "c d", "e f"]);
    expect(verdicts.at(-1)).toMatchObject({ next: "Nothing", summary: { came: 6, total: 6, surplus: 2 } });
  });

  test("is not reported if none of its rows were forwarded, or if a reading only has another order", () => {
    const reading = new LogDayReading(identityOf, undefined);
    expect(pathsOf(reading.page(page("a b", "1", length)))).toBe("a b");
    reading.begin();
    const verdicts = [page("f e", "1", length), page("d c", "2", length), page("b a", null, length)].map((one) =>
      reading.page(one),
    );
    expect(verdicts.at(-1)).toMatchObject({ next: "Nothing", summary: { surplus: 0 } });
  });
});

test("each row is forwarded as often as the reading that contained it most often", () => {
  const paths = fc.array(fc.constantFrom("a", "b", "c", "d"), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(fc.array(paths, { minLength: 1, maxLength: 5 }), (readings) => {
      const tally: RowTally = new Map();
      const forwarded: string[] = [];
      for (const reading of readings) {
        const [entries, total] = [reading.map((path) => row(path)), reading.length];
        const verdict = new LogDayReading(identityOf, tally).page(pageOf(entries, total, null));
        forwarded.push(...verdict.rows.map(({ request_path }) => request_path));
      }
      for (const path of ["a", "b", "c", "d"]) {
        const most = Math.max(...readings.map((reading) => reading.filter((one) => one === path).length));
        expect(forwarded.filter((one) => one === path)).toHaveLength(most);
        expect(tally.get(identityOf(row(path))) ?? 0).toBe(most);
      }
    }),
  );
});
