// Reads commands and options from `--help`, so that tests do not need their own lists.
import { runWafsync } from "./wafsync-process.ts";

async function helpOf(parameters: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runWafsync([...parameters, "--help"]);
  if (code !== 0) throw new Error(`wafsync ${parameters.join(" ")} --help ended with ${code}: ${stderr}`);
  return stdout;
}

/** The indented lines after a heading such as `Options:`, up to the next blank line. */
function block(help: string, heading: string): string[] {
  const lines = help.split("\n");
  const start = lines.indexOf(heading);
  const end = lines.indexOf("", start);
  return start === -1 ? [] : lines.slice(start + 1, end === -1 ? undefined : end);
}

/** Every command of wafsync, in the order in which `--help` lists them. */
export async function commandNames(): Promise<readonly string[]> {
  const [listed = ""] = (await helpOf([])).split("Examples:");
  const names = [...listed.matchAll(/^ {2}([a-z][a-z-]*)/gmu)].map(([, name = ""]) => name);
  return names.filter((name) => name !== "help");
}

/** The long options of a command, for example `--from`, without `--help`. */
export async function optionNames(command: string): Promise<readonly string[]> {
  const lines = block(await helpOf([command]), "Options:");
  const names = lines.flatMap((line) => /^ {2}(?:-\w, )?(--[a-z][a-z-]*)/u.exec(line)?.[1] ?? []);
  return names.filter((name) => name !== "--help");
}
