// The paths, methods and parameters of the WAF API. Only this table decides which requests the simulator accepts.
import { clearCache, readLogs, scrollLogs } from "./service-endpoints.ts";
import { addAddress, readList, removeAddress } from "./list-endpoints.ts";
import { addOrigin, readOrigin, removeOrigin } from "./origin-endpoints.ts";
import type { Answer, Handler } from "./answer.ts";
import { listNames } from "./simulated-waf.ts";

interface Endpoint {
  /** In addition to `api_key`. Names must match exactly. */
  readonly required: readonly string[];
  readonly optional: readonly string[];
  readonly handle: Handler;
}

type Verb = "GET" | "POST" | "DELETE";
type Verbs = Readonly<Partial<Record<Verb, Endpoint>>>;

const clearPath = "/clear";

const listPaths = listNames.flatMap((list): [string, Verbs][] => [
  [`/api/${list}_ips`, { GET: endpoint([], readList(list)) }],
  [`/api/${list}_ip`, { POST: endpoint(["ip"], addAddress(list)), DELETE: endpoint(["ip"], removeAddress(list)) }],
]);

const verbsByPath: ReadonlyMap<string, Verbs> = new Map<string, Verbs>([
  ...listPaths,
  [
    "/api/origins",
    {
      GET: endpoint([], readOrigin),
      POST: endpoint(["origin", "origin_type"], addOrigin),
      DELETE: endpoint(["origin"], removeOrigin),
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

export const unknownPathAnswer: Answer = { status: 404, body: { success: false, message: "Not found" } };

export function wrongVerbAnswer(allowed: readonly string[]): Answer {
  const headers = { allow: allowed.join(", ") };
  return { status: 405, headers, body: { success: false, message: "Method not allowed" } };
}

function endpoint(required: readonly string[], handle: Handler, optional: readonly string[] = []): Endpoint {
  return { required, optional, handle };
}

/** A malformed segment is not a valid key, so it can stay unchanged. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
