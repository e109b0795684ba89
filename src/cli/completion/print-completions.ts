// Prints candidates for the scripts of `wafsync completion` and for kubectl, in the format of the library cobra, which kubectl
// uses: one candidate per line with a tab before its description, and a last line with a colon and a number.
import type { Command } from "commander";
import { completeWords } from "./complete-words.ts";
import type { Completion } from "./complete-words.ts";

/** Bits of cobra's directives: complete paths as usual, complete no paths, and complete folders only. */
const directives: Readonly<Record<Completion["paths"], number>> = { Files: 0, None: 4, Folders: 16 };

/** Never fails: completion must not print errors. */
export async function printCompletions(program: Command, words: readonly string[]): Promise<void> {
  const completion = completeWords(program, words);
  const current = words.at(-1) ?? "";
  const lines = completion.candidates.map(({ value, description }) => `${value}\t${description}`);
  if (completion.names === "Instances") {
    const { instanceNames } = await import("./instance-names.ts");
    const prefix = current.startsWith("--instance=") ? "--instance=" : "";
    const names = await instanceNames(words).catch(() => []);
    lines.push(...names.map((name) => `${prefix}${name}\t`).filter((line) => line.startsWith(current)));
  }
  process.stdout.write([...lines, `:${directives[completion.paths]}`, ""].join("\n"));
}
