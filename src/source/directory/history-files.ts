// The history of an instance as files: `history/<namespace>/<name>.log`, to which events are appended, and the previous file. A
// file that is too long replaces the previous one, so that the total size is limited.
import type { HistoryEvent } from "../../model/history.ts";
import type { ObjectName } from "../../model/resource.ts";
import { decodeEvents, encodeEvent } from "../history-lines.ts";
import { objectFileName } from "./object-file-name.ts";
import type { FilePath, FileResult, StateDirectory } from "./state-directory.ts";

const folder = "history";
/** Of each of the two files. */
export const historyFileBytesMax = 1024 * 1024;
const historyAgeMsMax = 90 * 86_400_000;

export interface HistoryFiles {
  append(instance: ObjectName, events: readonly HistoryEvent[]): Promise<FileResult<void>>;
  /** Oldest first. */
  read(instance: ObjectName, nowMs: number): Promise<FileResult<readonly HistoryEvent[]>>;
}

export function createHistoryFiles(state: StateDirectory): HistoryFiles {
  return {
    append: async (instance, events) => {
      const text = events.map((event) => `${encodeEvent(event)}\n`).join("");
      const [older, newer] = filesOf(instance);
      return await state.append(newer, text, historyFileBytesMax, older);
    },
    read: async (instance, nowMs) => {
      const events: HistoryEvent[] = [];
      for (const file of filesOf(instance)) {
        // A single batch may be longer than a file should be.
        const read = await state.read(file, 4 * historyFileBytesMax);
        if (!read.ok) return read;
        for (const event of decodeEvents(read.value ?? ""))
          if (nowMs - event.atMs <= historyAgeMsMax) events.push(event);
      }
      return { ok: true, value: events };
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
