// A real HTTP server with scripted responses, including raw bytes, and a client for it.
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { realClock } from "../../../src/async/clock.ts";
import type { Clock } from "../../../src/async/clock.ts";
import { ApiKey } from "../../../src/model/api-key.ts";
import { createWafClient } from "../../../src/waf/client.ts";
import type { WafClient, WafClientOptions } from "../../../src/waf/client.ts";
import { LaneRegistry } from "../../../src/waf/lane-registry.ts";
import type { HeldLane } from "../../../src/waf/lane-registry.ts";

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly headers: IncomingMessage["headers"];
}

export type Script = (request: ReceivedRequest, response: ServerResponse, socket: Socket) => void;

export interface ScriptedWaf {
  readonly baseUrl: string;
  readonly requests: readonly ReceivedRequest[];
  /** The number of opened connections. */
  connections(): number;
  /** The maximum number of simultaneous requests. */
  overlap(): number;
  /** Resolves when this number of requests has arrived in total. */
  received(count: number): Promise<void>;
  answer(script: Script): void;
  close(): Promise<void>;
}

export async function startScriptedWaf(first: Script): Promise<ScriptedWaf> {
  let script = first;
  const requests: ReceivedRequest[] = [];
  const waiting: { readonly count: number; resolve(): void }[] = [];
  const counts = { connections: 0, open: 0, overlap: 0 };
  const server = createServer((incoming, response) => {
    counts.open += 1;
    counts.overlap = Math.max(counts.overlap, counts.open);
    response.once("close", () => (counts.open -= 1));
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("error", () => undefined);
    incoming.on("end", () => {
      const { method = "", url = "", headers, socket } = incoming;
      const request = { method, url, headers, body: Buffer.concat(chunks).toString("utf8") };
      requests.push(request);
      for (const waiter of waiting) if (requests.length >= waiter.count) waiter.resolve();
      script(request, response, socket);
    });
  });
  server.on("connection", () => (counts.connections += 1));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    connections: () => counts.connections,
    overlap: () => counts.overlap,
    received: async (count) => {
      if (requests.length < count) await new Promise<void>((resolve) => waiting.push({ count, resolve }));
    },
    answer: (next) => (script = next),
    close: async () => await closeServer(server),
  };
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Script {
  return (_, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
}

export function text(status: number, body: string, headers: Record<string, string> = {}): Script {
  return (_, response) => {
    response.writeHead(status, headers);
    response.end(body);
  };
}

/** Writes these bytes to the socket and closes it, unless it should stay open. */
export function raw(bytes: string, { stayOpen = false } = {}): Script {
  return (_, __, socket) => {
    if (stayOpen) socket.write(bytes);
    else socket.end(bytes);
  };
}

export const silent: Script = () => undefined;

/** Contains reserved characters of URLs, forms, JSON and HTML, so that each encoding of it is different. */
export const testKey = `K3y/+%"&<é=7f3a9c0d`;

export interface ClientUnderTest {
  readonly waf: WafClient;
  readonly lane: HeldLane;
  readonly lanes: LaneRegistry;
}

export function clientFor(
  baseUrl: string,
  options: Partial<WafClientOptions> & { readonly clock?: Clock; readonly minRequestIntervalMs?: number } = {},
): ClientUnderTest {
  const { key = new ApiKey(testKey), clock = realClock, minRequestIntervalMs = 0, ...rest } = options;
  const lanes = new LaneRegistry({ clock });
  const lane = lanes.acquire({ baseUrl, key, minRequestIntervalMs });
  const permit = () => ({ permitted: true }) as const;
  const waf = createWafClient({ baseUrl, key, requestTimeoutMs: 10_000, lane, permit, clock, ...rest });
  return { waf, lane, lanes };
}
