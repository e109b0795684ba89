// The network of a simulation: it replaces Node's HTTP client, so that the real client, its parsing and its
// lanes are part of the simulation. More than one request of the process at a time is a violation.
import {
  abortedCode,
  type HttpConnection,
  HttpFault,
  type HttpRequest,
  type HttpResponse,
} from "../../../src/net/http-connection.ts";
import type { SimFault } from "./sim-faults.ts";
import type { SimAnswer, SimRequest } from "./sim-waf.ts";

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
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (fault: HttpFault) => void;
  sent: boolean;
  isOver: boolean;
  /** For a write that takes effect late: the caller no longer waits for it. */
  letGo?: () => void;
}

export function simTransport(network: SimNetwork): HttpConnection {
  return {
    send: async (request, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>();
      const exchange: Exchange = { request: decode(request), resolve, reject, sent: false, isOver: false };
      signal.addEventListener("abort", () => giveUp(network, exchange, signal.reason), { once: true });
      begin(network, exchange);
      return await promise;
    },
    close: () => undefined,
  };
}

function begin(network: SimNetwork, exchange: Exchange): void {
  const { request } = exchange;
  const name = `${request.method} ${endpoint(request)}`;
  if (!network.survives(`before ${name}`)) return;
  const fault = network.faultOf(request);
  if (fault?.kind === "Refused") {
    network.after(network.latencyMs(), () => {
      if (exchange.isOver) return;
      exchange.isOver = true;
      network.ended(request, "refused");
      exchange.reject(new HttpFault("ECONNREFUSED", false, undefined));
    });
    return;
  }
  network.begun(request);
  exchange.sent = true;
  network.after(network.latencyMs(), () => arrive(network, exchange, fault, name));
}

function arrive(network: SimNetwork, exchange: Exchange, fault: SimFault | undefined, name: string): void {
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
      exchange.reject(new HttpFault("ECONNRESET", true, undefined));
      return;
    }
    const given = fault?.kind === "Answer" ? fault.answer : answer;
    if (given !== undefined) reply(network, exchange, given);
  });
}

function reply(network: SimNetwork, exchange: Exchange, { status, body, headers = {} }: SimAnswer): void {
  end(network, exchange, String(status));
  exchange.resolve({ status, headers, body: chunksOf(body) });
}

async function* chunksOf(body: string): AsyncGenerator<Buffer> {
  if (body !== "") yield await Promise.resolve(Buffer.from(body));
}

function giveUp(network: SimNetwork, exchange: Exchange, reason: unknown): void {
  if (exchange.isOver) return;
  end(network, exchange, "given up");
  const { code = abortedCode } = reason as { readonly code?: string };
  exchange.reject(new HttpFault(code, exchange.sent, undefined));
}

function end(network: SimNetwork, exchange: Exchange, how: string): void {
  if (exchange.isOver) return;
  exchange.isOver = true;
  network.ended(exchange.request, how);
  exchange.letGo?.();
}

/** Removes variable parts, so that each place in the program has one name. */
function endpoint({ path }: SimRequest): string {
  return path.startsWith("/clear/") ? "/clear" : path;
}

function decode({ method, path, body = "" }: HttpRequest): SimRequest {
  const [plain = "", query = ""] = path.split("?");
  return { method, path: plain, parameters: new URLSearchParams(body === "" ? query : body) };
}
