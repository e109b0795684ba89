// Encodes an inventory as named sections of plain text, the shape of a ConfigMap's data, so that people can read and grep it.
// Every section is present, even if it is empty, and consists of sorted lines: equal inventories give equal text, and
// truncated text is detected. Invalid text is rejected as a whole, because with a partial inventory wafsync would forget
// which entries it manages.
import type { ListName, OriginType } from "../model/declared.ts";
import { listNames } from "../model/declared.ts";
import { type Entry, isOpaque } from "../model/entry.ts";
import type { RolloutRecord } from "../model/workload.ts";
import { decodeJsonLine, decodeTime, encodeJsonLine, encodeTime } from "./inventory-lines.ts";
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
export const inventoryFormat = 1;

/** The sections that consist of lines, in reading order. */
export const lineSections = [
  "blocklist",
  "allowlist",
  "origins",
  "refused",
  "disputes",
  "triggers",
  "approval",
] as const;
export type LineSection = (typeof lineSections)[number];

export type DecodedInventory =
  | { readonly ok: true; readonly inventory: Inventory }
  /** One sentence that names the section and the line. */
  | { readonly ok: false; readonly problem: string };

/** The sections of an inventory. The order of refusals, disputes and triggers is not kept: they are sorted. */
export function encodeInventory(inventory: Inventory): Record<string, string> {
  return {
    format: String(inventoryFormat),
    domain: inventory.domain ?? "",
    blocklist: joinLines(entryLines(inventory.entries.blocklist)),
    allowlist: joinLines(entryLines(inventory.entries.allowlist)),
    origins: joinLines([...inventory.origins].map(originLine)),
    refused: joinLines(inventory.refusals.map(refusalLine)),
    disputes: joinLines(inventory.disputes.map(disputeLine)),
    triggers: joinLines([...inventory.handledTriggers.map(triggerLine), ...inventory.rollouts.map(rolloutLine)]),
    approval: joinLines(approvalLines(inventory.approval)),
  };
}

/** The inventory in the sections, or why they cannot be used: they are damaged, or written by a newer wafsync. */
export function decodeInventory(record: Readonly<Record<string, string>>): DecodedInventory {
  const formatProblem = checkFormat(record);
  if (formatProblem !== undefined) return { ok: false, problem: formatProblem };
  const missing = ["domain", ...lineSections].find((section) => record[section] === undefined);
  if (missing !== undefined) return { ok: false, problem: `The inventory is damaged: section ${missing} is missing.` };
  const known = new Set<string>(["format", "domain", ...lineSections]);
  const unknown = Object.keys(record).find((section) => !known.has(section));
  if (unknown !== undefined) {
    return { ok: false, problem: `The inventory is damaged: section ${excerpt(unknown)} is unknown.` };
  }
  return decodeSections(record);
}

/** The lines of a section, without empty ones. */
export function sectionLines(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== "");
}

/** The text of a section: its lines sorted, without duplicates, each with a line feed. */
export function joinLines(lines: Iterable<string>): string {
  const sorted = [...new Set(lines)].sort();
  return sorted.length === 0 ? "" : `${sorted.join("\n")}\n`;
}

/** Why this program cannot read the format of the sections; undefined if it can. */
export function checkFormat(record: Readonly<Record<string, string>>): string | undefined {
  const format = record["format"];
  if (format === undefined) return "The inventory is damaged: section format is missing.";
  if (!/^[1-9][0-9]{0,8}$/.test(format)) return `The inventory is damaged: format ${excerpt(format)} is not a number.`;
  if (Number(format) <= inventoryFormat) return undefined;
  return `The inventory has format ${format}, this wafsync reads up to ${inventoryFormat}: run the newer wafsync that wrote it.`;
}

interface MutableInventory {
  readonly entries: Record<ListName, Map<Entry, OwnedEntry>>;
  readonly origins: Map<string, OwnedOrigin>;
  readonly refusals: Refusal[];
  readonly disputes: Dispute[];
  readonly handledTriggers: HandledTrigger[];
  readonly rollouts: RolloutRecord[];
  readonly approvals: Map<string, Record<ListName, Set<Entry>>>;
}

/** Adds one line; false if it is invalid. */
type LineReader = (line: string, into: MutableInventory) => boolean;

const lineReaders: Readonly<Record<LineSection, LineReader>> = {
  blocklist: (line, into) => readEntry(line, into.entries.blocklist),
  allowlist: (line, into) => readEntry(line, into.entries.allowlist),
  origins: readOrigin,
  refused: readRefusal,
  disputes: readDispute,
  triggers: readTriggerLine,
  approval: readApproval,
};

