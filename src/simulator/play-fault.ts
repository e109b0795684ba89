// The ways to send a response, or none, and the faults that are played instead of the true response.
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type ApiRequest, performRequest } from "./api-request.ts";
import type { Answer } from "./endpoints.ts";
import { type FaultEffect, isAfterEffect } from "./fault-rule.ts";
import type { LogPage } from "./simulated-logs.ts";
import { listNames } from "./simulated-waf.ts";
import type { SimulatorWorld } from "./simulator-world.ts";

const hugeBytesByDefault = 64 * 1024 * 1024;
const lateMsByDefault = 2_000;
const otherDomain = "another-waf.example.test";
const errorPage =
  "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>\n";
const html = { "content-type": "text/html; charset=utf-8" };
const jsonType = { "content-type": "application/json" };

const hugeChunkBytes = 64 * 1024;

export interface AnswerWire {
  json(answer: Answer): void;
  text(status: number, headers: Readonly<Record<string, string>>, body: string): void;
  /** Announces the whole response, sends half of it and closes the connection. */
  truncated(answer: Answer): void;
  /** Sends JSON of this many bytes, as fast as the client reads it. */
  huge(bytes: number): Promise<void>;
  reset(): void;
  /** Resolves when the client has hung up. */
  hungUp(): Promise<void>;
}

/**
 * @param onAnswer is called once, before the first byte is sent, so that the client's next request does not count as overlapping: with the status that is about to be sent, or undefined for a reset connection
 */
export function makeAnswerWire(response: ServerResponse, onAnswer: (status: number | undefined) => void): AnswerWire {
  const sendText: AnswerWire["text"] = (status, headers, body) => {
    onAnswer(status);
    response.writeHead(status, { ...headers, "content-length": String(Buffer.byteLength(body)) });
    response.end(body);
  };
  return {
    json({ status, body, headers }) {
      sendText(status, { ...headers, ...jsonType }, JSON.stringify(body));
    },
    text: sendText,
    truncated({ status, body, headers }) {
      const bytes = Buffer.from(JSON.stringify(body));
      onAnswer(status);
      response.writeHead(status, { ...headers, ...jsonType, "content-length": String(bytes.length) });
      response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.destroy());
    },
    async huge(bytes) {
      await sendHuge(response, bytes, onAnswer);
    },
    reset() {
      onAnswer(undefined);
      response.socket?.resetAndDestroy();
    },
    async hungUp() {
      if (!response.closed) await once(response, "close");
    },
  };
}

async function sendHuge(
  response: ServerResponse,
  bytes: number,
  onAnswer: (status: number | undefined) => void,
): Promise<void> {
  const start = '{"success":true,"message":"';
  const chunk = "x".repeat(hugeChunkBytes);
  response.writeHead(200, jsonType);
  response.write(start);
  for (let sent = start.length; sent < bytes; sent += hugeChunkBytes) {
    if (response.destroyed) return;
    if (!response.write(chunk)) await Promise.race([once(response, "drain"), once(response, "close")]).catch(() => []);
  }
  onAnswer(200);
  response.end('"}');
}

/** @param signal ends a slow response when the simulator is closed */
export async function playFault(
  effect: FaultEffect,
  request: ApiRequest,
  wire: AnswerWire,
  world: SimulatorWorld,
  signal: AbortSignal,
): Promise<void> {
  const trueAnswer = isAfterEffect(effect) ? performRequest(request, world) : undefined;
  if (effect.kind === "Late") return await performLater(effect, request, wire, world, signal);
  if (effect.kind === "Slow") await world.clock.sleep(effect.delayMs ?? 0, signal);
  const spoiled = trueAnswer && spoiledAnswer(effect, request, trueAnswer, world);
  if (spoiled !== undefined) wire.json(spoiled);
  else if (effect.kind === "TruncatedBody" && trueAnswer !== undefined) wire.truncated(trueAnswer);
  else if (effect.kind === "HugeBody") await wire.huge(effect.bytes ?? hugeBytesByDefault);
  else replaceAnswer(effect, request, wire, world.clock.nowMs(), trueAnswer);
}

async function performLater(
  effect: FaultEffect,
  request: ApiRequest,
  wire: AnswerWire,
  world: SimulatorWorld,
  signal: AbortSignal,
): Promise<void> {
  await wire.hungUp();
  await world.clock.sleep(effect.delayMs ?? lateMsByDefault, signal);
  if (!signal.aborted) performRequest(request, world);
}

