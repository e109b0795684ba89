// Stores the history of an instance in files: events are appended to `history/<namespace>/<name>.log`. When this file is too long,
// it replaces the previous one, so that the total size is limited.
import type { HistoryEvent, HistoryLimits } from "../../model/history.ts";
import { keepNewest } from "../../model/history.ts";
import type { ObjectName } from "../../model/resource.ts";
import { decodeEvents, encodeEvent, linesOf, mergeLines, timeOfEvent } from "../history-lines.ts";
import { objectFileName } from "./object-file-name.ts";
import type { FilePath, FileResult, StateDirectory } from "./state-directory.ts";

const folder = "history";
/** The limit for each of the two files. */
export const historyFileBytesMax = 1024 * 1024;
const historyAgeMsMax = 90 * 86_400_000;
const takenOverLimits: HistoryLimits = {
  eventsMax: Number.POSITIVE_INFINITY,
  ageMsMax: historyAgeMsMax,
  bytesMax: 2 * historyFileBytesMax,
};

export interface HistoryFiles {
  append(instance: ObjectName, events: readonly HistoryEvent[]): Promise<FileResult<void>>;
  /** Prepends the history of `former` to that of `instance`, and removes it there; does nothing if there is none. */
  takeOver(instance: ObjectName, former: ObjectName, nowMs: number): Promise<FileResult<void>>;
  /** Oldest first. */
  read(instance: ObjectName, nowMs: number): Promise<FileResult<readonly HistoryEvent[]>>;
}

export function createHistoryFiles(state: StateDirectory): HistoryFiles {
  const readText = async (instance: ObjectName): Promise<FileResult<string>> => {
    let text = "";
    for (const file of filesOf(instance)) {
      // A single batch may exceed the size limit of a file.
      const read = await state.read(file, 4 * historyFileBytesMax);
      if (!read.ok) return read;
      text += read.value ?? "";
    }
    return { ok: true, value: text };
  };
  return {
    append: async (instance, events) => {
      const text = events.map((event) => `${encodeEvent(event)}\n`).join("");
      const [older, newer] = filesOf(instance);
      return await state.append(newer, text, historyFileBytesMax, older);
    },
    takeOver: async (instance, former, nowMs) => {
      const [left, own] = [await readText(former), await readText(instance)];
      if (!left.ok) return left;
      if (!own.ok) return own;
      if (left.value === "") return { ok: true, value: undefined };
      const merged = mergeLines(linesOf(left.value), linesOf(own.value));
      const lines = keepNewest(merged, takenOverLimits, nowMs, timeOfEvent);
      const [older, newer] = filesOf(instance);
      const written = await state.write(newer, lines.map((line) => `${line}\n`).join(""));
      if (!written.ok) return written;
      for (const file of [older, ...filesOf(former)]) {
        const removed = await state.remove(file);
        if (!removed.ok) return removed;
      }
      return { ok: true, value: undefined };
    },
    read: async (instance, nowMs) => {
      const read = await readText(instance);
      if (!read.ok) return read;
      return { ok: true, value: decodeEvents(read.value).filter(({ atMs }) => nowMs - atMs <= historyAgeMsMax) };
    },
  };
}

function filesOf({ namespace, name }: ObjectName): readonly [older: FilePath, newer: FilePath] {
  const stem = objectFileName(name).replace(/\.yaml$/, "");
  return [
    [folder, namespace, `${stem}.1.log`],
    [folder, namespace, `${stem}.log`],
  ];
}
