// Parses addresses on the command line as strictly as those of a rule, so that no command affects an unintended address.
import type { Entry } from "../model/entry.ts";
import { parseDeclaredEntry } from "../model/entry.ts";
import { asSentence } from "../model/sentence.ts";
import { CommandError } from "./describe-error.ts";

/** @throws CommandError that says what to write instead */
export function parseAddress(text: string): Entry {
  const parsed = parseDeclaredEntry(text.trim());
  if (parsed.ok) return parsed.entry;
  throw new CommandError(`${JSON.stringify(text)} is not an address or network`, asSentence(parsed.fault.message));
}
