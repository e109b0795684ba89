// Everything that users may write wrongly, all in one folder. The real command reports the place, the field, and what to write
// instead.
import { mkdir, readdir } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  configMapDocument,
  instanceDocument,
  ruleDocument,
  testKey,
  wafFolder,
  type WafFolder,
} from "../support/worlds/waf-folder.ts";
import { type FinishedProcess, runWafsync } from "../support/processes/wafsync-process.ts";
import type { InstanceView } from "../../src/cli/instance-view.ts";

const good = "192.0.2.1";

function rule(name: string, address = good): string {
  return ruleDocument(name, { addresses: [good, address] });
}

interface Case {
  readonly content: string;
  /** Whole lines, as printed. */
  readonly lines: readonly string[];
}

/** The cases by the name of their file. */
const cases: Readonly<Record<string, Case>> = {
  "unknown-field.yaml": {
    content: rule("unknown-field").replace("action:", "acton:"),
    lines: [
      "error: unknown-field.yaml:5: spec.action: is missing: write Block or Allow",
      "error: unknown-field.yaml:7: spec.acton: unknown field; did you mean action?",
    ],
  },
  "missing-instance.yaml": {
    content: rule("missing-instance").replace("name: main", "name: mian"),
    lines: [
      "error: missing-instance.yaml:2: spec.instanceRef: there is no WafInstance shop/mian in the directory; did you mean main?",
    ],
  },
  "not-yaml.yaml": {
    content: rule("not-yaml").replace("name: not-yaml", 'name: "not-yaml'),
    lines: ["error: not-yaml.yaml:4: this is not valid YAML: a quote on this line is not closed"],
  },
  "missing-secret.yaml": {
    content: instanceDocument("https://waf.example.com", { name: "missing-secret" }).replace("waf-key", "lost"),
    lines: [
      "error: missing-secret.yaml:2: WafInstance shop/missing-secret: Secret shop/lost (spec.apiKeySecretRef) is not in the directory: add it, or set the environment variables WAFSYNC_API_KEY to the API key and WAFSYNC_BASE_URL to the base URL, which works for a single instance.",
    ],
  },
  "empty-key.yaml": {
    content: `${instanceDocument("https://waf.example.com", { name: "empty-key" }).replace("waf-key", "no-key")}---
apiVersion: v1
kind: Secret
metadata: {name: no-key, namespace: shop}
stringData: {apiKey: ""}
`,
    lines: [
      "error: empty-key.yaml:2: WafInstance shop/empty-key: The API key, apiKey of Secret shop/no-key (empty-key.yaml:9), is empty: set it to the API key of the WAF.",
    ],
  },
  "bad-address.yaml": {
    content: rule("bad-address", "192.0.2.256"),
    lines: [
      "  bad-address.yaml:2: WafIpRule shop/bad-address: InvalidEntries, 1 entry is not applied",
      '    bad-address.yaml:8: spec.addresses[1]: "192.0.2.256" is not an IP address: write four numbers of at most 255 each, such as 192.0.2.1',
    ],
  },
  "too-wide.yaml": {
    content: rule("too-wide", "10.0.0.0/7"),
    lines: [
      "  too-wide.yaml:2: WafIpRule shop/too-wide: InvalidEntries, 1 entry is not applied",
      "    too-wide.yaml:8: spec.addresses[1]: 10.0.0.0/7 is wider than /8, the limit in spec.guards.minPrefixLength.ipv4 of the instance: write narrower networks.",
    ],
  },
  "bad-line.yaml": {
    content:
      configMapDocument("feed", ["# a comment", good, "", "1.2.3"]) + ruleDocument("bad-line", { configMap: "feed" }),
    lines: [
      "  bad-line.yaml:12: WafIpRule shop/bad-line: InvalidEntries, 1 entry is not applied",
      '    bad-line.yaml:12: ConfigMap shop/feed, key list, line 4: "1.2.3" is short for different addresses in different programs: write four decimal numbers, such as 192.0.2.1',
    ],
  },
  "missing-map.yaml": {
    content: ruleDocument("missing-map", { addresses: [good], configMap: "feeed" }),
    lines: [
      "  missing-map.yaml:2: WafIpRule shop/missing-map: SourceMissing",
      "    ConfigMap shop/feeed is not in the directory; did you mean shop/feed?",
    ],
  },
};

let folder: WafFolder;
let planned: FinishedProcess;

beforeAll(async () => {
  folder = await wafFolder();
  await folder.files.write("good.yaml", ruleDocument("good", { addresses: [good] }));
  for (const [file, { content }] of Object.entries(cases)) await folder.files.write(file, content);
  planned = await folder.run("plan");
});

afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

