// `wafsync import`: writes objects that declare the current state of a WAF, for a folder or for kubectl apply. It writes all
// objects or none.
import { isNameOfNamespace, isNameOfObject } from "../model/resource.ts";
import { counted, inThousands } from "../model/sentence.ts";
import { mkdir, readdir, realpath, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { stringify } from "yaml";
import { visibleText } from "../model/visible-text.ts";
import type { WafResult } from "../model/waf-result.ts";
import type { WafClient } from "../waf/client.ts";
import type { ImportOptions } from "./commands/waf-commands.ts";
import { CommandError } from "./describe-error.ts";
import { type Import, type ImportedFile, type WafContent, buildImport } from "./import-documents.ts";
import type { Session } from "./session.ts";
import { withBaseUrl } from "./targets/open-target.ts";

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
  const how = { command: "wafsync import", requestTimeoutMs: options.timeout * 1000 };
  return await withBaseUrl(options, how, async (waf, session) => {
    const { stop } = session.stopping();
    try {
      return await importAll(options, waf, session, stop);
    } catch (error) {
      if (stop.aborted) return 130;
      throw error;
    }
  });
}

async function importAll(
  options: ImportOptions,
  waf: WafClient,
  { out: stdout, notes }: Session,
  stop: AbortSignal,
): Promise<number> {
  const { instance: name, namespace, baseUrl, out } = options;
  const content = await readTwice(waf, stop);
  const built = buildImport({ instance: { namespace, name }, baseUrl, secretName: secretNameOf(options) }, content);
  if (stop.aborted) return 130;
  if (out === undefined) for (const file of built.files) stdout.write(textOf(file));
  else await writeFiles(out, built.files);
  const { files, counts, skipped, relaxed } = built;
  if (options.output === "json") {
    const names = files.map((file) => file.name);
    (out === undefined ? notes : stdout).line(
      JSON.stringify({ out, files: names, counts, skipped, relaxed }, undefined, 2),
    );
  } else for (const line of resultLines(built, options)) notes.line(line);
  return skipped.length > 0 ? 1 : 0;
}

/** @throws CommandError if the WAF can't be read, or the second read differs */
async function readTwice(waf: WafClient, stop: AbortSignal): Promise<WafContent> {
  const first = await readAll(waf, stop);
  const second = await readAll(waf, stop);
  if (isDeepStrictEqual(unordered(first), unordered(second))) return second;
  throw new CommandError(
    "the WAF changed during the import: the second read returned other entries, or another domain or primary origin",
    "No file was written. Stop the other writer, and run the command again.",
  );
}

function unordered({ lists, ...content }: WafContent) {
  return { ...content, blocklist: lists.blocklist.toSorted(), allowlist: lists.allowlist.toSorted() };
}

async function readAll(client: WafClient, signal: AbortSignal): Promise<WafContent> {
  const { domain, primary: primaryOrigin } = valueOf(await client.readOrigins({ signal }));
  const blocklist = valueOf(await client.readList("blocklist", { signal }));
  const allowlist = valueOf(await client.readList("allowlist", { signal }));
  return { domain, primaryOrigin, lists: { blocklist, allowlist } };
}

function valueOf<T>(result: WafResult<T>): T {
  if (result.ok) return result.value;
  const { code, message } = result.fault;
  const isKey = code === "BadApiKey" || code === "MissingApiKey";
  const hint = isKey ? "Set WAFSYNC_API_KEY, or --key-file to the file with the key." : "No file was written.";
  throw new CommandError(`the WAF cannot be read: ${message}`, hint);
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
  await mkdir(dirname(place), { recursive: true });
  // With the default permissions, because a service that runs as another user may have to read the folder.
  const temporary = join(dirname(place), `.${basename(place)}-${process.pid}`);
  try {
    await mkdir(temporary);
    for (const file of files) await writeFile(join(temporary, file.name), textOf(file), { mode: 0o644 });
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

function resultLines({ counts, skipped, relaxed }: Import, options: ImportOptions): string[] {
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
  return lines;
}

function secretNameOf({ secret, instance }: ImportOptions): string {
  return secret ?? `${instance}-waf-key`;
}

function secretCommand(options: ImportOptions): string {
  return `kubectl create secret generic ${secretNameOf(options)} -n ${options.namespace} --from-literal=apiKey=…`;
}

function skippedLines(skipped: Import["skipped"]): string[] {
  if (skipped.length === 0) return [];
  const shown = skipped
    .slice(0, skippedShownMax)
    .map(({ list, spelling, why }) => visibleText(`  ${list} ${spelling}: ${why}`));
  const left = skipped.length - shown.length;
  const title = `${counted(skipped.length, "entry is", "entries are")} skipped, and stay unmanaged:`;
  return [title, ...shown, ...(left > 0 ? [`  … and ${inThousands(left)} more (-o json shows all)`] : [])];
}
