// Web pages must not reach the control port, which has no password: neither by a request to another origin, nor by a name of
// theirs that resolves to this machine.
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/** Names that no page on the Internet can have. */
const innerSuffixes = [".localhost", ".local", ".internal", ".svc", ".cluster.local"];

/** Why the request may come from a web page; undefined if it does not. */
export function refusalOfPage({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  if (headers.origin !== undefined)
    return "the control port answers no web page, and so no request with an Origin header";
  if (isInner(hostnameOf(headers.host ?? ""))) return undefined;
  return "the control port answers to IP addresses and inner names only: call it by its address";
}

function hostnameOf(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}

function isInner(name: string): boolean {
  if (isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0) return true;
  return name !== "" && (!name.includes(".") || innerSuffixes.some((suffix) => name.endsWith(suffix)));
}
