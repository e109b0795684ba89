import { readdir } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { stringify } from "yaml";
import { parseResource } from "../../src/kinds/parse-resource.ts";
import {
  type CommandRule,
  commandRule,
  declaredRule,
  expiredRule,
  ruleDocument,
  ruleName,
} from "../../src/cli/command-rule.ts";
import { fileOfRule, removeRuleFile, withApproval, writeRuleFile } from "../../src/cli/targets/folder-files.ts";
import { planRelease } from "../../src/cli/rule-commands.ts";
import { type Entry, readObservedEntry } from "../../src/address/entry.ts";
import type { DeclaredRule } from "../../src/model/declared.ts";
import type { DirectorySnapshot } from "../../src/source/directory/snapshot.ts";
import { anyNetwork, spelling } from "../support/builders/arbitraries.ts";
import { caseCount } from "../support/builders/case-count.ts";
import { instanceName } from "../support/builders/declare.ts";
import { entry, nowMs } from "../support/builders/gathered.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";

const fields = {
  namespace: "edge",
  instance: instanceName,
  action: "Block",
  expiresAtMs: nowMs,
  description: "",
} as const;

describe("The rule of an address", () => {
  test("has a unique valid name", () => {
    const nameOf = (text: string, action: "Block" | "Allow" = "Block", namespace = "edge", name = "shop"): string =>
      ruleName({ namespace: "edge", instance: { namespace, name }, action }, entry(text));
    expect(nameOf("192.0.2.7")).toBe("shop-block-192-0-2-7");
    expect(nameOf("198.51.100.0/24")).toBe("shop-block-198-51-100-0-24");
    expect(nameOf("2001:db8::a", "Allow")).toBe("shop-allow-2001-db8-0-0-0-0-0-a");
    // Instances of several namespaces, which can share a name.
    expect(nameOf("192.0.2.7", "Block", "team-a")).toBe("team-a.shop-block-192-0-2-7");
    expect(nameOf("192.0.2.7", "Block", "edge", "team-a.shop")).toBe("edge.team-a.shop-block-192-0-2-7");
    const networks = anyNetwork.chain(spelling).map(readObservedEntry);
    fc.assert(
      fc.property(networks, networks, fc.constantFrom("shop", "s".repeat(63)), (one, other, instance) => {
        const of = { ...fields, instance: { namespace: "edge", name: instance } };
        expect(ruleName(of, one) === ruleName(of, other)).toBe(one === other);
        const rule = commandRule(of, one);
        expect(parseResource(ruleDocument(rule))).toMatchObject({ ok: true });
      }),
      { numRuns: caseCount(2_000) },
    );
  });
});

describe("To unblock an address", () => {
  const plan = (asked: Entry, rule: CommandRule): DeclaredRule[] =>
    planRelease([asked], [declaredRule(rule, nowMs)], "Block");

  test("removes the rule of a command for only this address", () => {
    const own = commandRule(fields, entry("203.0.113.9"));
    expect(plan(entry("203.0.113.9"), own)).toMatchObject([{ addresses: ["203.0.113.9"] }]);
  });

  test("changes no rule that a command did not write, and removes all blocks of commands inside a network", () => {
    const rules = ["192.0.2.7", "192.0.2.64/29", "203.0.113.9"].map((text) =>
      declaredRule(commandRule(fields, entry(text)), nowMs),
    );
    const foreign = rules.map((rule) => ({ ...rule, meta: { ...rule.meta, annotations: {} } }));
    const releases = planRelease([entry("192.0.2.0/24")], [...foreign, ...rules], "Block");
    expect(releases).toStrictEqual(rules.slice(0, 2));
    expect(planRelease([entry("192.0.2.0/24")], rules, "Allow")).toStrictEqual([]);
    const edited = rules.map((rule) => ({ ...rule, addresses: ["office"] }));
    expect(planRelease([entry("192.0.2.0/24")], edited, "Block")).toStrictEqual([]);
  });

  test("keeps the rule of a network that is wider", () => {
    expect(plan(entry("198.18.0.7"), commandRule(fields, entry("198.18.0.0/24")))).toStrictEqual([]);
  });
});

