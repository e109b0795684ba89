// `wafsync import`: writes objects that declare the current state of a WAF, for a folder or for kubectl apply.
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { isNameOfNamespace, type ObjectName } from "../model/resource.ts";
import { counted, inThousands, visibleText } from "../model/texts.ts";
import type { WafResult } from "../model/waf-result.ts";
import type { WafClient } from "../waf/client.ts";
import type { ImportOptions } from "./commands/waf-commands.ts";
import { CommandError } from "./describe-error.ts";
import { withBaseUrl, givenKeyHint } from "./targets/open-target.ts";
import { adoptAnnotation } from "../decide/ownership.ts";
import { apiVersion } from "../kinds/kinds.ts";
import { parseResource } from "../kinds/parse-resource.ts";
import { toDeclared } from "../kinds/to-declared.ts";
import { addressesMax } from "../kinds/waf-ip-rule.ts";
import { type ListName, listNames } from "../model/declared.ts";
import { type Entry, isOpaque } from "../address/entry.ts";
import { observeSpellings } from "../model/observed.ts";
import type { Gathered } from "../model/gathered.ts";
import { compileDesired } from "../decide/desired.ts";
import { Gathering } from "../source/directory/gather.ts";
import type { DirectoryItem } from "../source/directory/read-document.ts";
import { DirectorySnapshot } from "../source/directory/snapshot.ts";

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

// Builds the objects that declare the current entries of a WAF, marked for adoption: a plan for them contains only adoptions and
// no calls. Entries that can't be declared without a call, or that the guards reject, are skipped, stay unmanaged, and are reported. Pure.

export interface WafContent {
  readonly domain: string;
  readonly primaryOrigin: string;
  readonly lists: Readonly<Record<ListName, readonly string[]>>;
}

export interface ImportNames {
  readonly instance: ObjectName;
  readonly baseUrl: string;
}

function secretNameOf({ name }: ObjectName): string {
  return `${name}-waf-key`;
}

interface ImportedFile {
  readonly name: string;
  /** Comment lines, without `#`. */
  readonly comment: string;
  readonly documents: readonly object[];
}

const actions = { blocklist: "Block", allowlist: "Allow" } as const;

export type Import = ReturnType<typeof buildImport>;

/** An entry of a list. */
interface Listed {
  readonly list: ListName;
  readonly entry: Entry;
}

/** Builds the objects, applies guards and conflicts to them as a run does, and skips rejected entries. */
export function buildImport(names: ImportNames, content: WafContent) {
  const observed = listNames.flatMap((list) =>
    [...observeSpellings(content.lists[list])].map(([entry, [spelling = entry]]) => ({ list, entry, spelling })),
  );
  const blocked = new Set(observed.flatMap(({ list, entry }) => (list === "blocklist" ? [entry] : [])));
  const unfit = ({ list, entry }: Listed): string | undefined => {
    if (isOpaque(entry)) return "It is not an address or network.";
    const isOnBoth = list === "allowlist" && blocked.has(entry);
    return isOnBoth ? "It is also on the blocklist, and only one list can declare it." : undefined;
  };
  const fit = observed.filter((one) => unfit(one) === undefined);
  const rejected = rejectedIn(filesOf(names, content, fit), names.instance);
  const skipped = observed.flatMap((one) => {
    const why = unfit(one) ?? rejected.get(`${one.list} ${one.entry}`);
    return why === undefined ? [] : [{ ...one, why }];
  });
  const kept = fit.filter(({ list, entry }) => !rejected.has(`${list} ${entry}`));
  const count = (wanted: ListName): number => kept.filter(({ list }) => list === wanted).length;
  const counts = { blocklist: count("blocklist"), allowlist: count("allowlist") };
  return { files: filesOf(names, content, kept), counts, skipped };
}

/** What guards or conflicts would reject, by list and entry, and why. */
function rejectedIn(files: readonly ImportedFile[], instance: ObjectName): ReadonlyMap<string, string> {
  const documents = files.flatMap((file) => file.documents);
  const { rules } = compileDesired(gatheredFrom(documents, instance), 0);
  return new Map(
    rules.flatMap(({ list, rejected }) => rejected.map(({ entry, message }) => [`${list} ${entry}`, message])),
  );
}

/** The instance of the objects, as a run over a folder with them would see it. */
export function gatheredFrom(documents: readonly object[], instance: ObjectName): Gathered {
  const items = documents.map((document) => {
    const parsed = parseResource(document);
    if (!parsed.ok) throw new TypeError(parsed.faults.map(({ path, message }) => `${path}: ${message}`).join("; "));
    const declared = toDeclared(parsed.value);
    const { kind, namespace, name } = declared.meta;
    return { kind, name: { namespace, name }, file: "", line: 1, declared, lines: [] } as DirectoryItem;
  });
  const gathered = new Gathering(new DirectorySnapshot(items, []), undefined).of(instance);
  if (gathered === undefined) throw new TypeError("no document declares the instance");
  return gathered;
}

function filesOf({ instance, baseUrl }: ImportNames, content: WafContent, entries: readonly Listed[]): ImportedFile[] {
  const { name, namespace } = instance;
  const { domain, primaryOrigin: host } = content;
  const adoptable = (kind: string, ownName: string, spec: object): object => ({
    apiVersion,
    kind,
    metadata: { name: ownName, namespace, annotations: { [adoptAnnotation]: "true" } },
    spec: { instanceRef: { name }, ...spec },
  });
  const secret = secretNameOf(instance);
  const waf: ImportedFile = {
    name: `${name}.yaml`,
    comment: `The WAF of ${domain}. Its API key is not in these files: create Secret ${secret} with the key apiKey, or set WAFSYNC_API_KEY.`,
    documents: [
      {
        apiVersion,
        kind: "WafInstance",
        metadata: { name, namespace },
        spec: { baseUrl, apiKeySecretRef: { name: secret }, expectedDomain: domain },
      },
    ],
  };
  const origin: ImportedFile = {
    name: `${name}-origin.yaml`,
    comment: "The primary origin. The API does not return other origins: add those that you know.",
    // The API does not return whether the primary is an alternate or a backup.
    documents: [adoptable("WafOrigin", `${name}-primary`, { host, type: "Alternate" })],
  };
  // A host that is not valid in a WafOrigin is skipped.
  const isNameable = parseResource(origin.documents[0]).ok;
  const lists = listNames.flatMap((list): ImportedFile[] => {
    const addresses = entries.filter((one) => one.list === list).map(({ entry }) => entry);
    const documents = Array.from({ length: Math.ceil(addresses.length / addressesMax) }, (_, at) =>
      adoptable("WafIpRule", `${name}-${list}${at === 0 ? "" : `-${at + 1}`}`, {
        action: actions[list],
        description: "Imported from the WAF",
        addresses: addresses.slice(at * addressesMax, (at + 1) * addressesMax),
      }),
    );
    const comment = `The ${list} of ${domain} at the time of the import. Because of the annotation, wafsync adopts the entries that are on the list.`;
    return documents.length === 0 ? [] : [{ name: `${name}-${list}.yaml`, comment, documents }];
  });
  return [waf, ...(isNameable ? [origin] : []), ...lists];
}
