// The ways to send a response, or none, and the faults that are played instead of the true response.
import type { ServerResponse } from "node:http";
import { type ApiRequest, performRequest } from "./api-request.ts";
import type { Answer } from "./endpoints.ts";
import { type FaultEffect, isAfterEffect } from "./fault-rule.ts";
import type { LogPage } from "./simulated-logs.ts";
import type { SimulatorWorld } from "./simulator-world.ts";

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

export interface AnswerWire {
  send(reply: Reply): void;
  /** Announces the whole response, sends half of it and closes the connection. */
  sendHalf(reply: Reply): void;
  reset(): void;
}

export function jsonReply({ status, body, headers }: Answer): Reply {
  return { status, headers: { ...headers, ...jsonType }, body: JSON.stringify(body) };
}

/**
 * @param onAnswer is called once, before the first byte is sent, so that the client's next request does not count as overlapping: with the status that is about to be sent, or undefined for a reset connection
 */
export function makeAnswerWire(response: ServerResponse, onAnswer: (status: number | undefined) => void): AnswerWire {
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
export async function playFault(
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
