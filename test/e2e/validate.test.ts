// `validate` finds what is wrong with the files of a folder without a key, a state directory or a network.
import { readdir } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { everythingPrinted, runWafsync } from "../support/processes/wafsync-process.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import { instanceDocument, keySpellings, ruleDocument, secretDocument, testKey } from "../support/worlds/waf-folder.ts";

const baseUrl = "https://waf.example";

test("validate accepts valid files, and writes nothing", async () => {
  await using files = await scratchDirectory({
    "instance.yaml": instanceDocument(baseUrl),
    "rule.yaml": ruleDocument("scanners", { addresses: ["192.0.2.1"] }),
  });
  const { code, stdout, stderr } = await runWafsync(["validate", "-f", files.path]);
  expect({ code, stdout, stderr }).toStrictEqual({ code: 0, stdout: "2 objects are valid.\n", stderr: "" });
  expect((await readdir(files.path)).toSorted()).toStrictEqual(["instance.yaml", "rule.yaml"]);
});

test("validate names the place of each invalid field, reference and entry", async () => {
  await using files = await scratchDirectory({
    "secret.yaml": secretDocument(testKey).replace("stringData", "stringDatta"),
    "instance.yaml": instanceDocument(baseUrl),
    "rule.yaml": ruleDocument("scanners", { addresses: ["192.0.2.1", "10.0.0.1"] }),
    "typo.yaml": ruleDocument("typo", { addresses: ["192.0.2.2"] }).replace("name: main", "name: mian"),
  });
  const { code, stdout, stderr } = await runWafsync(["validate", "-f", files.path]);
  const lines = stderr.trimEnd().split("\n");
  expect({ code, stdout }).toStrictEqual({ code: 1, stdout: `${lines.length} problems.\n` });
  expect(lines).toContainEqual(expect.stringMatching(/^error: secret\.yaml:\d+: stringDatta: unknown field/u));
  expect(lines).toContainEqual(expect.stringMatching(/^error: typo\.yaml:\d+: spec\.instanceRef: there is no Waf/u));
  expect(lines).toContainEqual(
    expect.stringMatching(
      /^error: rule\.yaml:\d+: WafIpRule shop\/scanners: spec\.addresses\[1\]: 10\.0\.0\.1 overlaps/u,
    ),
  );
  const missing = await runWafsync(["validate", "-f", `${files.path}/none`]);
  expect([missing.code, missing.stderr]).toStrictEqual([2, expect.stringContaining("does not exist")]);
});

test("none of these programs printed the API key", () => {
  for (const spelling of keySpellings()) expect(everythingPrinted()).not.toContain(spelling);
});
