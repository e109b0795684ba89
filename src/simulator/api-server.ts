// Serves the WAF API over HTTP. A request is parsed, counted and delayed by the latency. Then it gets its true response, is
// rejected because another request of its key was in flight, or fails by an injected fault. A client that disconnects does not
// undo its request.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { types } from "node:util";
import { type FaultEffect, isAfterEffect } from "./fault-rule.ts";
import { readBody } from "./request-body.ts";
import type { Flight, RequestRecord, SimulatedWaf } from "./simulated-waf.ts";
import type { SimulatorWorld } from "./simulator-world.ts";
import { type Answer, type Endpoint, failed, findRoute, knownParameters, type Route } from "./endpoints.ts";
import type { LogPage } from "./simulated-logs.ts";

/** Called when a request has arrived and was counted, before its latency and its effect; the request waits for it. */
export type RequestHook = (record: Readonly<RequestRecord>) => void | Promise<void>;

export interface ApiServerOptions {
  readonly world: SimulatorWorld;
  readonly onRequest: RequestHook | undefined;
  /** Aborts when the simulator is closed. */
  readonly signal: AbortSignal;
}

const formBytesMax = 64 * 1024;
/** Longer than any pause of a client between two calls, so that no connection is closed while a request arrives. */
const keepAliveMs = 120_000;
const turnsHeld = 4;
const internalErrorsMax = 100;
const overlapText = "<html><body><h1>500 Internal Server Error</h1></body></html>\n";

export function createApiServer(options: ApiServerOptions): Server {
  const server = createServer({ keepAliveTimeout: keepAliveMs }, (request, response) => {
    answerRequest(options, request, response).catch((error: unknown) => failLoudly(options.world, response, error));
  });
  return server;
}

async function answerRequest(
  options: ApiServerOptions,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { world, signal } = options;
  const body = await readBody(message, formBytesMax);
  if (body === undefined) return refuseBody(response);
  const request = understandRequest(message, body, world);
  const { record, effect, flight } = await registerRequest(world, request, response);
  const wire = makeAnswerWire(response, (status) => {
    record.status = status;
    if (flight !== undefined) request.waf?.flights.end(flight);
  });
  await options.onRequest?.(record);
  await holdRequest(world, signal);
  // Clients compare the date in Retry-After with this header, and the clock may be a test clock.
  if (!response.headersSent) response.setHeader("date", new Date(world.clock.nowMs()).toUTCString());
  if (effect !== undefined) await playFault(effect, request, wire, world, signal);
  else answerTruly(world, request, record, wire);
}

/** Even without latency, a request waits for some turns of the event loop, so that a concurrent request is detected. */
async function holdRequest({ settings, clock }: SimulatorWorld, signal: AbortSignal): Promise<void> {
  if (settings.latencyMs > 0) return await clock.sleep(settings.latencyMs, signal);
  for (let turn = 0; turn < turnsHeld; turn += 1) await nextTurn();
}

interface Registered {
  readonly record: RequestRecord;
  readonly effect: FaultEffect | undefined;
  readonly flight: Flight | undefined;
}

/** Counts and records the request, and determines whether it overlaps another one and which fault applies to it. */
async function registerRequest(
  world: SimulatorWorld,
  request: ApiRequest,
  response: ServerResponse,
): Promise<Registered> {
  const { waf, method, path } = request;
  const record = world.record({ method, path, domain: waf?.domain, parameters: recordedParameters(request, world) });
  const effect = world.faults.take({ method, path, ip: request.parameters.get("ip"), domain: waf?.domain });
  record.fault = effect?.kind;
  if (waf === undefined) return { record, effect, flight: undefined };
  const { counters, flights } = waf;
  const endpoint = `${method} ${path}`;
  counters.requests += 1;
  counters.byEndpoint[endpoint] = (counters.byEndpoint[endpoint] ?? 0) + 1;
  if (effect !== undefined) counters.faults += 1;
  const { flight, overlapping } = await flights.begin((hangUp) => response.once("close", hangUp));
  record.overlapping = overlapping;
  return { record, effect, flight };
}

function answerTruly(world: SimulatorWorld, request: ApiRequest, record: RequestRecord, wire: AnswerWire): void {
  if (record.overlapping && world.settings.overlap === "Refuse") {
    wire.send({ status: 500, headers: { "content-type": "text/html" }, body: overlapText });
  } else wire.send(jsonReply(performRequest(request, world)));
}

function refuseBody(response: ServerResponse): void {
  if (response.destroyed) return;
  response.writeHead(413, { connection: "close", "content-type": "application/json" });
  response.end(JSON.stringify({ success: false, message: "The body is too long" }));
}

/** A defect of the simulator or of a hook must not look like an injected fault. */
function failLoudly(world: SimulatorWorld, response: ServerResponse, error: unknown): void {
  const text = types.isNativeError(error) ? error.message : "unknown";
  if (world.internalErrors.length < internalErrorsMax) world.internalErrors.push(world.redact(text));
  if (response.headersSent) response.destroy();
  else response.writeHead(500, { "content-type": "text/plain" }).end("The simulator itself failed\n");
}

