// Encodes an inventory as named sections of plain text, as stored in WafRecords, so that it is readable and searchable.
// Every section is present, even if it is empty, and consists of sorted lines: equal inventories give equal text, and
// truncated text is detected. Invalid text is rejected as a whole, because a partial inventory would orphan entries.
import type { ListName } from "../model/declared.ts";
import { listNames } from "../model/declared.ts";
import { decodeWord, encodeWord } from "../model/encoded-word.ts";
import type { Entry } from "../model/entry.ts";
import { finished } from "../model/finished.ts";
import type { RolloutRecord } from "../model/workload.ts";
import {
  decodeIdentity,
  encodeIdentity,
  type MutableManaged,
  otherDomainLines,
  readOtherDomainLine,
} from "./inventory-domains.ts";
import { decodeEntry, EntryReader, EntryWriter } from "./inventory-entries.ts";
import { decodeJsonLine, decodeTime, encodeJsonLine, encodeTime } from "./inventory-lines.ts";
import { addParts, type EntryParts, partLines, readPartLine } from "./inventory-parts.ts";
import { originLine, readOriginLine } from "./inventory-origins.ts";
import { readTriggerLine, rolloutLine, triggerLine } from "./inventory-triggers.ts";
import type {
  Approval,
  Dispute,
  HandledTrigger,
  Inventory,
  OwnedEntry,
  OwnedOrigin,
  Refusal,
} from "../model/inventory.ts";

/** The format version that this program writes, and the newest one that it reads. */
export const inventoryFormat = 3;
/** The first format with owners and other domains; entries of earlier records have unknown owners. */
const ownersSince = 2;
const sectionsSinceOwners = new Set<string>(["owners", "other-domains"]);
/** The first format with the parts of entries. It is only written if there are any, so that earlier versions can read the others. */
const partsSince = 3;

/** The sections that consist of lines, in reading order. */
export const lineSections = [
  "owners",
  "blocklist",
  "allowlist",
  "origins",
  "refused",
  "disputes",
  "triggers",
  "approval",
  "other-domains",
  "parts",
] as const;
export type LineSection = (typeof lineSections)[number];

export type DecodedInventory =
  | { readonly ok: true; readonly inventory: Inventory }
  /** One sentence that names the section and the line. */
  | { readonly ok: false; readonly problem: string };

/** The sections of an inventory. The order of refusals, disputes and triggers is not kept: they are sorted. */
export function encodeInventory(inventory: Inventory): Record<string, string> {
  return finished(encodeInSlices(inventory));
}

/** The same in slices: a million entries block the event loop for a second. */
export function* encodeInSlices(inventory: Inventory): Generator<undefined, Record<string, string>> {
  const writer = new EntryWriter();
  const blocklist = joinSorted(yield* writer.sortedLines(inventory.entries.blocklist));
  yield undefined;
  const allowlist = joinSorted(yield* writer.sortedLines(inventory.entries.allowlist));
  yield undefined;
  const otherDomains = joinLines(otherDomainLines(inventory.otherDomains, writer));
  const parts = joinLines(listNames.flatMap((list) => [...partLines(list, inventory.entries[list])]));
  return {
    format: String(parts === "" ? ownersSince : inventoryFormat),
    domain: inventory.domain ?? "",
    waf: encodeIdentity(inventory),
    owners: joinLines(writer.rows()),
    blocklist,
    allowlist,
    origins: joinLines([...inventory.origins].map(originLine)),
    refused: joinLines(inventory.refusals.map(refusalLine)),
    disputes: joinLines(inventory.disputes.map(disputeLine)),
    triggers: joinLines([...inventory.handledTriggers.map(triggerLine), ...inventory.rollouts.map(rolloutLine)]),
    approval: joinLines(approvalLines(inventory)),
    "other-domains": otherDomains,
    ...(parts === "" ? {} : { parts }),
  };
}

/** Decodes the inventory, or says why that is impossible: it is damaged, or a newer wafsync wrote it. */
export function decodeInventory(record: Readonly<Record<string, string>>): DecodedInventory {
  const formatProblem = checkFormat(record);
  if (formatProblem !== undefined) return { ok: false, problem: formatProblem };
  const sections = [...scalarsOf(record), ...sectionsOf(record)];
  const missing = sections.find((section) => record[section] === undefined);
  if (missing !== undefined) return { ok: false, problem: `The inventory is damaged: section ${missing} is missing.` };
  const known = new Set<string>(["format", ...sections]);
  const unknown = Object.keys(record).find((section) => !known.has(section));
  if (unknown !== undefined) {
    return { ok: false, problem: `The inventory is damaged: section ${excerpt(unknown)} is unknown.` };
  }
  return decodeSections(record);
}

