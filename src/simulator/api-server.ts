// Serves the WAF API over HTTP. A request is parsed, counted and delayed by the latency. Then it gets its true response, is
// rejected because another request of its key was in flight, or fails by an injected fault. A client that disconnects does not
// undo its request.
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { types } from "node:util";
import { type ApiRequest, performRequest, recordedParameters, understandRequest } from "./api-request.ts";
import type { FaultEffect } from "./fault-rule.ts";
import { type AnswerWire, jsonReply, makeAnswerWire, playFault } from "./play-fault.ts";
import { readBody } from "./request-body.ts";
import type { Flight, RequestRecord } from "./simulated-waf.ts";
import type { SimulatorWorld } from "./simulator-world.ts";

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
