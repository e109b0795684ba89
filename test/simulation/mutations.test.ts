import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { mutations, rowOf } from "../support/simulation/mutations.ts";

const root = join(import.meta.dirname, "../..");

/** The formatter pads the columns. */
function unpadded(text: string): string {
  return text.replaceAll(/ +/g, " ");
}

describe("The mutations", () => {
  test.each(mutations.map((mutation) => [mutation.guard, mutation] as const))(
    "of the guard that %s still fit the source",
    async (_, { file, from, to, foundBy }) => {
      const source = await readFile(join(root, file), "utf8");
      expect(source.split(from)).toHaveLength(2);
      expect(from).not.toBe(to);
      if (foundBy !== "simulation") expect(await readFile(join(root, foundBy), "utf8")).toContain("test(");
    },
  );

  test("stand in the table of docs/reliability.md, all of them and no others", async () => {
    const page = unpadded(await readFile(join(root, "docs/reliability.md"), "utf8"));
    const rows = page.split("\n").filter((line) => line.includes("| `src/"));
    expect(rows).toEqual(mutations.map((mutation) => unpadded(rowOf(mutation))));
  });
});
