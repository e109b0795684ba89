import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { mutations } from "../support/simulation/mutations.ts";
import { readSourceTree, type SourceFile } from "../support/tidy/source-tree.ts";

const root = join(import.meta.dirname, "../..");
const simulation = "test/support/simulation/simulate-seed.ts";

describe("The mutations", () => {
  let files: ReadonlyMap<string, SourceFile>;

  beforeAll(async () => {
    const trees = await Promise.all(["src", "test"].map(async (folder) => await readSourceTree(root, folder)));
    files = new Map(trees.flat().map((file) => [file.path, file]));
  });

  /** All files of the project that run when this one runs. */
  function runsWith(path: string): ReadonlySet<string> {
    const seen = new Set([path]);
    for (const file of seen) for (const target of files.get(file)?.imports ?? []) seen.add(target);
    return seen;
  }

  test.each(mutations.map((mutation) => [mutation.guard, mutation] as const))(
    "of the guard that %s fit the source, and the check that is to notice them runs it",
    (_, { file, from, to, foundBy }) => {
      const source = files.get(file)?.text ?? "";
      expect(source.split(from)).toHaveLength(2);
      // A mutation that is no TypeScript proves nothing: whatever loads it fails.
      expect(() => stripTypeScriptTypes(source.replace(from, () => to))).not.toThrow();
      expect(from).not.toBe(to);
      // `npm run mutate` shows that it does notice: without the file it would take the error of jest for that.
      const check = foundBy === "simulation" ? simulation : foundBy;
      expect([...files.keys()]).toContain(check);
      if (foundBy !== "simulation") expect(foundBy).toMatch(/\.test\.ts$/);
      expect(runsWith(check)).toContain(file);
      // Where the mutations run, there is no control plane: such a suite fails with every mutation.
      expect(runsWith(check)).not.toContain("test/support/control-plane/suite.ts");
    },
  );
});
