// Networks that must stay reachable, from a list that may also contain host names.
import { NetworkIndex } from "../../model/entry-set.ts";
import { parseDeclaredEntry } from "../../model/entry.ts";
import type { Exemption } from "./report-clients.ts";

export function exemptionOf(why: string, texts: readonly string[]): Exemption {
  const networks = texts.flatMap((text) => {
    const read = parseDeclaredEntry(text);
    return read.ok ? [read.entry] : [];
  });
  return { why, networks: new NetworkIndex(networks) };
}

/** The primary origin as the API returns it: an address or a host name. */
export function primaryOriginExemption(host: string | undefined): Exemption[] {
  return host === undefined ? [] : [exemptionOf("the primary origin", [host])];
}
