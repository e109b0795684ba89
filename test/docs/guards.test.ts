// A guard that is added to the schema must be explained, judged by the simulation, and missed when it is switched off.
import { describe, expect, test } from "@jest/globals";
import { guardNames } from "../support/builders/guard-schemas.ts";
import { mutations } from "../support/simulation/mutations.ts";
import { readPage } from "../support/tidy/markdown-pages.ts";

const judges = ["test/support/simulation/oracle.ts", "test/support/simulation/ledger.ts"];

describe.each(guardNames)("The guard %s", (guard) => {
  test("is in the tables of docs/concepts/safety.md", async () => {
    const rows = (await readPage("docs/concepts/safety.md")).split("\n").filter((line) => line.startsWith("|"));
    expect(rows.filter((row) => row.includes(`\`guards.${guard}\``))).not.toStrictEqual([]);
  });

  test("is judged by the oracle or the ledger of the simulation", async () => {
    const sources = await Promise.all(judges.map((path) => readPage(path)));
    expect(sources.join("\n")).toMatch(new RegExp(`\\b${guard}\\b`));
  });

  test("is switched off by a mutation, which names it", () => {
    expect(mutations.filter((mutation) => mutation.guard.includes(`\`${guard}\``))).not.toStrictEqual([]);
  });
});
