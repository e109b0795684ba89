// Parses an HTTP request, and performs it to get the true response. A GET has its parameters in the query, a POST or DELETE only
// in a form body. Names must match exactly, and no parameter may be repeated.
import type { IncomingMessage } from "node:http";
import { type Answer, type Endpoint, failed, findRoute, knownParameters, type Route } from "./endpoints.ts";
import type { SimulatedWaf } from "./simulated-waf.ts";
import type { SimulatorWorld } from "./simulator-world.ts";

export interface ApiRequest {
  readonly method: string;
  readonly route: Route;
  /** Without the key and without a trailing slash. */
  readonly path: string;
  /** As received; empty if the request has no key. */
  readonly apiKey: string;
  readonly waf: SimulatedWaf | undefined;
  readonly parameters: ReadonlyMap<string, string>;
  readonly repeated: readonly string[];
}

const recordedLengthMax = 200;
const formType = "application/x-www-form-urlencoded";

export function understandRequest(message: IncomingMessage, body: string, world: SimulatorWorld): ApiRequest {
  const { method = "", url = "" } = message;
  const [pathname = ""] = url.split("?");
  const route = findRoute(method, pathname);
  const source = method === "GET" ? url.slice(pathname.length + 1) : hasForm(message) ? body : "";
  const fields = [...new URLSearchParams(source)];
  const parameters = new Map(fields.toReversed());
  const apiKey = (route.kind === "Endpoint" ? route.keyInPath : undefined) ?? parameters.get("api_key") ?? "";
  parameters.delete("api_key");
  const names = fields.map(([name]) => name);
  return {
    method,
    route,
    path: route.kind === "UnknownPath" ? "(unknown path)" : route.path,
    apiKey,
    waf: route.kind === "Endpoint" ? world.wafOfKey(apiKey) : undefined,
    parameters,
    repeated: names.filter((name, index) => names.indexOf(name) !== index),
  };
}

/** The parameters that may be recorded and shown: only known names, with truncated values in which keys are redacted. */
export function recordedParameters(request: ApiRequest, world: SimulatorWorld): Record<string, string> {
  const shown = [...request.parameters].filter(([name]) => knownParameters.has(name));
  return Object.fromEntries(
    shown.map(([name, value]) => [name, world.redact(value, request.apiKey).slice(0, recordedLengthMax)]),
  );
}

/** Performs the request, and returns the response that the contract defines. */
export function performRequest(request: ApiRequest, world: SimulatorWorld): Answer {
  const { route, waf } = request;
  if (route.kind !== "Endpoint") {
    world.unknownCalls += 1;
    if (route.kind === "UnknownPath") return failed(404, "Not found");
    return { ...failed(405, "Method not allowed"), headers: { allow: route.allowed.join(", ") } };
  }
  if (waf === undefined) {
    world.unauthorized += 1;
    return failed(403, request.apiKey === "" ? "Missing parameter api_key" : "Bad API Key Value");
  }
  const problem = parameterProblem(request, route.endpoint);
  if (problem !== undefined) {
    waf.counters.refusals += 1;
    return failed(400, problem);
  }
  return route.endpoint.handle({
    waf,
    parameters: request.parameters,
    settings: world.settings,
    nowMs: world.clock.nowMs(),
  });
}

function parameterProblem({ parameters, repeated }: ApiRequest, endpoint: Endpoint): string | undefined {
  const { required, optional } = endpoint;
  const missing = required.find((name) => (parameters.get(name) ?? "") === "");
  if (missing !== undefined) return `Missing parameter ${missing}`;
  const unknown = [...parameters.keys()].find((name) => !required.includes(name) && !optional.includes(name));
  if (unknown !== undefined) return "Unknown parameter";
  const [twice] = repeated;
  return twice === undefined ? undefined : `Parameter ${twice} is given more than once`;
}

function hasForm({ headers }: IncomingMessage): boolean {
  return headers["content-type"]?.split(";")[0]?.trim().toLowerCase() === formType;
}
