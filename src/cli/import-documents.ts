// Builds the objects that declare the current entries of a WAF, marked for adoption: a plan for them contains only adoptions and
// no calls. Entries that can't be declared without a call, or that the guards reject, are skipped, stay unmanaged, and are reported. Pure.
import { adoptAnnotation } from "../decide/ownership.ts";
import { apiVersion } from "../kinds/kinds.ts";
import { parseResource } from "../kinds/parse-resource.ts";
import { toDeclared } from "../kinds/to-declared.ts";
import { addressesMax } from "../kinds/waf-ip-rule.ts";
import { type DeclaredOrigin, type ListName, listNames } from "../model/declared.ts";
import { type Entry, isOpaque } from "../address/entry.ts";
import { observeSpellings } from "../model/observed.ts";
import type { Gathered, GatheredRule } from "../model/gathered.ts";
import type { ObjectName } from "../model/resource.ts";
import { compileDesired } from "../decide/desired.ts";

export interface WafContent {
  readonly domain: string;
  readonly primaryOrigin: string;
  readonly lists: Readonly<Record<ListName, readonly string[]>>;
}

export interface ImportNames {
  readonly instance: ObjectName;
  readonly baseUrl: string;
}

export function secretNameOf({ name }: ObjectName): string {
  return `${name}-waf-key`;
}

export interface ImportedFile {
  readonly name: string;
  /** Comment lines, without `#`. */
  readonly comment: string;
  readonly documents: readonly object[];
}

export type Import = ReturnType<typeof buildImport>;

const actions = { blocklist: "Block", allowlist: "Allow" } as const;

type Entries = Readonly<Record<ListName, readonly Entry[]>>;

/** Builds the objects, applies guards and conflicts to them as a run does, and skips rejected entries. */
export function buildImport(names: ImportNames, content: WafContent) {
  const observed = {
    blocklist: observeSpellings(content.lists.blocklist),
    allowlist: observeSpellings(content.lists.allowlist),
  };
  const unfit = (list: ListName, entry: Entry): string | undefined => {
    if (isOpaque(entry)) return "It is not an address or network.";
    const isOnBoth = list === "allowlist" && observed.blocklist.has(entry);
    return isOnBoth ? "It is also on the blocklist, and only one list can declare it." : undefined;
  };
  const entriesOf = (whyNot: typeof unfit): Entries => {
    const of = (list: ListName) => [...observed[list].keys()].filter((entry) => whyNot(list, entry) === undefined);
    return { blocklist: of("blocklist"), allowlist: of("allowlist") };
  };
  const fit = entriesOf(unfit);
  const rejected = rejectedIn(filesOf(names, content, fit));
  const whyNot = (list: ListName, entry: Entry): string | undefined =>
    unfit(list, entry) ?? rejected.get(`${list} ${entry}`);
  const kept = entriesOf(whyNot);
  const skipped = listNames.flatMap((list) =>
    [...observed[list]].flatMap(([entry, [spelling = entry]]) => {
      const why = whyNot(list, entry);
      return why === undefined ? [] : [{ list, spelling, why }];
    }),
  );
  const counts = { blocklist: kept.blocklist.length, allowlist: kept.allowlist.length };
  return { files: filesOf(names, content, kept), counts, skipped };
}

/** What guards or conflicts would reject, by list and entry, and why. */
function rejectedIn(files: readonly ImportedFile[]): ReadonlyMap<string, string> {
  const { rules } = compileDesired(gatheredFrom(files.flatMap(({ documents }) => documents)), 0);
  return new Map(
    rules.flatMap(({ list, rejected }) => rejected.map(({ entry, message }) => [`${list} ${entry}`, message])),
  );
}

/** The content of the objects, as a run would see it. */
export function gatheredFrom(documents: readonly object[]): Gathered {
  const rules: GatheredRule[] = [];
  const origins: DeclaredOrigin[] = [];
  let instance: Gathered["instance"] | undefined;
  for (const document of documents) {
    const parsed = parseResource(document);
    if (!parsed.ok) throw new TypeError(parsed.faults.map(({ path, message }) => `${path}: ${message}`).join("; "));
    const { value: resource } = parsed;
    if (resource.kind === "WafInstance") instance = toDeclared(resource);
    if (resource.kind === "WafIpRule") rules.push({ rule: toDeclared(resource), texts: [] });
    if (resource.kind === "WafOrigin") origins.push(toDeclared(resource));
  }
  if (instance === undefined) throw new TypeError("no document declares an instance");
  return {
    instance,
    key: { state: "Missing", problem: "" },
    rules,
    origins,
    cacheClears: [],
    namespaceLabels: new Map(),
    brokenSources: [],
    sameKey: [],
  };
}

function filesOf(names: ImportNames, content: WafContent, entries: Entries): ImportedFile[] {
  const { instance } = names;
  const { domain } = content;
  const lists = listNames.flatMap((list): ImportedFile[] => {
    if (entries[list].length === 0) return [];
    const comment = `The ${list} of ${domain} at the time of the import. Because of the annotation, wafsync adopts the entries that are on the list.`;
    return [{ name: `${instance.name}-${list}.yaml`, comment, documents: rulesOf(instance, list, entries[list]) }];
  });
  const waf: ImportedFile = {
    name: `${instance.name}.yaml`,
    comment: `The WAF of ${domain}. Its API key is not in these files: create Secret ${secretNameOf(instance)} with the key apiKey, or set WAFSYNC_API_KEY.`,
    documents: [instanceDocument(names, domain)],
  };
  // The API does not return whether the primary is an alternate or a backup.
  const primary = { instanceRef: { name: instance.name }, host: content.primaryOrigin, type: "Alternate" };
  const origin: ImportedFile = {
    name: `${instance.name}-origin.yaml`,
    comment: "The primary origin. The API does not return other origins: add those that you know.",
    documents: [toAdopt("WafOrigin", `${instance.name}-primary`, instance, primary)],
  };
  // A host that is not valid in a WafOrigin is skipped.
  const isNameable = parseResource(origin.documents[0]).ok;
  return [waf, ...(isNameable ? [origin] : []), ...lists];
}

function instanceDocument({ instance, baseUrl }: ImportNames, domain: string) {
  const { name, namespace } = instance;
  return {
    apiVersion,
    kind: "WafInstance",
    metadata: { name, namespace },
    spec: {
      baseUrl,
      apiKeySecretRef: { name: secretNameOf(instance) },
      expectedDomain: domain,
    },
  };
}

function rulesOf(instance: ObjectName, list: ListName, entries: readonly Entry[]): object[] {
  const rules: object[] = [];
  for (let start = 0; start < entries.length; start += addressesMax) {
    const number = rules.length === 0 ? "" : `-${rules.length + 1}`;
    const rule = {
      instanceRef: { name: instance.name },
      action: actions[list],
      description: "Imported from the WAF",
      addresses: entries.slice(start, start + addressesMax),
    };
    rules.push(toAdopt("WafIpRule", `${instance.name}-${list}${number}`, instance, rule));
  }
  return rules;
}

function toAdopt(kind: string, name: string, { namespace }: ObjectName, spec: object): object {
  return { apiVersion, kind, metadata: { name, namespace, annotations: { [adoptAnnotation]: "true" } }, spec };
}
