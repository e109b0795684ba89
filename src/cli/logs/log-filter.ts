// Filters log rows. The API has no filters, so rows are filtered after they arrive.
import type { LogEntry } from "../../model/log-entry.ts";
import { firstAddress, isMapped, readNetwork, unmapped } from "../../model/network.ts";
import type { Network } from "../../model/network.ts";

/** Each is a list of which one has to fit; an empty list lets everything pass. */
export interface LogFilterTexts {
  /** Two letters, in any case. */
  readonly country: readonly string[];
  /** Part of the block reason, in any case: `sql` or `942100`. */
  readonly reason: readonly string[];
  /** An address or a network. */
  readonly client: readonly string[];
  /** `403` or `4xx`. */
  readonly status: readonly string[];
  /** Part of the path; with `*`, the whole path. */
  readonly path: readonly string[];
}

export type LogFilter = (entry: LogEntry) => boolean;
export type ParsedLogFilter =
  | { readonly ok: true; readonly filter: LogFilter }
  /** `option` is the name of the list, and `problem` says what to write instead. */
  | { readonly ok: false; readonly option: keyof LogFilterTexts; readonly problem: string };

type Test = (entry: LogEntry) => boolean;

const parsers: Readonly<Record<keyof LogFilterTexts, (text: string) => Test | string>> = {
  country: countryTest,
  reason: reasonTest,
  client: clientTest,
  status: statusTest,
  path: pathTest,
};

export function parseLogFilter(texts: LogFilterTexts): ParsedLogFilter {
  const tests: Test[] = [];
  for (const option of Object.keys(parsers) as (keyof LogFilterTexts)[]) {
    const anyOf: Test[] = [];
    for (const text of texts[option]) {
      const test = parsers[option](text);
      if (typeof test === "string") return { ok: false, option, problem: test };
      anyOf.push(test);
    }
    if (anyOf.length > 0) tests.push((entry) => anyOf.some((test) => test(entry)));
  }
  return { ok: true, filter: (entry) => tests.every((test) => test(entry)) };
}

function countryTest(text: string): Test | string {
  if (!/^[A-Za-z]{2}$/.test(text)) return "write two letters, for example NL";
  const country = text.toUpperCase();
  return (entry) => entry.country?.toUpperCase() === country;
}

function reasonTest(text: string): Test | string {
  if (text.trim() === "") return "write part of a block reason, for example SQL";
  const part = text.toLowerCase();
  return (entry) => entry.block_reason.toLowerCase().includes(part);
}

function clientTest(text: string): Test | string {
  const wanted = readClient(text);
  if (wanted === undefined) return "write an IP address or a network, for example 192.0.2.1 or 192.0.2.0/24";
  const { family, prefixLength } = wanted;
  const first = firstAddress(wanted);
  return (entry) => {
    const client = readClient(entry.client_ip);
    if (client === undefined || client.family !== family || client.prefixLength < prefixLength) return false;
    return firstAddress({ ...client, prefixLength }).every((part, index) => part === first[index]);
  };
}

/** An IPv4 address that is written as IPv6 is that IPv4 address. */
function readClient(text: string): Network | undefined {
  const network = readNetwork(text.trim(), "lenient");
  return network !== undefined && isMapped(network) ? (unmapped(network) ?? network) : network;
}

function statusTest(text: string): Test | string {
  const status = /^(?<first>[1-5])(?:(?<rest>\d\d)|xx)$/i.exec(text)?.groups;
  if (status === undefined) return "write an HTTP status, for example 403 or 4xx";
  const hundreds = Number(status["first"]);
  const exact = status["rest"] === undefined ? undefined : Number(text);
  return ({ http_status: found }) => (exact === undefined ? Math.floor(found / 100) === hundreds : found === exact);
}

function pathTest(text: string): Test | string {
  if (text === "") return "write part of a path, for example /wp-login";
  if (!text.includes("*")) return (entry) => entry.request_path.includes(text);
  const parts = text.split("*");
  return (entry) => fitsWildcards(entry.request_path, parts);
}

/** Without a regular expression: paths are long and written by attackers. */
function fitsWildcards(path: string, parts: readonly string[]): boolean {
  const first = parts[0] ?? "";
  const last = parts.at(-1) ?? "";
  if (path.length < first.length + last.length || !path.startsWith(first) || !path.endsWith(last)) return false;
  const end = path.length - last.length;
  let position = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = path.indexOf(part, position);
    if (found < 0 || found + part.length > end) return false;
    position = found + part.length;
  }
  return true;
}