/** The single-value sections that a record of its format must have. */
export function scalarsOf(record: Readonly<Record<string, string>>): readonly string[] {
  return Number(record["format"]) >= ownersSince ? ["domain", "waf"] : ["domain"];
}

/** The line sections that a record of its format must have. */
export function sectionsOf(record: Readonly<Record<string, string>>): readonly LineSection[] {
  const format = Number(record["format"]);
  return lineSections.filter((section) => {
    if (section === "parts") return format >= partsSince;
    return format >= ownersSince || !sectionsSinceOwners.has(section);
  });
}

/** The lines of a section, without empty ones. */
export function sectionLines(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== "");
}

/** The text of a section: its lines sorted, without duplicates, each with a line feed. */
export function joinLines(lines: Iterable<string>): string {
  return joinSorted([...new Set(lines)].sort());
}

/** The same for lines that are already sorted and without duplicates. */
export function joinSorted(lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/** Why this program cannot read the format of the sections; undefined if it can. */
export function checkFormat(record: Readonly<Record<string, string>>): string | undefined {
  const format = record["format"];
  if (format === undefined) return "The inventory is damaged: section format is missing.";
  if (!/^[1-9][0-9]{0,8}$/.test(format)) return `The inventory is damaged: format ${excerpt(format)} is not a number.`;
  if (Number(format) <= inventoryFormat) return undefined;
  return `The inventory has format ${format}, but this version of wafsync reads formats up to ${inventoryFormat}: run the newer version that wrote it.`;
}

interface MutableApproval {
  readonly removals: Record<ListName, Set<Entry>>;
  readonly origins: Set<string>;
  readonly holds: Set<string>;
}

interface MutableInventory {
  readonly reader: EntryReader;
  readonly entries: Record<ListName, Map<Entry, OwnedEntry>>;
  readonly origins: Map<string, OwnedOrigin>;
  readonly refusals: Refusal[];
  readonly disputes: Dispute[];
  readonly handledTriggers: HandledTrigger[];
  readonly rollouts: RolloutRecord[];
  /** By hash. */
  readonly approved: Map<string, MutableApproval>;
  approvals: number;
  version: number;
  readonly allowed: Record<ListName, { readonly pending: Set<Entry>; count: number; sinceMs: number }>;
  readonly otherDomains: Map<string, MutableManaged>;
  readonly parts: EntryParts;
}

/** Adds one line; false if it is invalid. */
type LineReader = (line: string, into: MutableInventory) => boolean;

const lineReaders: Readonly<Record<LineSection, LineReader>> = {
  owners: (line, { reader }) => reader.readRow(line),
  blocklist: (line, { reader, entries }) => reader.readEntry(line, entries.blocklist),
  allowlist: (line, { reader, entries }) => reader.readEntry(line, entries.allowlist),
  origins: (line, { origins }) => readOriginLine(line, origins),
  refused: readRefusal,
  disputes: readDispute,
  triggers: readTriggerLine,
  approval: readApproval,
  "other-domains": (line, { otherDomains, reader }) => readOtherDomainLine(line, otherDomains, reader),
  parts: (line, { parts }) => readPartLine(line, parts),
};

function decodeSections(record: Readonly<Record<string, string>>): DecodedInventory {
  const into: MutableInventory = {
    reader: new EntryReader(),
    entries: { blocklist: new Map(), allowlist: new Map() },
    origins: new Map(),
    refusals: [],
    disputes: [],
    handledTriggers: [],
    rollouts: [],
    approved: new Map(),
    approvals: 0,
    version: 0,
    allowed: {
      blocklist: { pending: new Set(), count: 0, sinceMs: 0 },
      allowlist: { pending: new Set(), count: 0, sinceMs: 0 },
    },
    otherDomains: new Map(),
    parts: { blocklist: new Map(), allowlist: new Map() },
  };
  const identity = decodeIdentity(record["waf"] ?? "");
  if (identity === undefined) return { ok: false, problem: "The inventory is damaged: section waf is invalid." };
  for (const section of lineSections) {
    for (const [index, line] of (record[section] ?? "").split(/\r?\n/).entries()) {
      if (line.trim() === "" || lineReaders[section](line, into)) continue;
      const problem = `The inventory is damaged: ${section}, line ${index + 1} is not understood: ${excerpt(line)}`;
      return { ok: false, problem };
    }
  }
  const { approved, reader: _, parts, ...rest } = into;
  for (const list of listNames) addParts(into.entries[list], parts[list]);
  const domain = record["domain"] === "" ? undefined : record["domain"];
  return { ok: true, inventory: { domain, ...identity, ...rest, approval: onlyApproval(approved) } };
}

function refusalLine({ operation, message, refusedAtMs, wantedBy }: Refusal): string {
  return encodeJsonLine({ operation, message, refusedAt: encodeTime(refusedAtMs), wantedBy });
}

function readRefusal(line: string, { refusals }: MutableInventory): boolean {
  const fields = decodeJsonLine(line, ["operation", "message", "refusedAt", "wantedBy"]);
  const refusedAtMs = decodeTime(fields?.["refusedAt"]);
  if (fields === undefined || refusedAtMs === null) return false;
  const { operation, message, wantedBy } = fields as Record<"operation" | "message" | "wantedBy", string>;
  refusals.push({ operation, message, refusedAtMs, wantedBy });
  return true;
}

function disputeLine({ list, entry, atMs }: Dispute): string {
  return [list, encodeWord(entry), ...atMs.map(encodeTime)].join(" ");
}

function readDispute(line: string, { disputes }: MutableInventory): boolean {
  const [list, entryWord, ...times] = line.split(" ");
  const entry = decodeEntry(entryWord);
  const atMs = times.map((time) => decodeTime(time));
  if (!isListName(list) || entry === undefined || !atMs.every((time) => time !== null)) return false;
  disputes.push({ list, entry, atMs });
  return true;
}

/** No approval hash is one of these words. */
function* approvalLines({ version, approval, approvals, allowed }: Inventory): Iterable<string> {
  if (version > 0) yield `version ${version}`;
  if (approvals > 0) yield `used ${approvals}`;
  for (const list of listNames) {
    const { pending, count, sinceMs } = allowed[list];
    if (count > 0) yield `removed ${list} ${count} ${encodeTime(sinceMs)}`;
    for (const entry of pending) yield `removing ${list} ${encodeWord(entry)}`;
  }
  if (approval === undefined) return;
  const hash = encodeWord(approval.hash);
  yield hash;
  for (const hold of approval.holds) yield `${hash} hold ${encodeWord(hold)}`;
  for (const list of listNames)
    for (const entry of approval.removals[list]) yield `${hash} ${list} ${encodeWord(entry)}`;
  for (const host of approval.origins) yield `${hash} origins ${encodeWord(host)}`;
}

function readApproval(line: string, into: MutableInventory): boolean {
  const [, what, count] = /^(used|version) ([1-9][0-9]{0,8})$/.exec(line) ?? [];
  if (what !== undefined) {
    const field = what === "used" ? "approvals" : "version";
    // A crash between two shards leaves two numbers.
    into[field] = Math.max(into[field], Number(count));
    return true;
  }
  if (line.startsWith("removed ") || line.startsWith("removing ")) return readAllowed(line, into.allowed);
  const [hashWord, list, word, ...more] = line.split(" ");
  const hash = decodeWord(hashWord);
  if (typeof hash !== "string" || more.length > 0) return false;
  const approval = into.approved.get(hash) ?? {
    removals: { blocklist: new Set(), allowlist: new Set() },
    origins: new Set(),
    holds: new Set(),
  };
  into.approved.set(hash, approval);
  if (list === undefined) return true;
  if (list === "hold" || list === "origins") {
    const named = decodeWord(word);
    if (typeof named === "string") (list === "hold" ? approval.holds : approval.origins).add(named);
    return typeof named === "string";
  }
  const entry = decodeEntry(word);
  if (!isListName(list) || entry === undefined) return false;
  approval.removals[list].add(entry);
  return true;
}

/** A crash between two shards can leave two counts: the higher one counts. */
function readAllowed(line: string, allowed: MutableInventory["allowed"]): boolean {
  const [what, list, word, time, ...more] = line.split(" ");
  if (!isListName(list) || more.length > 0) return false;
  const of = allowed[list];
  if (what === "removing") {
    const entry = time === undefined ? decodeEntry(word) : undefined;
    if (entry !== undefined) of.pending.add(entry);
    return entry !== undefined;
  }
  const sinceMs = decodeTime(time);
  if (sinceMs === null || !/^[1-9][0-9]{0,8}$/.test(word ?? "")) return false;
  of.count = Math.max(of.count, Number(word));
  of.sinceMs = Math.max(of.sinceMs, sinceMs);
  return true;
}

/** Two approvals are the result of a crash between two shards: neither counts, and a new approval is required. */
function onlyApproval(approved: MutableInventory["approved"]): Approval | undefined {
  const [first, ...more] = approved;
  return first === undefined || more.length > 0 ? undefined : { hash: first[0], ...first[1] };
}

function isListName(text: string | undefined): text is ListName {
  return listNames.some((list) => list === text);
}

function excerpt(text: string): string {
  const lengthMax = 80;
  return JSON.stringify(text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text);
}
