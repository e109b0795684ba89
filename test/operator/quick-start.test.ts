// The first steps of a newcomer in a cluster, from the manifests on: all objects of the examples become ready, the output of kubectl
// matches the documentation, and afterwards nothing changes.
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as realDelay } from "node:timers/promises";
import { beforeAll, expect, test } from "@jest/globals";
import { pagesOfSuites } from "../support/pages/documented-pages.ts";
import { slow } from "../support/processes/slowness.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { isAtRest, type TestWaf } from "../support/worlds/operator-world.ts";

interface DocumentedCommand {
  readonly command: string;
  readonly shown: string;
  readonly printed: string;
}

interface PageRunner {
  readonly apply: (yaml: string) => Promise<void>;
  /** @returns the output of the command, with the names that the page uses */
  readonly run: (parameters: readonly string[]) => Promise<string>;
}

const block = /^```(yaml|console)\n(.*?)^```$/gms;
const writesPages = process.env["WAFSYNC_WRITE_DOCS"] === "1";

/** Every `$ kubectl …` command of the page, with the output on the page and the current output. */
async function runPage(path: string, runner: PageRunner): Promise<DocumentedCommand[]> {
  const page = await readFile(path, "utf8");
  const commands: DocumentedCommand[] = [];
  let written = page;
  for (const [whole, language, text = ""] of page.matchAll(block)) {
    if (language === "yaml") {
      await runner.apply(text);
      continue;
    }
    const before = commands.length;
    for (const [command = "", ...lines] of text.split(/^\$ /m).map((part) => part.split("\n"))) {
      if (!command.startsWith("kubectl ")) continue;
      const printed = await runner.run(wordsOf(command).slice(1));
      commands.push({ command, shown: lines.join("\n"), printed });
    }
    const fresh = commands.slice(before).map(({ command, printed }) => `$ ${command}\n${withoutEnd(printed)}\n`);
    written = written.replace(whole, () => `\`\`\`console\n${fresh.join("\n")}\`\`\``);
  }
  if (writesPages) await writeFile(path, written);
  return commands;
}

/** The output without details that differ between runs: times, ages, identities, and the width of columns. */
function normalized(command: string, text: string): string {
  const isTable = command.startsWith("kubectl get ");
  const lines = text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "<time>")
    .replaceAll(/^( *(?:UID|Resource Version): +).*$/gm, "$1<identity>")
    .replaceAll(/\b[0-9a-f]{12}\b/g, "<hash>")
    .split("\n")
    .map((line) => (isTable || isEvent(line) ? line.replaceAll(/(?<=\s)\d+[smh](?:\d+s)?(?=\s|$)/g, "<age>") : line))
    .map((line) => line.trimEnd().replaceAll(/(?<=\S) {2,}/g, "  "));
  return [`$ ${command}`, ...inOrder(lines)].join("\n").trim();
}

function isEvent(line: string): boolean {
  return /^ {2}(?:Normal|Warning) /.test(line);
}

/** Events of the same second have no defined order. */
function inOrder(lines: readonly string[]): readonly string[] {
  return [...lines.filter((line) => !isEvent(line)), ...lines.filter(isEvent).sort()];
}

function withoutEnd(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .trimEnd();
}

function wordsOf(command: string): string[] {
  return (command.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ""));
}

const [page] = pagesOfSuites["test/operator/quick-start.test.ts"];
const statusPage = join(import.meta.dirname, "../..", page);
const examples = join(import.meta.dirname, "../../examples/cluster");

await describeOperator("the quick start", (world) => {
  let shop: TestWaf;

  beforeAll(async () => {
    await world().startOperator({ parameters: ["--leader-elect", "--lease-namespace", "wafsync-system"] });
  });

  test("every object of the examples becomes ready, and kubectl wait sees it", async () => {
    const { cluster, simulator } = world();
    shop = world().newWaf();
    const files = (await readdir(examples)).sort();
    const texts = await Promise.all(files.map(async (file) => await readFile(join(examples, file), "utf8")));
    const input = texts
      .join("\n---\n")
      .replaceAll("http://127.0.0.1:8080", simulator.baseUrl)
      .replaceAll("demo-key-0123456789", shop.key)
      .replaceAll("www.example.com", shop.domain);
    // The first run waits for the WAF until all objects exist, so that one event summarizes everything.
    simulator.settings.latencyMs = slow(1_000);
    await cluster.expectKubectl(["apply", "-f", "-"], { input });
    simulator.settings.latencyMs = 0;
    const waited = ["wait", "--for=condition=Ready", `--timeout=${slow(60)}s`, "--all", "-n", "shop"];
    const kinds = "wafinstances,wafiprules,waforigins,wafcacheclears";
    const seen = await cluster.expectKubectl([...waited, kinds]);
    expect(seen.match(/condition met/g)).toHaveLength(6);
    expect(shop.view.blocklist).toHaveLength(37);
    expect(shop.view.counters.cacheClears).toBe(1);
  });

  test("the output of kubectl matches the documentation", async () => {
    const { cluster, simulator } = world();
    const commands = await runPage(statusPage, {
      apply: async (yaml) => {
        await cluster.expectKubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], { input: yaml });
        // Long enough for the operator to see the change; then until it has handled it.
        await realDelay(slow(1_000));
        const isSettled = async (): Promise<boolean> => (await world().objects("shop")).every(isAtRest);
        await world().eventually("all is settled", isSettled);
      },
      run: async (parameters) => {
        const printed = await cluster.expectKubectl(parameters);
        return printed.replaceAll(simulator.baseUrl, "http://127.0.0.1:8080");
      },
    });
    expect(commands.length).toBeGreaterThan(8);
    expect(commands.map(({ command, printed }) => normalized(command, printed))).toStrictEqual(
      commands.map(({ command, shown }) => normalized(command, shown)),
    );
  });
});
