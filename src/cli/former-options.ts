// Rewrites former names of options to the current ones, with a warning. Help, completion and documentation do not mention the
// former names, and the next version does not accept them.
import type { Command } from "commander";

export interface RenamedOptions {
  readonly words: readonly string[];
  readonly warnings: readonly string[];
}

interface FormerOption {
  readonly former: string;
  readonly now: string;
  /** If both names are in use, only these values have the former meaning. */
  readonly means?: (value: string) => boolean;
}

/** `-f` always took a folder, so only `--from` can be a date. A folder whose name looks like a date is written as `./7d`. */
const isDate = (value: string): boolean => /^(?:\d{4}-\d\d-\d\d|\d+d|today|yesterday)$/iu.test(value);
const isFile = (value: string): boolean => !["ndjson", "csv", "table", "json"].includes(value);

const dates: readonly FormerOption[] = [
  { former: "--from", now: "--since", means: isDate },
  { former: "--to", now: "--until" },
  { former: "--directory", now: "--from" },
];

const formerOptions: Readonly<Record<string, readonly FormerOption[]>> = {
  logs: [...dates, { former: "--output", now: "--out", means: isFile }, { former: "--format", now: "--output" }],
  report: [...dates, { former: "--output", now: "--out" }],
};

/** @param words the command line after the program name */
export function renameFormerOptions(program: Command, words: readonly string[]): RenamedOptions {
  const place = words.findIndex((word) => !word.startsWith("-"));
  const command = program.commands.find((one) => one.name() === words[place]);
  const former = formerOptions[command?.name() ?? ""];
  if (command === undefined || former === undefined) return { words, warnings: [] };
  const takesValue = new Set(
    command.options.flatMap(({ short, long, required }) => (required ? [short, long] : [])).filter(Boolean),
  );
  const renamed = words.slice(0, place + 1);
  const warnings = new Set<string>();
  let at = place + 1;
  while (at < words.length) {
    const word = words[at] ?? "";
    if (word === "--") break;
    const [name, attached] = splitOption(word);
    const next = words[at + 1];
    const found = former.find((one) => one.former === name && one.means?.(attached ?? next ?? "") !== false);
    if (found !== undefined) warnings.add(`${name} is now ${found.now}; the next version does not accept ${name} here`);
    renamed.push((found?.now ?? name) + (attached === undefined ? "" : `=${attached}`));
    at += 1;
    const hasValue = found !== undefined || takesValue.has(name);
    if (hasValue && attached === undefined && next !== undefined) {
      renamed.push(next);
      at += 1;
    }
  }
  return { words: [...renamed, ...words.slice(at)], warnings: [...warnings] };
}

/** The name, and the value if it is attached with `=`. */
function splitOption(word: string): [name: string, value?: string] {
  const equals = word.indexOf("=");
  return word.startsWith("--") && equals > 0 ? [word.slice(0, equals), word.slice(equals + 1)] : [word];
}
