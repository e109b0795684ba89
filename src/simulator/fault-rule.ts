// The faults that the simulator can inject, and the requests that they apply to. A fault happens before or after the request
// takes effect: clients cannot see this difference. Pending faults are kept in the order in which they were added.
import * as z from "zod";
import { knownPaths } from "./endpoints.ts";
import { networkIdentity, parseNetwork } from "./network.ts";
import { hashNumbers } from "./seeded-hash.ts";

export const faultKinds = [
  "Timeout",
  "Reset",
  "RateLimited",
  "ServerError",
  "SuccessFalse",
  "EchoKey",
  "Respond",
  "Slow",
  "TruncatedBody",
  "RepeatedPage",
  "MissingRows",
] as const;
export type FaultKind = (typeof faultKinds)[number];

const natural = z.int().min(0);

/**
 * - `Timeout`: the request is accepted and never answered. `Reset`: the connection is reset.
 * - `RateLimited`: 429 with `retryAfter`. `ServerError`: `status` (502) with an HTML page. `SuccessFalse`: `{success: false}` with
 * `status` (200). `EchoKey`: `status` (400) with the key in the message, plain and percent-encoded.
 * - `Respond`: `status` (200), `headers` and `body` as given. `Slow`: the true response, `delayMs` later.
 * - `TruncatedBody`: fewer bytes than announced, then the connection closes.
 * - `RepeatedPage`: the previous page of logs is sent again, instead of this one. `MissingRows`: the second half of its rows is
 * missing.
 */
const effect = z
  .strictObject({
    kind: z.enum(faultKinds),
    /**
     * Whether the request takes effect before the fault; always true for the kinds that change the true response.
     */
    afterEffect: z.boolean(),
    status: z.int().min(200).max(599),
    message: z.string(),
    retryAfter: z.string(),
    headers: z.record(z.string(), z.string()),
    body: z.string(),
    delayMs: natural,
  })
  .partial()
  .required({ kind: true });
export type FaultEffect = Readonly<z.infer<typeof effect>>;

/** All fields that are set must match. */
const match = z
  .strictObject({
    method: z.string(),
    /** `/api/…` without a trailing slash, or `/clear`. */
    path: z.enum(knownPaths),
    /** The network in the parameter `ip`, in any spelling. */
    ip: z.string(),
    domain: z.string(),
    /** The first matching request that the rule applies to: with 3, two matching requests pass. */
    nth: z.int().min(1),
    /** From 0 to 1: the rule applies to this share of the matching requests, at random, but to the same ones in each run. */
    share: z.number().min(0).max(1),
  })
  .partial();
export type FaultMatch = Readonly<z.infer<typeof match>>;

export const faultRule = z.strictObject({
  match: match.optional(),
  /** How many requests the rule applies to; 1 by default. */
  times: z.int().min(1).max(1_000_000).optional(),
  effect,
});
export type FaultRule = Readonly<z.infer<typeof faultRule>>;

/** Kinds that change the true response, so the request must take effect first. */
const needTrueAnswer: ReadonlySet<FaultKind> = new Set(["Slow", "TruncatedBody", "RepeatedPage", "MissingRows"]);
/** Whether the request takes effect before the fault. */
export function isAfterEffect(effect: FaultEffect): boolean {
  return needTrueAnswer.has(effect.kind) || effect.afterEffect === true;
}

/** The properties of a request that a rule can match. */
interface FaultTarget {
  readonly method: string;
  readonly path: string;
  readonly ip: string | undefined;
  readonly domain: string | undefined;
}

interface PendingFault {
  readonly rule: FaultRule;
  /** Counts the rules. */
  readonly seed: number;
  seen: number;
  left: number;
}

/**
 * Every rule counts every request that matches it. If several rules are due, the first one applies, and the others wait for the next
 * matching request.
 */
export class FaultQueue {
  #pending: PendingFault[] = [];
  #pushed = 0;

  push(rules: readonly FaultRule[]): void {
    this.#pending.push(...rules.map((rule) => ({ rule, seed: (this.#pushed += 1), seen: 0, left: rule.times ?? 1 })));
  }

  clear(): void {
    this.#pending = [];
    this.#pushed = 0;
  }

  /** The pending faults, for users. */
  pending(): { rule: FaultRule; seen: number; left: number }[] {
    return this.#pending.map(({ rule, seen, left }) => ({ rule, seen, left }));
  }

  /** Counts the request, and uses up one fault if any is due. */
  take(target: FaultTarget): FaultEffect | undefined {
    const fitting = this.#pending.filter(({ rule }) => fits(rule.match ?? {}, target));
    for (const fault of fitting) fault.seen += 1;
    const due = fitting.find(isDue);
    if (due === undefined) return undefined;
    due.left -= 1;
    if (due.left <= 0) this.#pending = this.#pending.filter((fault) => fault !== due);
    return due.rule.effect;
  }
}

function isDue({ rule: { match = {} }, seed, seen }: PendingFault): boolean {
  const { nth = 1, share = 1 } = match;
  return seen >= nth && hashNumbers(seed, seen) / 2 ** 32 < share;
}

function fits(match: FaultMatch, target: FaultTarget): boolean {
  if (match.method !== undefined && match.method.toUpperCase() !== target.method) return false;
  if (match.path !== undefined && match.path !== target.path) return false;
  if (match.domain !== undefined && match.domain !== target.domain) return false;
  return match.ip === undefined || (target.ip !== undefined && sameNetwork(match.ip, target.ip));
}

function sameNetwork(one: string, other: string): boolean {
  if (one === other) return true;
  const [left, right] = [parseNetwork(one), parseNetwork(other)];
  return left !== undefined && right !== undefined && networkIdentity(left) === networkIdentity(right);
}
