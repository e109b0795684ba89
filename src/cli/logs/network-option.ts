// The values of `--network`: a network, or an address that stands for its /24 (IPv4) or /64 (IPv6).
import { networkOf } from "../../model/client-network.ts";
import type { Entry } from "../../model/entry.ts";
import { parseAddress } from "../parse-address.ts";

/** @throws CommandError that says what to write instead */
export function parseNetwork(text: string): Entry {
  const entry = parseAddress(text);
  return networkOf(entry) ?? entry;
}
