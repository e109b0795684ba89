import { expect, test } from "@jest/globals";
import { namesIn, namesInFolder } from "../../../src/cli/completion/names-in-folder.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";

const instance = (metadata: string, kind = "WafInstance"): string =>
  `apiVersion: wafsync.dev/v1alpha1\nkind: ${kind}\nmetadata:\n${metadata}spec:\n  name: other\n`;

test.each([
  ["a name and a namespace", instance("  name: shop\n  namespace: team-a\n"), ["team-a/shop"]],
  ["only a name", instance("  name: shop\n"), ["default/shop"]],
  [
    "several documents",
    `---\n${instance("  name: b\n")}--- # next\n${instance("  name: a\n")}`,
    ["default/b", "default/a"],
  ],
  ["another kind", instance("  name: shop\n", "WafIpRule"), []],
  ["no metadata", "kind: WafInstance\nspec:\n  name: x\n", []],
  ["no name", instance("  namespace: a\n"), []],
  ["invalid YAML", "\u0000: [kind: WafInstance", []],
  ["names that a shell would execute", instance('  name: "a;touch${IFS}x;"\n  namespace: "$(id)"\n'), []],
  [
    "names with control characters for terminals",
    instance('  name: "a\\e[31m"\n') + "---\n" + instance('  name: "a\\nb"\n'),
    [],
  ],
])("The names of instances are found in documents with %s", (_, text, names) => {
  expect(namesIn(text)).toStrictEqual(names);
});

test("All files of a folder are read, and a folder that is missing has no names", async () => {
  await using scratch = await scratchDirectory({
    "a.yaml": instance("  name: a\n"),
    "below/b.yml": instance("  name: b\n"),
    "notes.txt": instance("  name: c\n"),
  });
  expect(await namesInFolder(scratch.path)).toStrictEqual(["default/a", "default/b"]);
  expect(await namesInFolder(`${scratch.path}/nowhere`)).toStrictEqual([]);
});

test("Names are found in linear time, and also next to documents with too many aliases", () => {
  const fields = Array.from({ length: 100_000 }, (_, index) => `  a${index}: 1\n`).join("");
  expect(namesIn(`${instance("  name: large\n")}${fields}`)).toStrictEqual(["default/large"]);
  const aliases = `kind: WafInstance\nmetadata: {name: a}\nspec: [&x 1${", *x".repeat(20_000)}]\n---\n`;
  expect(namesIn(`${aliases}${instance("  name: other\n")}`)).toStrictEqual(["default/other"]);
});
