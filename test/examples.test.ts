// What a newcomer copies: the examples work as they stand.
import { readFile, readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { documentsOf, faultsOf } from "./support/builders/yaml-texts.ts";

const root = join(import.meta.dirname, "..");
const simulatorUrl = "http://127.0.0.1:8080";
const kinds = ["WafCacheClear", "WafInstance", "WafIpRule", "WafOrigin"];

async function filesBelow(folder: string, ending: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

async function documentsBelow(folder: string): Promise<ReturnType<typeof documentsOf>> {
  const files = await filesBelow(folder, ".yaml");
  const texts = await Promise.all(files.map(async (file) => await readFile(join(root, file), "utf8")));
  return texts.flatMap(documentsOf);
}

test.each([
  ["sharing", ["WafInstance", "WafIpRule"]],
  ["auto-blocks", ["WafAutoBlock"]],
  ["feeds", ["WafFeed", "WafIpRule"]],
  ["directory", kinds],
  ["cluster", kinds],
])("examples/%s has valid documents only, of the kinds that it shows", async (name, shown) => {
  const documents = await documentsBelow(`examples/${name}`);
  expect(faultsOf(documents)).toStrictEqual([]);
  expect(documents.map(({ kind }) => kind)).toStrictEqual(expect.arrayContaining(shown));
});

describe.each(["directory", "cluster"])("examples/%s", (name) => {
  const folder = `examples/${name}`;

  test("holds addresses of the ranges for documentation only", async () => {
    const files = await filesBelow(folder, ".yaml");
    const texts = await Promise.all(files.map(async (file) => await readFile(join(root, file), "utf8")));
    const text = texts.join("\n").replaceAll(simulatorUrl, "");
    const addresses = text.match(/\b(?:\d{1,3}\.){3}\d{1,3}\b|\b[\da-f]{1,4}:[\da-f:]+/gi) ?? [];
    expect(addresses.length).toBeGreaterThan(30);
    expect(
      addresses.filter((address) => !/^(?:192\.0\.2|198\.51\.100|203\.0\.113)\.|^2001:db8:/.test(address)),
    ).toStrictEqual([]);
  });
});
