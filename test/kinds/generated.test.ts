import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { generatedFiles } from "../../src/kinds/generated-files.ts";

const root = join(import.meta.dirname, "..", "..");

test.each(generatedFiles())("$path matches the schemas (otherwise, run npm run generate)", async ({ path, text }) => {
  expect(await readFile(join(root, path), "utf8")).toBe(text);
});
