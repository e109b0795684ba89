// The network of a simulation: it replaces undici, so that the real client, its parsing and its
// lanes are part of the simulation. More than one request of the process at a time is a violation.
import type { Dispatcher } from "undici";
import type { Transport } from "../../../src/waf/connection.ts";
import type { SimFault } from "./sim-faults.ts";
import type { SimAnswer, SimRequest } from "./sim-waf.ts";

type Handler = Dispatcher.DispatchHandler;

/** The parts of the world that the network uses. */
export interface SimNetwork {
  /** How long this takes, in milliseconds. */
  latencyMs(): number;
  after(delayMs: number, act: () => void): void;
  faultOf(request: SimRequest): SimFault | undefined;
  /** The request reaches the WAF. */
  serve(request: SimRequest): SimAnswer;
  /** The request is in transit, and takes effect some time after the returned function is called or the process is killed. */
  delay(request: SimRequest): () => void;
  /** A request starts, and ends. */
  begun(request: SimRequest): void;
  ended(request: SimRequest, how: string): void;
  /** A moment at which the process may be killed: false if it was. */
  survives(where: string): boolean;
}

interface Exchange {
  readonly request: SimRequest;
  readonly handler: Handler;
  isOver: boolean;
  /** For a write that takes effect late: the caller no longer waits for it. */
  letGo?: () => void;
}

export function simTransport(network: SimNetwork): Transport {
  const running = new Set<Exchange>();
  return {
    dispatch: (options, handler) => {
      const exchange = { request: decode(options), handler, isOver: false };
      running.add(exchange);
      begin(network, exchange);
    },
    destroy: async () => {
      await Promise.resolve();
      for (const exchange of running) end(network, exchange, "given up");
      running.clear();
    },
  };
}

function begin(network: SimNetwork, exchange: Exchange): void {
  const { request, handler } = exchange;
  const name = `${request.method} ${endpoint(request)}`;
  if (!network.survives(`before ${name}`)) return;
  const fault = network.faultOf(request);
  if (fault?.kind === "Refused") {
    network.after(network.latencyMs(), () => {
      if (exchange.isOver) return;
      exchange.isOver = true;
      network.ended(request, "refused");
      handler.onResponseError?.(undefined as never, networkError("ECONNREFUSED"));
    });
    return;
  }
  network.begun(request);
  const controller = controllerOf(network, exchange);
  handler.onRequestStart?.(controller, {});
  network.after(network.latencyMs(), () => arrive(network, exchange, controller, fault, name));
}

function arrive(
  network: SimNetwork,
  exchange: Exchange,
  controller: Dispatcher.DispatchController,
  fault: SimFault | undefined,
  name: string,
): void {
  if (exchange.isOver) return;
  const { request } = exchange;
  if (fault?.kind === "Late") {
    exchange.letGo = network.delay(request);
    network.survives(`after ${name}`);
    return;
  }
  const spoilt = fault !== undefined && fault.kind !== "Refused" && fault.effect === "Before";
  const answer = spoilt ? undefined : network.serve(request);
  if (!network.survives(`after ${name}`)) return;
  if (fault?.kind === "Hang") return;
  network.after(network.latencyMs(), () => {
    if (exchange.isOver) return;
    if (fault?.kind === "Reset") {
      end(network, exchange, "reset");
      exchange.handler.onResponseError?.(controller, networkError("ECONNRESET"));
      return;
    }
    const given = fault?.kind === "Answer" ? fault.answer : answer;
    if (given !== undefined) reply(network, exchange, controller, given);
  });
}

function reply(
  network: SimNetwork,
  exchange: Exchange,
  controller: Dispatcher.DispatchController,
  { status, body, headers = {} }: SimAnswer,
): void {
  const { handler } = exchange;
  end(network, exchange, String(status));
  handler.onResponseStart?.(controller, status, headers);
  if (body !== "") handler.onResponseData?.(controller, Buffer.from(body));
  handler.onResponseEnd?.(controller, {});
}

function end(network: SimNetwork, exchange: Exchange, how: string): void {
  if (exchange.isOver) return;
  exchange.isOver = true;
  network.ended(exchange.request, how);
  exchange.letGo?.();
}

function controllerOf(network: SimNetwork, exchange: Exchange): Dispatcher.DispatchController {
  const controller = {
    aborted: false,
    paused: false,
    reason: null,
    rawHeaders: null,
    rawTrailers: null,
    pause: () => undefined,
    resume: () => undefined,
    abort: () => end(network, exchange, "given up"),
  };
  return controller;
}

function networkError(code: string): Error {
  return Object.assign(new Error("The network failed."), { code });
}

/** Removes variable parts, so that each place in the program has one name. */
function endpoint({ path }: SimRequest): string {
  return path.startsWith("/clear/") ? "/clear" : path;
}

function decode({ method, path, body }: Dispatcher.DispatchOptions): SimRequest {
  const [plain = "", query = ""] = path.split("?");
  const form = typeof body === "string" ? body : "";
  return { method, path: plain, parameters: new URLSearchParams(form === "" ? query : form) };
}
