// The pending faults, in the order in which they were added. Every rule counts every request that matches it. If several rules
// are due, the first one applies, and the others wait for the next matching request.
import type { FaultEffect, FaultMatch, FaultRule } from "./fault-rule.ts";
import { networkIdentity, parseNetwork } from "./network.ts";

export const faultRulesMax = 1000;

/** The properties of a request that a rule can match. */
export interface FaultTarget {
  readonly method: string;
  readonly path: string;
  readonly ip: string | undefined;
  readonly domain: string | undefined;
}

interface PendingFault {
  readonly rule: FaultRule;
  seen: number;
  left: number;
}

export class FaultQueue {
  #pending: PendingFault[] = [];

  /** @returns false if the queue is full */
  push(rule: FaultRule): boolean {
    if (this.#pending.length >= faultRulesMax) return false;
    this.#pending.push({ rule, seen: 0, left: rule.times ?? 1 });
    return true;
  }

  clear(): void {
    this.#pending = [];
  }

  /** The pending faults, for users. */
  pending(): { rule: FaultRule; seen: number; left: number }[] {
    return this.#pending.map((fault) => ({ ...fault }));
  }

  /** Counts the request, and uses up one fault if any is due. */
  take(target: FaultTarget): FaultEffect | undefined {
    const fitting = this.#pending.filter(({ rule }) => fits(rule.match ?? {}, target));
    for (const fault of fitting) fault.seen += 1;
    const due = fitting.find(({ rule, seen }) => seen >= (rule.match?.nth ?? 1));
    if (due === undefined) return undefined;
    due.left -= 1;
    if (due.left <= 0) this.#pending = this.#pending.filter((fault) => fault !== due);
    return due.rule.effect;
  }
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
