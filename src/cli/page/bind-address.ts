// Parses the address that the page is served at, and decides which `Host` headers are accepted.
import { isIP, isIPv6 } from "node:net";
import { CommandError } from "../describe-error.ts";

export interface BindAddress {
  readonly host: string;
  readonly port: number;
}

const portMax = 65_535;

/** `127.0.0.1:8082` or `[::1]:8082`; undefined for `0`, which serves no page. @throws CommandError */
export function parseBindAddress(option: string, text: string): BindAddress | undefined {
  if (text === "0") return undefined;
  const { ipv6, ipv4, port } = /^(?:\[(?<ipv6>[^\]]+)\]|(?<ipv4>[^:]+)):(?<port>\d{1,5})$/.exec(text)?.groups ?? {};
  const host = ipv6 ?? (ipv4 === "localhost" ? "127.0.0.1" : (ipv4 ?? ""));
  if (isIP(host) === 0 || isIPv6(host) !== (ipv6 !== undefined) || Number(port) > portMax) {
    throw new CommandError(
      `${option} ${JSON.stringify(text)} is not an address with a port`,
      "Write an IP address and a port, for example 127.0.0.1:8082 or [::1]:8082. Port 0 takes a free one.",
    );
  }
  return { host, port: Number(port) };
}

/** Whether only this machine can reach the address. */
export function isLoopback({ host }: BindAddress): boolean {
  return host === "::1" || host.startsWith("127.");
}

export function urlOf({ host, port }: BindAddress): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}/`;
}

/**
 * Whether the `Host` header of a request names an IP address or this machine. A website that makes its own name resolve to this
 * machine can't read the page, because its requests carry that name.
 */
export function isOwnHost(header: string | undefined): boolean {
  const name = /^(?<name>\[[\da-fA-F:.]+\]|[^:[\]]+)(?::\d{1,5})?$/.exec(header ?? "")?.groups?.["name"]?.toLowerCase();
  if (name === undefined) return false;
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  return isIP(name.replaceAll(/[[\]]/g, "")) !== 0;
}
