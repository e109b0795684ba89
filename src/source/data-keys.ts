// Which keys a Secret or ConfigMap has, for the message about one that it lacks.
import { listed } from "../model/sentence.ts";

const namesShownMax = 5;

/** `it has ca.crt, tls.crt and 3 more`, in the order of their names. */
export function keysInWords(keys: Iterable<string>): string {
  const names = [...keys].toSorted();
  return names.length === 0 ? "it has no data" : `it has ${listed(names, namesShownMax)}`;
}
