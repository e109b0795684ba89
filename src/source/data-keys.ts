// Lists the keys of a Secret or ConfigMap, for messages about a missing key.
import { listed } from "../model/sentence.ts";

const namesShownMax = 5;

/** `it has ca.crt, tls.crt and 3 more`, in the order of their names. */
export function keysInWords(keys: Iterable<string>): string {
  const names = [...keys].toSorted();
  return names.length === 0 ? "it has no data" : `it has ${listed(names, namesShownMax)}`;
}