function decodeSections(record: Readonly<Record<string, string>>): DecodedInventory {
  const into: MutableInventory = {
    entries: { blocklist: new Map(), allowlist: new Map() },
    origins: new Map(),
    refusals: [],
    disputes: [],
    handledTriggers: [],
    rollouts: [],
    approvals: new Map(),
  };
  for (const section of lineSections) {
    for (const [index, line] of (record[section] ?? "").split(/\r?\n/).entries()) {
      if (line.trim() === "" || lineReaders[section](line, into)) continue;
      const problem = `The inventory is damaged: ${section}, line ${index + 1} is not understood: ${excerpt(line)}`;
      return { ok: false, problem };
    }
  }
  const { approvals, ...rest } = into;
  const domain = record["domain"] === "" ? undefined : record["domain"];
  return { ok: true, inventory: { domain, ...rest, approval: onlyApproval(approvals) } };
}

function* entryLines(entries: ReadonlyMap<Entry, OwnedEntry>): Iterable<string> {
  for (const [entry, { retainedBy }] of entries) {
    const word = encodeWord(entry);
    yield retainedBy === undefined ? word : `${word} retained-by=${encodeWord(retainedBy)}`;
  }
}

function readEntry(line: string, into: Map<Entry, OwnedEntry>): boolean {
  const groups = /^(?<entry>\S+)(?: retained-by=(?<retainedBy>\S+))?$/.exec(line)?.groups;
  const entry = decodeEntry(groups?.["entry"]);
  const retainedBy = decodeWord(groups?.["retainedBy"]);
  if (entry === undefined || into.has(entry) || retainedBy === null) return false;
  into.set(entry, { retainedBy });
  return true;
}

function originLine([host, { type, addedAtMs, retainedBy }]: readonly [string, OwnedOrigin]): string {
  const added = addedAtMs === undefined ? "" : ` added=${encodeTime(addedAtMs)}`;
  const retained = retainedBy === undefined ? "" : ` retained-by=${encodeWord(retainedBy)}`;
  return `${encodeWord(host)} ${type}${added}${retained}`;
}

function readOrigin(line: string, { origins }: MutableInventory): boolean {
  const groups =
    /^(?<host>\S+) (?<type>Alternate|Backup)(?: added=(?<added>\S+))?(?: retained-by=(?<retainedBy>\S+))?$/.exec(
      line,
    )?.groups;
  if (groups === undefined) return false;
  const host = decodeWord(groups["host"]);
  const retainedBy = decodeWord(groups["retainedBy"]);
  const addedAtMs = groups["added"] === undefined ? undefined : decodeTime(groups["added"]);
  if (typeof host !== "string" || origins.has(host) || retainedBy === null || addedAtMs === null) return false;
  origins.set(host, { type: groups["type"] as OriginType, addedAtMs, retainedBy });
  return true;
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

function* approvalLines(approval: Approval | undefined): Iterable<string> {
  if (approval === undefined) return;
  const hash = encodeWord(approval.hash);
  yield hash;
  for (const list of listNames)
    for (const entry of approval.removals[list]) yield `${hash} ${list} ${encodeWord(entry)}`;
}

function readApproval(line: string, { approvals }: MutableInventory): boolean {
  const [hashWord, list, entryWord, ...more] = line.split(" ");
  const hash = decodeWord(hashWord);
  if (typeof hash !== "string" || more.length > 0) return false;
  const removals = approvals.get(hash) ?? { blocklist: new Set<Entry>(), allowlist: new Set<Entry>() };
  approvals.set(hash, removals);
  if (list === undefined) return true;
  const entry = decodeEntry(entryWord);
  if (!isListName(list) || entry === undefined) return false;
  removals[list].add(entry);
  return true;
}

/** Two approvals are the result of a crash between two shards: neither counts, and approval is requested again. */
function onlyApproval(approvals: MutableInventory["approvals"]): Approval | undefined {
  const [first, ...more] = approvals;
  return first === undefined || more.length > 0 ? undefined : { hash: first[0], removals: first[1] };
}

function isListName(text: string | undefined): text is ListName {
  return listNames.some((list) => list === text);
}

/** Addresses and networks, and other strings that the WAF lists in their place. */
function decodeEntry(word: string | undefined): Entry | undefined {
  const text = decodeWord(word);
  if (typeof text !== "string") return undefined;
  const entry = text as Entry;
  return isOpaque(entry) || /^[0-9a-f.:/]+$/.test(text) ? entry : undefined;
}

/** A string without white space: names of objects and hosts stay unchanged. */
function encodeWord(text: string): string {
  return text.replaceAll(/[%\s\p{Cc}]/gu, (character) => encodeURIComponent(character));
}

/** Undefined stays undefined; null means that the word cannot be decoded. */
function decodeWord(word: string | undefined): string | undefined | null {
  if (word === undefined) return undefined;
  try {
    return word === "" ? null : decodeURIComponent(word);
  } catch {
    return null;
  }
}

function excerpt(text: string): string {
  const lengthMax = 80;
  return JSON.stringify(text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text);
}
