// Protects the control port, which has no password, from web pages. They must not reach it with a cross-origin request, nor with
// a host name of their own that resolves to this machine.
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/** Suffixes of host names that no page on the Internet can have. */
const innerSuffixes = [".localhost", ".local", ".internal", ".svc", ".cluster.local"];

/** Why the request may come from a web page; undefined if it does not. */
export function refusalOfPage({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  if (headers.origin !== undefined)
    return "the control port rejects requests with an Origin header, because they come from web pages";
  if (isInner(hostnameOf(headers.host ?? ""))) return undefined;
  return "the control port only accepts IP addresses and internal names as the host: call it by its IP address";
}

function hostnameOf(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}

function isInner(name: string): boolean {
  if (isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0) return true;
  return name !== "" && (!name.includes(".") || innerSuffixes.some((suffix) => name.endsWith(suffix)));
}
