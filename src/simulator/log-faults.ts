// Injects faults into pages of logs, at random or on given pages. In addition to the faults of all calls: expired scrolls,
// repeated pages, missing rows and malformed entries. They are derived from a seed, so a run can be repeated.
import type { FaultEffect } from "./fault-rule.ts";
import { hashNumbers } from "./seeded-hash.ts";
import type { LogPage } from "./simulated-logs.ts";

const effects = {
  ServerError: { kind: "ServerError", status: 502 },
  Reset: { kind: "Reset" },
  LostAnswer: { kind: "Reset", afterEffect: true },
  TruncatedBody: { kind: "TruncatedBody" },
  CutJson: { kind: "CutJson" },
  NotJson: { kind: "NotJson" },
  RateLimited: { kind: "RateLimited", retryAfterSeconds: 0 },
  ScrollExpired: {
    kind: "Respond",
    status: 400,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ success: false, message: "Invalid scroll_id" }),
  },
} as const satisfies Record<string, FaultEffect>;

const pageChanges = ["RepeatedPage", "MissingRows", "BrokenEntry"] as const;

/**
 * - `LostAnswer`: the page is consumed, and the connection is reset. `ScrollExpired`: the response says that the scroll id is
 * invalid.
 * - `RepeatedPage`: the previous page is sent again, instead of this one. `MissingRows`: the second half of the rows is missing.
 * - `BrokenEntry`: the first entry has no `client_ip`.
 */
export type LogFaultKind = keyof typeof effects | (typeof pageChanges)[number];
export const logFaultKinds = [...Object.keys(effects), ...pageChanges] as readonly LogFaultKind[];

export interface LogFaultPlan {
  /** The share of pages that fail, from 0 to 1. */
  readonly share?: number | undefined;
  /** The numbers of the pages that fail, counted from 1 from now on. */
  readonly pages?: readonly number[] | undefined;
  /** By default all except `BrokenEntry`. */
  readonly kinds?: readonly LogFaultKind[] | undefined;
  readonly seed?: number | undefined;
}

export interface LogFault {
  readonly effect: FaultEffect | undefined;
  /** Changes the body of the true response. */
  readonly change: ((body: unknown) => unknown) | undefined;
}

const none: LogFault = { effect: undefined, change: undefined };
const queryPath = "/api/logs/query";
const scrollPath = "/api/logs/scroll";

export class LogFaults {
  #plan: LogFaultPlan | undefined;
  /** How many pages were requested, and how many failed, since the plan was set. */
  calls = 0;
  faults = 0;
  /** The rows of the previous page of the same scroll. */
  #pageBefore: LogPage["hits"]["hits"] = [];

  /** Sets the plan from now on; undefined ends the faults. */
  set(plan: LogFaultPlan | undefined): void {
    this.#plan = plan;
    this.calls = 0;
    this.faults = 0;
    this.#pageBefore = [];
  }

  /** Counts a request, and returns its fault. */
  take(path: string): LogFault {
    const plan = this.#plan;
    if (plan === undefined || (path !== queryPath && path !== scrollPath)) return none;
    this.calls += 1;
    if (path === queryPath) this.#pageBefore = [];
    const draw = (salt: number): number => hashNumbers(plan.seed ?? 1, this.calls, salt, 20) / 2 ** 32;
    const isWrong = plan.pages?.includes(this.calls) === true || draw(1) < (plan.share ?? 0);
    const kinds = (plan.kinds ?? logFaultKinds.filter((kind) => kind !== "BrokenEntry")).filter(
      (kind) => path === scrollPath || (kind !== "ScrollExpired" && kind !== "RepeatedPage"),
    );
    const kind = kinds[Math.floor(draw(2) * kinds.length)];
    if (!isWrong || kind === undefined) return { effect: undefined, change: (body) => this.#remember(body) };
    this.faults += 1;
    if (kind in effects) return { effect: effects[kind as keyof typeof effects], change: undefined };
    return { effect: undefined, change: (body) => this.#change(kind, body) };
  }

  #remember(body: unknown): unknown {
    if (isLogPage(body)) this.#pageBefore = body.hits.hits;
    return body;
  }

  #change(kind: LogFaultKind, body: unknown): unknown {
    if (!isLogPage(body)) return body;
    const { hits } = body;
    const rows = this.#changeRows(kind, hits.hits);
    this.#remember(body);
    return { ...body, hits: { ...hits, hits: rows } };
  }

  #changeRows(kind: LogFaultKind, rows: LogPage["hits"]["hits"]): readonly unknown[] {
    if (kind === "RepeatedPage") return this.#pageBefore.length === 0 ? rows : this.#pageBefore;
    if (kind === "MissingRows") return rows.slice(0, Math.floor(rows.length / 2));
    const [first, ...rest] = rows;
    return first === undefined ? rows : [{ ...first, client_ip: undefined }, ...rest];
  }
}

function isLogPage(body: unknown): body is LogPage {
  return typeof body === "object" && body !== null && "hits" in body;
}