describe("Errors are reported with their place, and with what to write instead", () => {
  test.each(Object.entries(cases))("%s", (file, { lines }) => {
    const told = `${planned.stderr}${planned.stdout}`.split("\n");
    const isAbout = (line: string): boolean => line.replace(/^(?:error| +) ?/, "").startsWith(`${file}:`);
    const about = told.filter((line) => isAbout(line) || lines.includes(line));
    expect(about).toStrictEqual(lines);
  });

  test("in one line each: without a stack, doubled punctuation or a key", () => {
    const told = `${planned.stderr}${planned.stdout}`;
    expect(told).not.toMatch(/\n\s+at |node:|unexpected/);
    expect(told).not.toMatch(/\.\.|;;|,,|\?\.|\.:|: :|undefined|\[object/);
    const kinds = planned.stderr.split("\n").map((line) => line.split(" ")[0]);
    expect(new Set(kinds)).toStrictEqual(new Set(["error:", ""]));
  });

  test("and `plan` exits with 2, because invalid objects are not in the plan", () => {
    expect(planned.code).toBe(2);
  });
});

test("validate names the same files, without a key or a network", async () => {
  const { code, stdout, stderr } = await runWafsync(["validate", "-f", folder.path]);
  const lines = stderr.trimEnd().split("\n");
  expect({ code, stdout }).toStrictEqual({ code: 1, stdout: `${lines.length} problems.\n` });
  // Only a plan needs keys and the content of ConfigMaps.
  const named = Object.keys(cases).filter((file) => lines.some((line) => line.startsWith(`error: ${file}:`)));
  expect(named).toStrictEqual(Object.keys(cases).filter((file) => !/missing-secret|empty-key|missing-map/.test(file)));
  expect(lines).toContainEqual(
    expect.stringMatching(
      /^error: too-wide\.yaml:8: WafIpRule shop\/too-wide: spec\.addresses\[1\]: 10\.0\.0\.0\/7 is/,
    ),
  );
  expect(await readdir(folder.path)).not.toContain(".wafsync");
});

test("Valid objects are applied, and nothing is removed", async () => {
  const waf = folder.simulator.waf(testKey);
  waf.add("blocklist", ["198.51.100.9"]);
  const applied = await folder.run("apply -o json");
  expect(applied.code).toBe(2);
  expect(waf.blocklist.toSorted()).toStrictEqual([good, "198.51.100.9"]);
  const { instances } = JSON.parse(applied.stdout) as { instances: InstanceView[] };
  const objects = instances.find(({ name }) => name === "main")?.objects ?? [];
  expect(objects.find(({ name }) => name === "good")).toMatchObject({ isAccepted: true, rejected: [] });
  expect(objects.find(({ name }) => name === "bad-address")).toMatchObject({
    isAccepted: false,
    rejectedCount: 1,
    rejected: [{ entry: "192.0.2.256", source: "spec.addresses[1]", place: "bad-address.yaml:8" }],
  });
});

describe("Errors in the command itself", () => {
  test.each([
    ["a file instead of the folder", ["plan", "-f", "secret.yaml"], "secret.yaml is a file, not a folder", "Set -f"],
    ["no folder", ["plan"], "error: required option '-f, --from <directory>' not specified", "--help lists"],
    ["a command that does not exist", ["plant", "-f", "."], "unknown command 'plant'", "Did you mean plan?"],
    ["an option that does not exist", ["plan", "-f", ".", "--outptu", "json"], "unknown option '--outptu'", "--output"],
    [
      "http without the flag",
      ["plan", "-f", "."],
      "main.yaml:2: WafInstance shop/main: spec.baseUrl http://",
      "--allow-insecure-http",
    ],
    [
      "a base URL that is not allowed",
      ["plan", "-f", ".", "--allow-insecure-http", "--allowed-base-urls", "https://waf.example.com"],
      "is not one of the allowed base URLs",
      "--allowed-base-urls https://waf.example.com",
    ],
    [
      "a folder without an instance",
      ["plan", "-f", "empty"],
      "error: There is no WafInstance in this folder",
      "nothing to plan",
    ],
    [
      "a name of an instance that is none",
      ["import", "--base-url", "https://waf.example.com", "--instance", "Shop_Key"],
      "--instance Shop_Key is not a valid name",
      "lower-case letters",
    ],
    [
      "an end of a block, which has a duration",
      ["block", "192.0.2.1", "-f", ".", "--until", "2026-12-01"],
      "block has no option --until",
      "--for 2h",
    ],
    [
      "no key for clear-cache",
      ["clear-cache", "--base-url", "https://waf.example.com"],
      "no API key given",
      "WAFSYNC_API_KEY",
    ],
    [
      "http for clear-cache",
      ["clear-cache", "--base-url", "http://waf.example.com", "--key-file", "key"],
      "--base-url http://waf.example.com is not https",
      "--allow-insecure-http",
    ],
    [
      "a number out of range",
      ["clear-cache", "--base-url", "https://a.example", "--retries", "-1"],
      "Write a whole number from 0 to 20",
      "--help",
    ],
  ])("%s exits with 2 and a hint", async (_, parameters, problem, hint) => {
    await mkdir(`${folder.path}/empty`, { recursive: true });
    await folder.files.write("key", testKey);
    const { code, stdout, stderr } = await runWafsync(parameters, { workingDirectory: folder.path });
    expect(stderr).toContain(problem);
    expect(stderr).toContain(hint);
    expect(stderr).not.toMatch(/\n\s+at |unexpected error|\.\.(?!\.)/);
    expect(stdout).toBe("");
    expect(code).toBe(2);
  });
});
