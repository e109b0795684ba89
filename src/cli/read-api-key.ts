// Reads the API key of a command whose options select the WAF, from a file or from the environment.
import { readFile } from "node:fs/promises";
import { readEnvironment } from "../app/config.ts";
import type { ApiKey } from "../model/api-key.ts";
import { validateApiKey } from "../model/api-key.ts";
import { CommandError } from "./describe-error.ts";

/** @throws CommandError that says what to do and contains no part of the key */
export async function readApiKey(file: string | undefined): Promise<ApiKey> {
  const text = file === undefined ? readEnvironment().apiKey : await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) {
    if (file !== undefined) throw new CommandError(`cannot read the key file ${file}`);
    throw new CommandError(
      "no API key given",
      "Set the environment variable WAFSYNC_API_KEY, or write the key to a file and set --key-file.",
    );
  }
  const validated = validateApiKey(text);
  if (validated.ok) return validated.key;
  throw new CommandError(`the API key ${validated.problem}`);
}