describe("An approval in a file", () => {
  const name = { namespace: "shop", name: "main" };
  const hash = "123456789012";

  test.each([
    [
      "a block",
      "# one\nkind: Secret\n---\n# two\nkind: WafInstance # three\nmetadata:\n  name: main\n  namespace: shop\nspec:\n  list:\n  - a # four\n",
    ],
    [
      "braces",
      "---\nkind: WafInstance\nmetadata: {name: main, namespace: shop, annotations: {a: b}}\n# five\n---\nkind: Other\n",
    ],
    ["JSON", `{"kind": "WafInstance", "metadata": {"name": "main", "namespace": "shop"}}\n`],
    [
      "a list in JSON",
      `{\n  "kind": "List",\n  "items": [\n    {\n      "kind": "WafInstance",\n      "metadata": {\n        "name": "main",\n        "namespace": "shop"\n      }\n    }\n  ]\n}`,
    ],
    [
      "an instance whose name is an alias",
      "kind: WafInstance\nmetadata:\n  labels: {app: &name main}\n  name: *name\n  namespace: shop\n",
    ],
    [
      "lines that end as in Windows",
      "kind: WafInstance\r\nmetadata:\r\n  name:   main # eight\r\n  namespace: shop\r\n",
    ],
    [
      "a list",
      "kind: List\nitems:\n  - kind: WafInstance\n    metadata: # six\n      name: main\n      namespace: shop\n",
    ],
    [
      "an earlier one",
      `kind: WafInstance\nmetadata:\n  name: main\n  namespace: shop\n  annotations:\n    wafsync.dev/approve-removals: "abc" # seven\n`,
    ],
  ])("in %s keeps everything else, and is a string", (_, text) => {
    const edited = withApproval(text, name, hash) ?? "";
    expect(edited).toMatch(/"?wafsync\.dev\/approve-removals"?: "123456789012"/);
    for (const [comment] of text.matchAll(/# (?!seven)\w+/g)) expect(edited).toContain(comment);
    expect(edited.split("---").length).toBe(text.split("---").length);
    const lines = text.split("\n").filter((line) => /Secret|Other|- a/.test(line));
    for (const line of lines) expect(edited.split("\n")).toContain(line);
    if (text.includes("\r\n")) expect(edited.replaceAll("\r\n", "")).not.toContain("\n");
    if (text.startsWith("{")) expect(() => JSON.parse(edited) as unknown).not.toThrow();
  });

  test.each([
    ["its annotations are those of another field", "labels: &same {a: b}, annotations: *same"],
    ["another field has its annotations", "annotations: &same {a: b}, labels: *same"],
    ["its annotations are merged into it", "<<: {annotations: {a: b}}"],
  ])("is not written if that would change something else, because %s", (_, fields) => {
    const text = `kind: WafInstance\nmetadata: {name: main, namespace: shop, ${fields}}\n`;
    expect(withApproval(text, name, hash)).toBeUndefined();
  });

  test("is not written for an instance that the file does not declare", () => {
    expect(withApproval("kind: WafInstance\nmetadata: {name: main}\n", name, hash)).toBeUndefined();
    expect(withApproval("", name, hash)).toBeUndefined();
  });
});

test("The file of a rule is written again only if nothing else is in it", async () => {
  const rule = commandRule(fields, entry("192.0.2.7"));
  const text = stringify(ruleDocument(rule));
  await using scratch = await scratchDirectory({ "rule.yaml": text });
  const { namespace, name } = rule;
  const item = { file: "rule.yaml", declared: declaredRule(rule, nowMs) };
  const snapshot = { items: new Map([[`WafIpRule ${namespace}/${name}`, item]]) } as unknown as DirectorySnapshot;
  expect(await fileOfRule(scratch.path, snapshot, rule)).toBe("rule.yaml");
  await scratch.write("rule.yaml", `${text}---\nkind: Deployment\n`);
  await expect(fileOfRule(scratch.path, snapshot, rule)).rejects.toThrow("not only by this command");
});

describe("Two commands at once", () => {
  const rule = commandRule(fields, entry("192.0.2.7"));
  const none = { items: new Map() } as unknown as DirectorySnapshot;

  test("write the rule of one address to one file, and to another one if somebody else uses its name", async () => {
    await using scratch = await scratchDirectory();
    const file = await fileOfRule(scratch.path, none, rule);
    await writeRuleFile(scratch.path, file, rule);
    expect(await fileOfRule(scratch.path, none, rule)).toBe(file);
    await scratch.write(file, stringify(ruleDocument(rule)).replace("created-by", "other"));
    expect(await fileOfRule(scratch.path, none, rule)).not.toBe(file);
  });

  test("write the file again that the other one has removed", async () => {
    await using scratch = await scratchDirectory();
    const item = { file: "rule.yaml", declared: declaredRule(rule, nowMs) };
    const items = new Map([[`WafIpRule ${rule.namespace}/${rule.name}`, item]]);
    expect(await fileOfRule(scratch.path, { items } as unknown as DirectorySnapshot, rule)).toBe("rule.yaml");
  });

  test("keep a block that was written after the unblock", async () => {
    await using scratch = await scratchDirectory();
    const expired = expiredRule(declaredRule(rule, nowMs));
    await writeRuleFile(scratch.path, "rule.yaml", rule);
    await removeRuleFile(scratch.path, "rule.yaml", expired);
    expect(await readdir(scratch.path)).toStrictEqual(["rule.yaml"]);
    await writeRuleFile(scratch.path, "rule.yaml", expired);
    await removeRuleFile(scratch.path, "rule.yaml", expired);
    expect(await readdir(scratch.path)).toStrictEqual([]);
  });
});
