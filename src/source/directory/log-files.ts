// Stores the position and the results of reading the logs of an instance in `logs/<namespace>/<name>.json`, written as a whole.
// The lock of the state directory ensures that only one process writes.
import type { ObjectName } from "../../model/resource.ts";
import { objectFileName } from "./object-file-name.ts";
import type { FilePath, StateDirectory } from "./state-directory.ts";

const folder = "logs";
/** The record of a million rows takes about 8 MiB. */
const bytesMax = 32 * 1024 * 1024;

export function createLogFiles(state: StateDirectory) {
  return {
    load: async (instance: ObjectName) => {
      const read = await state.read(fileOf(instance), bytesMax);
      if (!read.ok) return { state: "Unreachable", problem: read.problem } as const;
      return {
        state: "Loaded",
        record: read.value === undefined ? undefined : parseJson(read.value),
        revision: "",
      } as const;
    },
    save: async (instance: ObjectName, record: object) => {
      const text = JSON.stringify(record);
      if (Buffer.byteLength(text) > bytesMax) return { state: "TooLarge" } as const;
      const written = await state.write(fileOf(instance), text);
      return written.ok
        ? ({ state: "Saved", revision: "" } as const)
        : ({ state: "Failed", problem: written.problem } as const);
    },
  };
}

/** Null if it is damaged. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function fileOf({ namespace, name }: ObjectName): FilePath {
  return [folder, namespace, objectFileName(name).replace(/\.yaml$/u, ".json")];
}
