// The WAF API: its paths, methods and parameters, and the true response of each endpoint, before a fault changes it. Only this table
// decides which requests the simulator accepts.
import { randomInt } from "node:crypto";
import { dayMs } from "./log-entries.ts";
import type { ListChange } from "./simulated-list.ts";
import { type ListName, listNames, originTypes, type SimulatedWaf } from "./simulated-waf.ts";
import type { SimulatorSettings } from "./simulator-world.ts";

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request with a valid key and all required parameters. */
export interface Call {
  readonly waf: SimulatedWaf;
  readonly parameters: ReadonlyMap<string, string>;
  readonly settings: SimulatorSettings;
  readonly nowMs: number;
}

type Handler = (call: Call) => Answer;

export interface Endpoint {
  /** In addition to `api_key`. Names must match exactly. */
  readonly required: readonly string[];
  readonly optional: readonly string[];
  readonly handle: Handler;
}

type Verb = "GET" | "POST" | "DELETE";
type Verbs = Readonly<Partial<Record<Verb, Endpoint>>>;

const clearPath = "/clear";
const perPageMax = 10_000;

/** Reads return bare arrays; a write that changes nothing is rejected. */
const listPaths = listNames.flatMap((list): [string, Verbs][] => [
  [`/api/${list}_ips`, { GET: endpoint([], ({ waf }) => ({ status: 200, body: waf[list] })) }],
  [`/api/${list}_ip`, { POST: endpoint(["ip"], addAddress(list)), DELETE: endpoint(["ip"], removeAddress(list)) }],
]);

const verbsByPath: ReadonlyMap<string, Verbs> = new Map<string, Verbs>([
  ...listPaths,
  [
    "/api/origins",
    {
      GET: endpoint([], ({ waf }) => ({
        status: 200,
        body: { success: true, domain: waf.domain, origin: waf.originHosts.primary },
      })),
      POST: endpoint(["origin", "origin_type"], addOrigin),
      DELETE: endpoint(["origin"], (call) => changed(call, call.waf.originHosts.remove(parameter(call, "origin")))),
    },
  ],
  [clearPath, { GET: endpoint([], clearCache), POST: endpoint([], clearCache) }],
  ["/api/logs/query", { GET: endpoint(["start_date", "end_date"], readLogs, ["per_page"]) }],
  ["/api/logs/scroll", { GET: endpoint(["scroll_id"], scrollLogs) }],
]);

/** Without a trailing slash, and without the key. */
export const knownPaths: readonly string[] = [...verbsByPath.keys()];

/** All parameters of the contract except the key. */
export const knownParameters: ReadonlySet<string> = new Set(
  [...verbsByPath.values()].flatMap((verbs) =>
    Object.values(verbs).flatMap(({ required, optional }) => [...required, ...optional]),
  ),
);

export type Route =
  | { readonly kind: "Endpoint"; readonly path: string; readonly endpoint: Endpoint; readonly keyInPath?: string }
  | { readonly kind: "WrongVerb"; readonly path: string; readonly allowed: readonly string[] }
  | { readonly kind: "UnknownPath" };

/** Finds the endpoint, ignoring one trailing slash. `pathname` is still percent-encoded. */
export function findRoute(method: string, pathname: string): Route {
  const trimmed = pathname.endsWith("/") ? pathname.slice(0, -1) : pathname;
  const isClear = trimmed === clearPath || /^\/clear\/[^/]+$/u.test(trimmed);
  const path = isClear ? clearPath : trimmed;
  const verbs = verbsByPath.get(path);
  if (verbs === undefined) return { kind: "UnknownPath" };
  const found = Object.entries(verbs).find(([verb]) => verb === method)?.[1];
  if (found === undefined) return { kind: "WrongVerb", path, allowed: Object.keys(verbs) };
  if (!isClear) return { kind: "Endpoint", path, endpoint: found };
  return { kind: "Endpoint", path, endpoint: found, keyInPath: decodeSegment(trimmed.slice(clearPath.length + 1)) };
}

function endpoint(required: readonly string[], handle: Handler, optional: readonly string[] = []): Endpoint {
  return { required, optional, handle };
}

/** The value of a required parameter. */
function parameter({ parameters }: Call, name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw new TypeError(`the table of endpoints does not require ${name}`);
  return value;
}

function addAddress(list: ListName): Handler {
  return (call) => {
    const ip = parameter(call, "ip");
    return changed(call, call.waf.lists[list].add(ip), `${ip} was added to the ${list}`);
  };
}

