// Prints candidates for the scripts of `wafsync completion` and for kubectl, in the format of the library cobra, which kubectl
// uses: one candidate per line with a tab before its description, and a last line with a colon and a number.
import { parseArgs } from "node:util";
import type { Command } from "commander";
import type { Completion } from "./complete-words.ts";
import { completeWords } from "./complete-words.ts";

/** Bits of cobra's directives: complete paths as usual, complete no paths, and complete folders only. */
const directives: Readonly<Record<Completion["paths"], number>> = { Files: 0, None: 4, Folders: 16 };

/**
 * Never fails: completion must not print errors.
 * @param refuse throws if it is unsafe to connect to a server
 */
export async function printCompletions(program: Command, words: readonly string[], refuse: () => void): Promise<void> {
  const completion = completeWords(program, words);
  const current = words.at(-1) ?? "";
  const lines = completion.candidates.map(({ value, description }) => `${value}\t${description}`);
  if (completion.names === "Instances") {
    const prefix = current.startsWith("--instance=") ? "--instance=" : "";
    const names = await instanceNames(words, refuse).catch(() => []);
    lines.push(...names.map((name) => `${prefix}${name}\t`).filter((line) => line.startsWith(current)));
  }
  process.stdout.write([...lines, `:${directives[completion.paths]}`, ""].join("\n"));
}

const namesMax = 500;

/** @param words of the command line, after the program name */
async function instanceNames(words: readonly string[], refuse: () => void): Promise<readonly string[]> {
  const { values } = parseArgs({
    args: words.slice(1, -1),
    options: {
      from: { type: "string", short: "f" },
      kubeconfig: { type: "string" },
      context: { type: "string" },
    },
    strict: false,
    allowPositionals: true,
  });
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  const directory = text(values["from"]);
  if (directory !== undefined) {
    const { namesInFolder } = await import("./names-in-folder.ts");
    return (await namesInFolder(directory)).slice(0, namesMax);
  }
  const [kubeconfig, context] = [text(values["kubeconfig"]), text(values["context"])];
  const cluster = {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
  };
  refuse();
  // Loads the Kubernetes client.
  const { instancesInCluster } = await import("../read-kube-config.ts");
  return await instancesInCluster(cluster, namesMax);
}
