// Determines which log rows count for a WafAutoBlock.
import type { LogMatch } from "../../model/auto-block.ts";
import { countryTest, pathTest, reasonTest, statusTest } from "../logs/row-tests.ts";
import type { RowTest } from "../logs/row-tests.ts";

const tests: Readonly<Record<keyof LogMatch, (text: string) => RowTest | string>> = {
  countries: countryTest,
  reasons: reasonTest,
  statuses: statusTest,
  paths: pathTest,
};

/** The schema has validated the strings; an invalid one matches nothing. */
export function createRowMatcher(match: LogMatch): RowTest {
  const all = (Object.keys(tests) as (keyof LogMatch)[]).flatMap((field): RowTest[] => {
    if (match[field].length === 0) return [];
    const anyOf = match[field].flatMap((text) => {
      const test = tests[field](text);
      return typeof test === "string" ? [] : [test];
    });
    return [(entry) => anyOf.some((test) => test(entry))];
  });
  return (entry) => all.every((test) => test(entry));
}
