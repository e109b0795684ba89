// Plays one fault instead of the true response.
import { performRequest } from "./api-request.ts";
import type { ApiRequest } from "./api-request.ts";
import type { Answer } from "./answer.ts";
import type { AnswerWire } from "./answer-wire.ts";
import { isAfterEffect } from "./fault-rule.ts";
import type { FaultEffect } from "./fault-rule.ts";
import { listNames } from "./simulated-waf.ts";
import type { SimulatorWorld } from "./simulator-world.ts";

const hugeBytesByDefault = 64 * 1024 * 1024;
const lateMsByDefault = 2_000;
const otherDomain = "another-waf.example.test";
const errorPage =
  "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>\n";
const html = { "content-type": "text/html; charset=utf-8" };

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
  if (effect.kind === "HugeBody") await wire.huge(effect.bytes ?? hugeBytesByDefault);
  else if (effect.kind === "StaleList" && trueAnswer !== undefined) {
    wire.json(staleAnswer(effect, request, trueAnswer, world));
  } else if (trueAnswer !== undefined && spoilAnswer(effect, trueAnswer, wire)) return;
  else replaceAnswer(effect, request, wire, world.clock.nowMs());
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

/** Only the responses of lists can be stale. */
function staleAnswer(effect: FaultEffect, { path, waf }: ApiRequest, answer: Answer, world: SimulatorWorld): Answer {
  const name = listNames.find((list) => path === `/api/${list}_ips`);
  if (name === undefined || waf === undefined || answer.status !== 200) return answer;
  const { delayMs, writes = 1 } = effect;
  const since = delayMs === undefined ? {} : { sinceMs: world.clock.nowMs() - delayMs };
  return { ...answer, body: waf.lists[name].shownBefore(world.settings.spelling, { writes, ...since }) };
}

/** Plays the kinds that need the true response. @returns whether the fault is one of these kinds */
function spoilAnswer(effect: FaultEffect, answer: Answer, wire: AnswerWire): boolean {
  switch (effect.kind) {
    case "Slow":
      wire.json(answer);
      return true;
    case "TruncatedBody":
      wire.truncated(answer);
      return true;
    case "CutJson":
      wire.text(answer.status, { "content-type": "application/json" }, firstHalf(JSON.stringify(answer.body)));
      return true;
    case "WrongDomain":
      wire.json({ ...answer, body: withDomain(answer.body, effect.domain ?? otherDomain) });
      return true;
    case "ListAsObject":
      wire.json({
        ...answer,
        body: Array.isArray(answer.body) ? Object.fromEntries(answer.body.entries()) : answer.body,
      });
      return true;
    default:
      return false;
  }
}

/** Plays the kinds that send a different response, or none. */
function replaceAnswer(effect: FaultEffect, request: ApiRequest, wire: AnswerWire, nowMs: number): void {
  switch (effect.kind) {
    case "Timeout":
      return wire.hang();
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
