// Runs a page of the documentation as a script: its YAML is applied and its commands are run in order, and their output is
// compared with the page. With WAFSYNC_WRITE_DOCS=1, the page is updated instead.
import { readFile, writeFile } from "node:fs/promises";

export interface DocumentedCommand {
  readonly command: string;
  readonly shown: string;
  readonly printed: string;
}

export interface PageRunner {
  readonly apply: (yaml: string) => Promise<void>;
  /** @returns the output of the command, with the names that the page uses */
  readonly run: (parameters: readonly string[]) => Promise<string>;
}

const block = /^```(yaml|console)\n(.*?)^```$/gms;
const writesPages = process.env["WAFSYNC_WRITE_DOCS"] === "1";

/** Every `$ kubectl …` command of the page, with the output on the page and the current output. */
export async function runPage(path: string, runner: PageRunner): Promise<DocumentedCommand[]> {
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
export function normalized(command: string, text: string): string {
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
