// Encodes the history as readable text, one event per line:
//
//   2026-11-22T09:30:00Z Added blocklist 192.0.2.7,192.0.2.8 WafIpRule:shop/scanners - the%20note
//
// Invalid lines are skipped: the history is only informational, and the rest is still useful.
import type { HistoryEvent, HistoryKind, HistoryTarget } from "../model/history.ts";
import { historyKinds } from "../model/history.ts";
import { parseOwners, unknownOwners } from "../model/entry-owners.ts";
import { decodeWord, encodeWord } from "../model/encoded-word.ts";
import { shortened } from "../model/sentence.ts";

/** The placeholder for missing owners or notes. */
const none = "-";
const noteLengthMax = 200;
const targets: readonly HistoryTarget[] = ["blocklist", "allowlist", "origins"];

export function encodeEvent({ atMs, kind, target, values, owners, note }: HistoryEvent): string {
  const time = new Date(atMs).toISOString().replace(/\.\d+Z$/, "Z");
  const words = values.map((value) => encodeWord(value).replaceAll(",", "%2C")).join(",");
  const by = owners === unknownOwners ? none : owners.replaceAll(",", "%2C").replaceAll(" ", ",");
  return `${time} ${kind} ${target} ${words} ${by} ${note === "" ? none : encodeWord(shortened(note, noteLengthMax))}`;
}

/** Undefined if it is not an event. */
export function decodeEvent(line: string): HistoryEvent | undefined {
  const [time, kind, target, words = "", by = none, noteWord = none, ...more] = line.split(" ");
  const atMs = timeOfEvent(`${time ?? ""} `);
  const values = words.split(",").map(decodeWord);
  const owners = by === none ? unknownOwners : parseOwners(by.split(","));
  const note = noteWord === none ? "" : decodeWord(noteWord);
  if (atMs === undefined || more.length > 0 || owners === undefined || typeof note !== "string") return undefined;
  if (!isKind(kind) || !isTarget(target) || !values.every((value) => typeof value === "string")) return undefined;
  return { atMs, kind, target, values, owners, note };
}

/** Parses only the time. */
export function timeOfEvent(line: string): number | undefined {
  const atMs = Date.parse(line.slice(0, line.indexOf(" ")));
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** Merges two histories, ordered by time; a line that is in both counts once. Invalid lines are dropped. */
export function mergeLines(former: readonly string[], own: readonly string[]): string[] {
  const times = new Map([...former, ...own].map((line) => [line, timeOfEvent(line)]));
  const timed = [...times].flatMap(([line, atMs]) => (atMs === undefined ? [] : [{ line, atMs }]));
  return timed.sort((a, b) => a.atMs - b.atMs).map(({ line }) => line);
}

export function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}

export function decodeEvents(text: string): HistoryEvent[] {
  return text.split("\n").flatMap((line) => decodeEvent(line) ?? []);
}

function isKind(word: string | undefined): word is HistoryKind {
  return historyKinds.some((kind) => kind === word);
}

function isTarget(word: string | undefined): word is HistoryTarget {
  return targets.some((target) => target === word);
}
