// `plan -o markdown`, as a pipeline posts it on a pull request: the order, the folded lists, and that no string of a file or the
// API becomes markup.
import { describe, expect, test } from "@jest/globals";
import { addresses } from "../support/builders/declare.ts";
import type { FinishedProcess } from "../support/processes/wafsync-process.ts";
import {
  instanceDocument,
  originDocument,
  ruleDocument,
  testDomain,
  testKey,
  wafFolder,
  type WafFolder,
} from "../support/worlds/waf-folder.ts";

const lengthMax = 60_000;
const hostile =
  "</code></pre></details><script>x</script> ``` | `a` **b** [c](http://d.example) @everyone <!-- \u202E\u001B[31m";

async function comment(folder: WafFolder): Promise<FinishedProcess> {
  return await folder.run("plan -o markdown");
}

/** The text that a browser shows. */
function textOf(markdown: string): string {
  return markdown
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/&#(?<code>\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
}

describe("The comment", () => {
  test("starts with the counts, folds long lists, and says how many lines are omitted from 60,000 characters", async () => {
    await using folder = await wafFolder();
    await folder.files.write("old.yaml", ruleDocument("old", { addresses: ["192.0.2.1"] }));
    expect((await folder.run("apply")).code).toBe(0);
    await folder.files.remove("old.yaml");
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses(9_000) }));
    const { code, stdout, stderr } = await comment(folder);
    expect([code, stderr]).toStrictEqual([1, ""]);
    expect(stdout.split("\n").slice(0, 6)).toStrictEqual([
      "<!-- wafsync-plan -->",
      "### wafsync plan",
      "",
      `<p><strong><code>shop/main</code></strong> → <code>${testDomain}</code></p>`,
      "",
      "**Plan: 9,000 to add, 1 to remove, one call each.**",
    ]);
    expect(stdout).toContain("<details><summary>9,000 to add</summary>");
    expect(stdout).toContain("<details open><summary>1 to remove</summary>");
    expect(stdout).toContain("\n- 192.0.2.1\n");
    expect(stdout).toContain("blocklist: declared by WafIpRule shop/feed (9,000 to add)");
    expect(stdout.length).toBeLessThanOrEqual(lengthMax);
    expect(stdout.length).toBeGreaterThan(lengthMax - 1_000);
    const left = (9_000 - (stdout.match(/^\+ 198\./gm)?.length ?? 0)).toLocaleString("en-US");
    expect(stdout).toContain(
      `\n${left} lines are omitted, because the comment is limited to 60,000 characters. \`wafsync plan -o json\` prints them all.\n`,
    );
    expect((await folder.run("plan")).stdout).toContain("… and 8,995 more like these");
    const full = await folder.run("plan", "--full");
    expect(full.stdout.match(/^ {2}\+ blocklist {2}198\./gm)).toHaveLength(9_000);
  });

  test("contains the errors of files and of the API, because it must be self-contained", async () => {
    await using folder = await wafFolder();
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: ["192.0.2.1", "not an address"] }));
    await folder.files.write("bad.yaml", "a: [");
    const { code, stdout } = await comment(folder);
    expect(code).toBe(2);
    expect(stdout).toContain("<summary>1 problem in the files</summary>");
    expect(stdout).toContain("error: bad.yaml:1: this is not valid YAML");
    expect(textOf(stdout)).toContain("WafIpRule shop/feed: InvalidEntries, 1 entry is not applied");
    folder.simulator.replaceKey(testKey, "another-key-0123456789");
    expect((await comment(folder)).stdout).toContain("**No plan: the WAF cannot be reconciled.**");
  });
});

test("No string of a file or of the API becomes markup", async () => {
  await using folder = await wafFolder();
  // A domain with such characters is rejected, and not printed.
  folder.simulator.waf(testKey).domain = hostile;
  const refused = (await comment(folder)).stdout;
  expect(refused).toContain("domain: is not a host");
  expect(refused).not.toMatch(/script|@everyone/);
  folder.simulator.waf(testKey).domain = testDomain;
  await folder.files.write("origin.yaml", originDocument("standby", "standby.shop.example"));
  await folder.files.write(
    "rule.yaml",
    ruleDocument("feed", { addresses: ["192.0.2.1", hostile.replaceAll("\u001B", "")] }),
  );
  const main = instanceDocument(folder.simulator.baseUrl, { annotations: { "wafsync.dev/approve-removals": hostile } });
  await folder.files.write("main.yaml", main);
  folder.simulator.addFaults({
    match: { method: "POST", path: "/api/origins" },
    effect: { kind: "SuccessFalse", status: 400, message: `${hostile}\n\n# a heading\n` },
  });
  await folder.run("apply");
  const { stdout } = await comment(folder);
  const text = textOf(stdout);
  expect(text).toContain("@everyone");
  expect(text).toContain("a heading");
  expect(text).toContain("<script>x</script>");

  const tags = new Set([...stdout.matchAll(/<(?<tag>[^\s>]*)/g)].map(({ groups }) => groups?.["tag"] ?? ""));
  const ours = ["details", "summary", "pre", "code", "p", "strong"];
  expect(tags).toStrictEqual(new Set([...ours, ...ours.map((tag) => `/${tag}`), "!--"]));
  const count = (pattern: RegExp): number => stdout.match(pattern)?.length ?? 0;
  expect(count(/<details/g)).toBe(count(/<\/details>/g));
  expect(count(/<pre/g)).toBe(count(/<\/pre>/g));
  expect(count(/<!--/g)).toBe(1);
  // The only Markdown is wafsync's own: the heading and bold counts. Everything else is inside HTML blocks without blank lines.
  expect(count(/^#/gm)).toBe(1);
  expect(stdout).not.toMatch(/[|`@[\]\p{Cf}]/u);
  expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  for (const block of stdout
    .trim()
    .split("\n\n")
    .filter((part) => part.includes("<details"))) {
    expect(block).toMatch(/^<details[^]*<\/details>$/);
  }
});
