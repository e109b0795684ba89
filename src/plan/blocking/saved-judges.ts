// Reads saved judges, which may be from another version or damaged. Unusable parts are dropped.
import { isRecord } from "../../model/record.ts";
import type { SavedJudge } from "./judge.ts";

/** As JSON: by `namespace/name`. */
export type SavedJudges = Readonly<Record<string, { readonly uid: string; readonly judge: SavedJudge }>>;

export function readSavedJudges(saved: unknown): SavedJudges {
  if (!isRecord(saved)) return {};
  const judges: Record<string, SavedJudges[string]> = {};
  for (const [key, value] of Object.entries(saved)) {
    if (!isRecord(value) || typeof value["uid"] !== "string") continue;
    if (isSavedJudge(value["judge"])) judges[key] = { uid: value["uid"], judge: value["judge"] };
  }
  return judges;
}

function isSavedJudge(value: unknown): value is SavedJudge {
  if (!isRecord(value)) return false;
  const { shape, listed, former, counts, rows, leftOut, lastRowMs } = value;
  return (
    typeof shape === "string" &&
    isListOf(listed, isListed) &&
    isListOf(former, (one) => isTuple(one, ["string", "number", "number"])) &&
    isListOf(counts, isCount) &&
    isRecord(rows) &&
    [rows["matched"], rows["late"], rows["unreadable"], leftOut, lastRowMs ?? 0].every(isNumber)
  );
}

function isListed(value: unknown): boolean {
  if (!isRecord(value) || typeof value["entry"] !== "string") return false;
  const numbers = ["sinceMs", "untilMs", "times", "requests", "firstMs", "lastMs"];
  return numbers.every((name) => isNumber(value[name])) && isListOf(value["reasons"], isWord);
}

function isCount(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 6) return false;
  const [key, firstMs, lastMs, steps, reasons, sources] = value as unknown[];
  const isTimed = typeof key === "string" && isNumber(firstMs) && isNumber(lastMs);
  return isTimed && isListOf(steps, isNumber) && isListOf(reasons, isWord) && isListOf(sources, isWord);
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function isTuple(value: unknown, types: readonly string[]): boolean {
  return Array.isArray(value) && value.length === types.length && value.every((item, at) => typeof item === types[at]);
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value);
}

function isWord(value: unknown): boolean {
  return typeof value === "string" || isNumber(value);
}