/** The response of the kinds that change the true one; undefined for all other kinds. */
function spoiledAnswer(
  effect: FaultEffect,
  request: ApiRequest,
  answer: Answer,
  world: SimulatorWorld,
): Answer | undefined {
  const { body } = answer;
  switch (effect.kind) {
    case "Slow":
      return answer;
    case "WrongDomain":
      return { ...answer, body: withDomain(body, effect.domain ?? otherDomain) };
    case "ListAsObject":
      return { ...answer, body: Array.isArray(body) ? Object.fromEntries(body.entries()) : body };
    case "StaleList":
      return staleAnswer(effect, request, answer, world);
    case "RepeatedPage":
      return withRows(answer, (rows) => request.waf?.logs.rowsBefore ?? rows);
    case "MissingRows":
      return withRows(answer, (rows) => rows.slice(0, Math.floor(rows.length / 2)));
    case "BrokenEntry":
      return withRows(answer, (rows) =>
        rows.map((row, place) => (place === 0 ? { ...row, client_ip: undefined } : row)),
      );
    default:
      return undefined;
  }
}

/** Only the responses of lists can be stale. */
function staleAnswer(effect: FaultEffect, { path, waf }: ApiRequest, answer: Answer, world: SimulatorWorld): Answer {
  const name = listNames.find((list) => path === `/api/${list}_ips`);
  if (name === undefined || waf === undefined || answer.status !== 200) return answer;
  const { delayMs, writes = 1 } = effect;
  const since = delayMs === undefined ? {} : { sinceMs: world.clock.nowMs() - delayMs };
  return { ...answer, body: waf.lists[name].shownBefore(world.settings.spelling, { writes, ...since }) };
}

/** Changes the rows of a page of logs, and nothing else. */
function withRows(answer: Answer, change: (rows: LogPage["hits"]["hits"]) => readonly unknown[]): Answer {
  const { body } = answer;
  if (typeof body !== "object" || body === null || !("hits" in body)) return answer;
  const page = body as LogPage;
  return { ...answer, body: { ...page, hits: { ...page.hits, hits: change(page.hits.hits) } } };
}

/** Plays the kinds that send a different response, or none. */
function replaceAnswer(
  effect: FaultEffect,
  request: ApiRequest,
  wire: AnswerWire,
  nowMs: number,
  trueAnswer: Answer | undefined,
): void {
  switch (effect.kind) {
    case "CutJson":
      return wire.text(trueAnswer?.status ?? 200, jsonType, firstHalf(JSON.stringify(trueAnswer?.body ?? {})));
    case "Timeout":
      // The server has no timeout for its own responses: the request stays open until the client hangs up.
      return;
    case "Reset":
      return wire.reset();
    case "RateLimited":
      return wire.json({ status: 429, headers: retryAfter(effect, nowMs), body: failure(effect, "Too many requests") });
    case "ServerError":
      return wire.text(effect.status ?? 502, html, effect.body ?? errorPage);
    case "SuccessFalse":
      return wire.json({ status: effect.status ?? 200, body: failure(effect, "Something went wrong") });
    case "Redirect":
      return wire.text(302, { ...html, location: effect.location ?? "/elsewhere" }, "<a>Found</a>");
    case "EchoKey":
      return wire.json({ status: effect.status ?? 400, body: failure(effect, keyEcho(request.apiKey)) });
    case "NotJson":
      return wire.text(effect.status ?? 200, html, effect.body ?? "OK");
    case "Respond":
      return wire.text(effect.status ?? 200, effect.headers ?? {}, effect.body ?? "");
    default:
      throw new TypeError(`the fault ${effect.kind} needs the true response`);
  }
}

function failure(effect: FaultEffect, message: string): { success: false; message: string } {
  return { success: false, message: effect.message ?? message };
}

function keyEcho(apiKey: string): string {
  return `The key ${apiKey} (${encodeURIComponent(apiKey)}) may not do this`;
}

function retryAfter(effect: FaultEffect, nowMs: number): Record<string, string> {
  if (effect.retryAfter !== undefined) return { "retry-after": effect.retryAfter };
  if (effect.retryAfterSeconds !== undefined) return { "retry-after": String(effect.retryAfterSeconds) };
  if (effect.retryAfterDateInMs === undefined) return {};
  return { "retry-after": new Date(nowMs + effect.retryAfterDateInMs).toUTCString() };
}

/** Half of a JSON text is never valid JSON, because arrays and objects end with a bracket. */
function firstHalf(text: string): string {
  return text.slice(0, Math.ceil(text.length / 2));
}

function withDomain(body: unknown, domain: string): unknown {
  return typeof body === "object" && body !== null && "domain" in body ? { ...body, domain } : body;
}
