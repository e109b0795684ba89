// Checks the folder of `-f`, and the state directory of `--state`, for every command.
import { stat } from "node:fs/promises";
import { CommandError } from "./describe-error.ts";

/** @throws CommandError unless the folder exists and is not its own state directory, which would hide all of its files */
export async function requireFolder(path: string, state: string | undefined): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined)
    throw new CommandError(`folder ${path} does not exist`, "Set -f to the folder with the YAML files.");
  if (!found.isDirectory())
    throw new CommandError(`${path} is a file, not a folder`, "Set -f to the folder that contains it.");
  const other = state === undefined ? undefined : await stat(state).catch(() => undefined);
  if (other?.dev !== found.dev || other.ino !== found.ino) return;
  throw new CommandError(`${path} is the folder with the YAML files`, "Set --state to a different directory.");
}