function removeAddress(list: ListName): Handler {
  return (call) => {
    const ip = parameter(call, "ip");
    const change = call.waf.lists[list].remove(ip, call.settings.spelling);
    if (change === "OtherSpelling") call.waf.counters.deletionsInOtherSpelling += 1;
    return changed(call, change, `${ip} was removed from the ${list}`);
  };
}

function addOrigin(call: Call): Answer {
  const typeText = parameter(call, "origin_type");
  const type = originTypes.find((one) => one === typeText);
  return type === undefined
    ? refused(call.waf)
    : changed(call, call.waf.originHosts.add(parameter(call, "origin"), type));
}

function clearCache(call: Call): Answer {
  call.waf.counters.cacheClears += 1;
  return changed(call, "Done", "Clearing of the cache has been started");
}

function readLogs(call: Call): Answer {
  const { waf, parameters, nowMs } = call;
  if (!waf.hasWaf) return logsRefused(call, 404, "No WAF configured for this account");
  const range = parseDateRange(parameter(call, "start_date"), parameter(call, "end_date"));
  if (!range.ok) return logsRefused(call, 400, range.message);
  const perPage = parsePerPage(parameters.get("per_page"));
  if (perPage === undefined) return logsRefused(call, 400, `per_page must be from 1 to ${perPageMax}`);
  return { status: 200, body: waf.logs.query(range.firstDay, range.lastDay, perPage, nowMs) };
}

function scrollLogs(call: Call): Answer {
  if (!call.waf.hasWaf) return logsRefused(call, 404, "No WAF configured for this account");
  const page = call.waf.logs.scroll(parameter(call, "scroll_id"));
  return page === undefined ? logsRefused(call, 400, "Invalid scroll_id") : { status: 200, body: page };
}

/** 200 with the domain, and a message where the contract has one, or a refusal if nothing has changed. */
function changed({ waf }: Call, change: ListChange | boolean, message?: string): Answer {
  if (change !== "Done" && change !== true) return refused(waf);
  waf.counters.changes += 1;
  return { status: 200, body: { success: true, domain: waf.domain, ...(message === undefined ? {} : { message }) } };
}

/**
 * The API's words are free, so no program may depend on them: each refusal has a random one of these messages, whatever its cause.
 */
const refusalMessages = [
  "The request could not be processed",
  "Origin or IP exists already",
  "No DNS record exists for this host",
  "Not found",
  "Value rejected",
  "duplicate or invalid",
] as const;

/** 400 with the domain: the request was understood and refused. */
function refused(waf: SimulatedWaf): Answer {
  const message = refusalMessages[randomInt(refusalMessages.length)];
  waf.counters.refusals += 1;
  return { status: 400, body: { success: false, domain: waf.domain, message } };
}

/** A failure without a domain. */
export function failed(status: number, message: string): Answer {
  return { status, body: { success: false, message } };
}

/** Errors of the logs have the messages of the contract, and no domain. */
function logsRefused({ waf }: Call, status: number, message: string): Answer {
  waf.counters.refusals += 1;
  return failed(status, message);
}

function parsePerPage(text: string | undefined): number | undefined {
  if (text === undefined) return perPageMax;
  if (!/^[1-9][0-9]{0,4}$/u.test(text)) return undefined;
  const perPage = Number(text);
  return perPage <= perPageMax ? perPage : undefined;
}

/** The maximum number of days in a range, including both ends. */
const daysMax = 365;

type DateRange =
  | { readonly ok: true; readonly firstDay: number; readonly lastDay: number }
  | { readonly ok: false; readonly message: string };

/** Returns days since 1970, or the API's error message. */
function parseDateRange(startDate: string, endDate: string): DateRange {
  const firstDay = parseDay(startDate);
  const lastDay = parseDay(endDate);
  if (firstDay === undefined || lastDay === undefined) {
    return { ok: false, message: "Invalid date format. Use YYYY-MM-DD." };
  }
  if (firstDay > lastDay) return { ok: false, message: "start_date must be before or equal to end_date" };
  if (lastDay - firstDay + 1 > daysMax) return { ok: false, message: "Date range cannot exceed 365 days" };
  return { ok: true, firstDay, lastDay };
}

/** Days since 1970; undefined if the date does not exist. */
function parseDay(text: string): number | undefined {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/u.test(text)) return undefined;
  const timeMs = Date.parse(`${text}T00:00:00.000Z`);
  if (Number.isNaN(timeMs) || !new Date(timeMs).toISOString().startsWith(text)) return undefined;
  return timeMs / dayMs;
}

/** A malformed segment is not a valid key, so it can stay unchanged. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
