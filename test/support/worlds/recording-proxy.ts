// An HTTP proxy in front of the simulator that records which replica calls which WAF, and when: see fast-operator.ts. Two calls of
// different replicas with one key must never overlap.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent, request as send } from "undici";

export interface NotedCall {
  readonly replica: string;
  readonly key: string;
  readonly isWrite: boolean;
  readonly fromMs: number;
  /** Infinite while it is in progress. */
  untilMs: number;
}

export interface RecordingProxy {
  readonly url: string;
  readonly calls: readonly NotedCall[];
  /** Descriptions of overlapping calls of different replicas with the same key. */
  overlaps(): string[];
  /** The replicas that have called with the key since then, in order, each once. */
  callers(key: string, sinceMs?: number): string[];
  /** The moment for `callers`. */
  now(): number;
  close(): Promise<void>;
}

export async function startRecordingProxy(targetUrl: string): Promise<RecordingProxy> {
  const calls: NotedCall[] = [];
  const dispatcher = new Agent();
  const server = createServer((request, response) => {
    const note = async (): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString("utf8");
      const { method = "GET", url = "", headers } = request;
      const call: NotedCall = {
        replica: String(headers["x-pod"]),
        key: keyOf(url, body),
        isWrite: method !== "GET",
        fromMs: performance.now(),
        untilMs: Number.POSITIVE_INFINITY,
      };
      calls.push(call);
      try {
        const answer = await send(`${targetUrl}${url}`, {
          method: method as "GET",
          dispatcher,
          headers: { "content-type": headers["content-type"] ?? "text/plain" },
          ...(body === "" ? {} : { body }),
        });
        const text = await answer.body.text();
        call.untilMs = performance.now();
        response.writeHead(answer.statusCode, { "content-type": String(answer.headers["content-type"]) });
        response.end(text);
      } catch {
        call.untilMs = performance.now();
        response.destroy();
      }
    };
    note().catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    overlaps: () => overlapsIn(calls),
    callers: (key, sinceMs = 0) => {
      const since = calls.filter((call) => call.key === key && call.fromMs >= sinceMs);
      return [...new Set(since.map(({ replica }) => replica))];
    },
    now: () => performance.now(),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await dispatcher.close();
    },
  };
}

function keyOf(url: string, body: string): string {
  const { pathname, searchParams } = new URL(url, "http://waf");
  if (pathname.startsWith("/clear/")) return decodeURIComponent(pathname.slice("/clear/".length));
  return searchParams.get("api_key") ?? new URLSearchParams(body).get("api_key") ?? "";
}

function overlapsIn(calls: readonly NotedCall[]): string[] {
  const found: string[] = [];
  for (const [index, call] of calls.entries()) {
    for (const later of calls.slice(index + 1)) {
      if (later.fromMs >= call.untilMs) break;
      if (later.key === call.key && later.replica !== call.replica)
        found.push(`${later.replica} called while a call of ${call.replica} with the same key was in progress`);
    }
  }
  return found;
}