// Parses an HTTP request, and performs it to get the true response. A GET has its parameters in the query, a POST or DELETE only
// in a form body. Names must match exactly, and no parameter may be repeated.

interface ApiRequest {
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

function understandRequest(message: IncomingMessage, body: string, world: SimulatorWorld): ApiRequest {
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
function recordedParameters(request: ApiRequest, world: SimulatorWorld): Record<string, string> {
  const shown = [...request.parameters].filter(([name]) => knownParameters.has(name));
  return Object.fromEntries(
    shown.map(([name, value]) => [name, world.redact(value, request.apiKey).slice(0, recordedLengthMax)]),
  );
}

/** Performs the request, and returns the response that the contract defines. */
function performRequest(request: ApiRequest, world: SimulatorWorld): Answer {
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

// The ways to send a response, or none, and the faults that are played instead of the true response.

const errorPage =
  "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>\n";
const html = { "content-type": "text/html; charset=utf-8" };
const jsonType = { "content-type": "application/json" };

/** A response as it is sent. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface AnswerWire {
  send(reply: Reply): void;
  /** Announces the whole response, sends half of it and closes the connection. */
  sendHalf(reply: Reply): void;
  reset(): void;
}

function jsonReply({ status, body, headers }: Answer): Reply {
  return { status, headers: { ...headers, ...jsonType }, body: JSON.stringify(body) };
}

/**
 * @param onAnswer is called once, before the first byte is sent, so that the client's next request does not count as overlapping: with the status that is about to be sent, or undefined for a reset connection
 */
function makeAnswerWire(response: ServerResponse, onAnswer: (status: number | undefined) => void): AnswerWire {
  const begin = ({ status, headers, body }: Reply): Buffer => {
    const bytes = Buffer.from(body);
    onAnswer(status);
    response.writeHead(status, { ...headers, "content-length": String(bytes.length) });
    return bytes;
  };
  return {
    send: (reply) => void response.end(begin(reply)),
    sendHalf: (reply) => {
      const bytes = begin(reply);
      response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.destroy());
    },
    reset: () => {
      onAnswer(undefined);
      response.socket?.resetAndDestroy();
    },
  };
}

/** @param signal ends a slow response when the simulator is closed */
async function playFault(
  effect: FaultEffect,
  request: ApiRequest,
  wire: AnswerWire,
  world: SimulatorWorld,
  signal: AbortSignal,
): Promise<void> {
  const { kind, delayMs } = effect;
  const answer = isAfterEffect(effect) ? performRequest(request, world) : undefined;
  if (kind === "Reset") wire.reset();
  // A server has no timeout for its own responses: the request stays open until the client hangs up.
  else if (kind !== "Timeout") {
    if (kind === "Slow") await world.clock.sleep(delayMs ?? 0, signal);
    const reply = kind in replies ? replies[kind as keyof typeof replies](effect, request) : undefined;
    const sent = reply ?? jsonReply(spoiled(effect, request, answer ?? performRequest(request, world)));
    if (kind === "TruncatedBody") wire.sendHalf(sent);
    else wire.send(sent);
  }
}

/** What the client gets instead of the true response. */
const replies = {
  RateLimited: ({ retryAfter, message = "Too many requests" }) =>
    failure(429, message, retryAfter === undefined ? {} : { "retry-after": retryAfter }),
  ServerError: ({ status = 502, body = errorPage }) => ({ status, headers: html, body }),
  SuccessFalse: ({ status = 200, message = "Something went wrong" }) => failure(status, message),
  EchoKey: ({ status = 400 }, { apiKey }) =>
    failure(status, `The key ${apiKey} (${encodeURIComponent(apiKey)}) may not do this`),
  Respond: ({ status = 200, headers = {}, body = "" }) => ({ status, headers, body }),
} satisfies Partial<Record<FaultEffect["kind"], (effect: FaultEffect, request: ApiRequest) => Reply>>;

function failure(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return jsonReply({ status, headers, body: { success: false, message } });
}

/** The true response, with other rows if the fault changes those. */
function spoiled({ kind }: FaultEffect, { waf }: ApiRequest, answer: Answer): Answer {
  const { body } = answer;
  if (typeof body !== "object" || body === null || !("hits" in body)) return answer;
  const { hits: page } = body as LogPage;
  const rows = page.hits;
  const withRows = (hits: LogPage["hits"]["hits"]): Answer => ({
    ...answer,
    body: { ...body, hits: { ...page, hits } },
  });
  if (kind === "RepeatedPage") return withRows(waf?.logs.rowsBefore ?? rows);
  return kind === "MissingRows" ? withRows(rows.slice(0, Math.floor(rows.length / 2))) : answer;
}
