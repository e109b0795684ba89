// `wafsync import`: writes objects that declare the current state of a WAF, for a folder or for kubectl apply.
import { isNameOfNamespace } from "../model/resource.ts";
import { counted, inThousands, visibleText } from "../model/texts.ts";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import type { WafResult } from "../model/waf-result.ts";
import type { WafClient } from "../waf/client.ts";
import type { ImportOptions } from "./commands/waf-commands.ts";
import { CommandError } from "./describe-error.ts";
import { type Import, type ImportedFile, type WafContent, buildImport, secretNameOf } from "./import-documents.ts";
import { withBaseUrl, givenKeyHint } from "./targets/open-target.ts";

const requestTimeoutMs = 60_000;

/** @returns 0 if everything is declared, 1 if entries were skipped, 130 if it was stopped. */
export async function runImport(options: ImportOptions): Promise<number> {
  const { instance, namespace, baseUrl, out } = options;
  for (const [option, name] of [
    ["--instance", instance],
    ["--namespace", namespace],
  ] as const) {
    if (isNameOfNamespace(name)) continue;
    throw new CommandError(`${option} ${name} is not a valid name`, "Write lower-case letters, digits and hyphens.");
  }
  if (out !== undefined) await requireNew(out);
  return await withBaseUrl(options, { command: "wafsync import", requestTimeoutMs }, async (waf, session) => {
    const { stop } = session.stopping();
    const content = await readAll(waf, stop).catch((error: unknown) => {
      if (!stop.aborted) throw error;
    });
    if (stop.aborted || content === undefined) return 130;
    const built = buildImport({ instance: { namespace, name: instance }, baseUrl }, content);
    if (out === undefined) for (const file of built.files) session.out.write(textOf(file));
    else await writeFiles(out, built.files);
    for (const line of resultLines(built, options)) session.notes.line(line);
    return built.skipped.length > 0 ? 1 : 0;
  });
}

/** @throws CommandError if the WAF can't be read */
async function readAll(client: WafClient, signal: AbortSignal): Promise<WafContent> {
  const { domain, primary: primaryOrigin } = valueOf(await client.readOrigins({ signal }));
  const blocklist = valueOf(await client.readList("blocklist", { signal }));
  const allowlist = valueOf(await client.readList("allowlist", { signal }));
  return { domain, primaryOrigin, lists: { blocklist, allowlist } };
}

function valueOf<T>(result: WafResult<T>): T {
  if (result.ok) return result.value;
  const hint = givenKeyHint(result.fault) ?? "No file was written.";
  throw new CommandError(`the WAF cannot be read: ${result.fault.message}`, hint);
}

/** @throws CommandError if the folder is not empty: its files would mix with the imported ones */
async function requireNew(out: string): Promise<void> {
  const names = await readdir(out).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new CommandError(`--out ${out} cannot be used: ${error.code ?? error.message}`, "Set --out to a new folder.");
  });
  if (names.length > 0) throw new CommandError(`the folder ${out} is not empty`, "Set --out to a new folder.");
}

async function writeFiles(out: string, files: readonly ImportedFile[]): Promise<void> {
  try {
    await mkdir(out, { recursive: true });
    // With the default permissions, because a service that runs as another user may have to read the folder.
    for (const file of files) await writeFile(join(out, file.name), textOf(file), { mode: 0o644 });
  } catch (error) {
    throw new CommandError(`${out} cannot be written: ${(error as NodeJS.ErrnoException).code ?? "unknown error"}`);
  }
}

function textOf({ comment, documents }: ImportedFile): string {
  const texts = documents.map(
    (document) => `---\n${stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })}`,
  );
  return `# ${comment}\n${texts.join("")}`;
}

function resultLines({ counts, skipped }: Import, options: ImportOptions): string[] {
  const { out, baseUrl, instance: name, namespace } = options;
  const where = out === undefined ? "" : ` in ${out}`;
  const lines = [
    `Declared ${counted(counts.blocklist, "entry", "entries")} of the blocklist and ${inThousands(counts.allowlist)} of the allowlist${where}.`,
  ];
  if (skipped.length > 0) {
    lines.push(
      `${counted(skipped.length, "entry is", "entries are")} skipped, and stay unmanaged:`,
      ...skipped.map(({ list, spelling, why }) => visibleText(`  ${list} ${spelling}: ${why}`)),
    );
  }
  if (out === undefined) return lines;
  const secret = `kubectl create secret generic ${secretNameOf({ namespace, name })} -n ${namespace} --from-literal=apiKey=…`;
  return [
    ...lines,
    `Next, without a cluster: WAFSYNC_API_KEY=… WAFSYNC_BASE_URL=${baseUrl} wafsync plan -f ${out}${options.allowInsecureHttp ? " --allow-insecure-http" : ""}`,
    `Next, in a cluster: ${secret} && kubectl apply --server-side -f ${out}`,
  ];
}
