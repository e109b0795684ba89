// `wafsync import`: writes objects that declare the current state of a WAF, for a folder or for kubectl apply. It writes all
// objects or none.
import { isNameOfNamespace, isNameOfObject } from "../model/resource.ts";
import { counted, inThousands } from "../model/sentence.ts";
import { chmod, chown, mkdir, readdir, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { stringify } from "yaml";
import type { ApiKey } from "../model/api-key.ts";
import { visibleLines, visibleText } from "../model/visible-text.ts";
import { CommandError, redactError } from "./describe-error.ts";
import type { Import, ImportedFile, SkippedEntry } from "./import-documents.ts";
import { buildImport } from "./import-documents.ts";
import { readApiKey } from "./read-api-key.ts";
import { readWafContent } from "./read-waf-content.ts";
import { withStopSignals } from "./stop-signals.ts";

export interface ImportOptions {
  readonly baseUrl: string;
  readonly keyFile?: string;
  readonly instance: string;
  readonly namespace: string;
  readonly secret?: string;
  readonly out?: string;
  readonly timeout: number;
  readonly allowInsecureHttp: boolean;
  readonly output: "table" | "json";
}

const skippedShownMax = 10;

/** @returns 0 if everything is declared, 1 if entries were skipped, 130 if it was stopped. */
export async function runImport(options: ImportOptions): Promise<number> {
  const { instance, namespace } = options;
  for (const [option, name] of [
    ["--instance", instance],
    ["--namespace", namespace],
  ] as const) {
    if (isNameOfNamespace(name)) continue;
    throw new CommandError(`${option} ${name} is not a valid name`, "Write lower-case letters, digits and hyphens.");
  }
  const { secret } = options;
  if (secret !== undefined && !isNameOfObject(secret)) {
    throw new CommandError(
      `--secret ${secret} is not a valid name`,
      "Write lower-case letters, digits, hyphens and dots.",
    );
  }
  if (options.out !== undefined) await requireNew(options.out);
  const key = await readApiKey(options.keyFile);
  return await withStopSignals(async ({ stop }) => {
    try {
      return await importAll(options, key, stop);
    } catch (error) {
      if (stop.aborted) return 130;
      throw redactError(error, (text) => key.redact(text));
    }
  });
}

async function importAll(options: ImportOptions, key: ApiKey, stop: AbortSignal): Promise<number> {
  const { instance: name, namespace, baseUrl, timeout, allowInsecureHttp, out } = options;
  const content = await readWafContent({ baseUrl, key, timeoutMs: timeout * 1000, allowInsecureHttp, stop });
  const names = { instance: { namespace, name }, baseUrl, secretName: secretNameOf(options) };
  const built = buildImport(names, content);
  if (stop.aborted) return 130;
  if (out === undefined) for (const file of built.files) process.stdout.write(key.redact(textOf(file)));
  else await writeFiles(out, built.files);
  print(built, options, (text) => key.redact(text));
  return built.skipped.length > 0 ? 1 : 0;
}

/** @throws CommandError if the folder is not empty: its files would mix with the imported ones */
async function requireNew(out: string): Promise<void> {
  const names = await readdir(out).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new CommandError(`--out ${out} cannot be used: ${error.code ?? error.message}`, "Set --out to a new folder.");
  });
  if (names.length > 0) throw new CommandError(`the folder ${out} is not empty`, "Set --out to a new folder.");
}

/** Writes to a temporary folder first, and then renames it, so that readers see either all files or none. */
async function writeFiles(out: string, files: readonly ImportedFile[]): Promise<void> {
  const place = await realpath(out).catch(() => resolve(out));
  const known = await stat(place).catch(() => undefined);
  await mkdir(dirname(place), { recursive: true });
  // With the default permissions, because a service that runs as another user may have to read the folder.
  const temporary = join(dirname(place), `.${basename(place)}-${process.pid}`);
  try {
    await mkdir(temporary);
    for (const file of files) await writeFile(join(temporary, file.name), textOf(file), { mode: 0o644 });
    if (known !== undefined) {
      await chown(temporary, known.uid, known.gid);
      await chmod(temporary, known.mode & 0o7777);
    }
    await rename(temporary, place);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw new CommandError(`${out} cannot be written: ${(error as NodeJS.ErrnoException).code ?? "unknown error"}`);
  }
}

function textOf({ comment, documents }: ImportedFile): string {
  const texts = documents.map(
    (document) => `---\n${stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })}`,
  );
  return `# ${comment}\n${texts.join("")}`;
}

function print(
  { files, counts, skipped, relaxed }: Import,
  options: ImportOptions,
  redact: (text: string) => string,
): void {
  if (options.output === "json") {
    const names = files.map(({ name }) => name);
    const stream = options.out === undefined ? process.stderr : process.stdout;
    stream.write(
      `${visibleLines(redact(JSON.stringify({ out: options.out, files: names, counts, skipped, relaxed }, undefined, 2)))}\n`,
    );
    return;
  }
  const lines = [
    `Declared ${counted(counts.blocklist, "entry", "entries")} of the blocklist and ${inThousands(counts.allowlist)} of the allowlist${options.out === undefined ? "" : ` in ${options.out}`}.`,
  ];
  if (relaxed.length > 0)
    lines.push(`The default guards would reject some of these entries, so the instance sets ${relaxed.join(", ")}.`);
  lines.push(...skippedLines(skipped));
  if (options.out !== undefined) {
    lines.push(
      `Next, without a cluster: WAFSYNC_API_KEY=… WAFSYNC_BASE_URL=${options.baseUrl} wafsync plan -f ${options.out}${options.allowInsecureHttp ? " --allow-insecure-http" : ""}`,
      `Next, in a cluster: ${secretCommand(options)} && kubectl apply --server-side -f ${options.out}`,
    );
  }
  process.stderr.write(`${redact(lines.join("\n"))}\n`);
}

function secretNameOf({ secret, instance }: ImportOptions): string {
  return secret ?? `${instance}-waf-key`;
}

function secretCommand(options: ImportOptions): string {
  return `kubectl create secret generic ${secretNameOf(options)} -n ${options.namespace} --from-literal=apiKey=…`;
}

function skippedLines(skipped: readonly SkippedEntry[]): string[] {
  if (skipped.length === 0) return [];
  const shown = skipped
    .slice(0, skippedShownMax)
    .map(({ list, spelling, why }) => visibleText(`  ${list} ${spelling}: ${why}`));
  const left = skipped.length - shown.length;
  const title = `${counted(skipped.length, "entry is", "entries are")} skipped, and stay unmanaged:`;
  return [title, ...shown, ...(left > 0 ? [`  … and ${inThousands(left)} more (-o json shows all)`] : [])];
}
