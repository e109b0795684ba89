// The decisions of one CrowdSec local API: all of them initially and every hour, otherwise the changes since the last call. The
// server keeps the cursor of the changes per key and address, so only one process may call it. After a failure, the position of
// the cursor is unknown, so everything is read again. Redirects are not followed, because the key is only for this server. The duration of a
// decision determines its expiry, so that it also expires while the server is unavailable.
import * as z from "zod";
import { type Entry, parseDeclaredEntry } from "../address/entry.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { CrowdsecFeed } from "../model/declared-feed.ts";
import { parseJson } from "../model/record.ts";
import { hourMs } from "../model/time-text.ts";
import type { HttpResponse } from "../net/http-connection.ts";
import type { FeedReading, FetchFault, FetchOutcome } from "./content.ts";
import { EntryCollector } from "./entry-collector.ts";
import { checkFeedUrl, type FetchOptions, getFeed, type Got, readUnpacked, statusFault } from "./feed-request.ts";

/** 100,000 decisions need 17 MB. */
const bytesMax = 64 * 2 ** 20;
/** A full read, which finds missed changes, is done this often. */
const fullIntervalMs = hourMs;
const decisionsMax = 1_000_000;

export interface CrowdsecPull {
  readonly source: CrowdsecFeed;
  readonly key: ApiKey;
  /** Whether the content in use comes from the last pull: changes can only be applied to it. */
  readonly isCurrent: boolean;
}

const unexpected: FetchFault = {
  message: "The response is not from a CrowdSec local API: check spec.crowdsec.url.",
};

export class CrowdsecSource {
  /** The active decisions after the last response. */
  #active: ActiveDecisions = new Map();
  /** Whether the next changes apply to these decisions. */
  #isInStep = false;
  /** By the monotonic clock. */
  #fullAtMs = 0;

  /** Never rejects. */
  async pull(pull: CrowdsecPull, options: FetchOptions): Promise<FetchOutcome> {
    const nowMs = options.clock.monotonicMs();
    const isFull = !this.#isInStep || !pull.isCurrent || nowMs - this.#fullAtMs >= fullIntervalMs;
    this.#isInStep = false;
    const active = isFull ? await this.#readAll(pull, options) : await this.#readChanges(pull, options);
    if ("message" in active) return { kind: "Failed", fault: active };
    this.#active = active;
    this.#isInStep = true;
    if (isFull) this.#fullAtMs = nowMs;
    const reading = readDecisions(active, options.redact);
    return isFull ? { kind: "Read", reading, facts: undefined } : { kind: "Updated", reading };
  }

  async #readAll(pull: CrowdsecPull, options: FetchOptions): Promise<ActiveDecisions | FetchFault> {
    // Moves the cursor first: changes during the full read are returned again with the next changes.
    const cursor = await get(pull, streamPath(pull.source), options);
    if (!cursor.ok) return cursor.fault;
    const answer = await get(pull, decisionsPath(pull.source), options);
    if (!answer.ok) return answer.fault;
    const parsed = decisions.safeParse(answer.value);
    return changed(pull.source, new Map(), parsed.success ? { new: parsed.data } : undefined, options);
  }

  async #readChanges(pull: CrowdsecPull, options: FetchOptions): Promise<ActiveDecisions | FetchFault> {
    const answer = await get(pull, streamPath(pull.source), options);
    if (!answer.ok) return answer.fault;
    return changed(pull.source, this.#active, changes.safeParse(answer.value).data, options);
  }
}

function changed(
  source: CrowdsecFeed,
  active: ActiveDecisions,
  changes: Changes | undefined,
  { clock }: FetchOptions,
): ActiveDecisions | FetchFault {
  return (changes && afterChanges(active, changes, source, clock.nowMs())) ?? unexpected;
}

/** Never rejects. */
async function get({ source, key }: CrowdsecPull, path: string, options: FetchOptions): Promise<Got<unknown>> {
  const checked = checkFeedUrl(`${source.url}${path}`, options);
  if (!checked.ok) return failed({ message: `spec.crowdsec.url ${checked.problem}.` });
  const { url } = checked;
  const headers = { accept: "application/json", "user-agent": options.userAgent, "x-api-key": key.reveal() };
  return await getFeed({ url, headers, bytesMax }, options, async (response) => {
    return await readAnswer(response, url.origin, options);
  });
}

/** All active decisions. Fails if the server's table is missing; the stream would report no decisions in this case. */
function decisionsPath(source: CrowdsecFeed): string {
  const [type, ...others] = source.types;
  const only = others.length === 0 && type !== undefined && { type: type.toLowerCase() };
  return `/v1/decisions${search({ ...filters(source), ...only })}`;
}

/**
 * The changes since the last call with this key from this address. By default, the server reports only the longest decision for each
 * value, which it chooses before it applies the filters.
 */
function streamPath(source: CrowdsecFeed): string {
  const every = hasFilters(source) && { dedup: "false" };
  return `/v1/decisions/stream${search({ startup: "false", scopes: "ip,range", ...filters(source), ...every })}`;
}

/** Whether the server reports each decision, and not only the longest one for each value. */
function hasFilters(source: CrowdsecFeed): boolean {
  return Object.keys(filters(source)).length > 0;
}

function filters({ origins, scenariosContaining, scenariosNotContaining }: CrowdsecFeed): Record<string, string> {
  return {
    ...(origins.length > 0 && { origins: origins.join(",") }),
    ...(scenariosContaining.length > 0 && { scenarios_containing: scenariosContaining.join(",") }),
    ...(scenariosNotContaining.length > 0 && { scenarios_not_containing: scenariosNotContaining.join(",") }),
  };
}

function search(parameters: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(parameters).toString();
  return text === "" ? "" : `?${text}`;
}

async function readAnswer(answer: HttpResponse, origin: string, { clock }: FetchOptions): Promise<Got<unknown>> {
  const { status } = answer;
  if (status === 401 || status === 403) {
    return failed({ message: `${origin} rejected the API key (${status}).` });
  }
  if (status !== 200) return failed(statusFault(origin, answer, clock.nowMs()));
  const text = (await readUnpacked(answer, bytesMax)).toString("utf8");
  const parsed = text === "" ? null : parseJson(text);
  if (parsed !== undefined) return { ok: true, value: parsed };
  return failed({ message: `The response of ${origin} is not JSON: check spec.crowdsec.url.` });
}

function failed(fault: FetchFault): Got<never> {
  return { ok: false, fault };
}

// The documented responses. Anything else is a fault, never an empty list.
const text = z.string().max(1024);
const decision = z.object({
  id: z.int().default(0),
  /** Case-insensitive: `Ip`, `Range`, `Country` and so on. */
  scope: text,
  type: text,
  value: text,
  duration: z.string().max(64),
  simulated: z.boolean().nullish(),
});
/** `GET /v1/decisions`. */
const decisions = z.array(decision).max(decisionsMax).nullable();
/** `GET /v1/decisions/stream`. */
const changes = z.object({ new: decisions.optional(), deleted: decisions.optional() });

type Decision = z.output<typeof decision>;
type Changes = z.output<typeof changes>;

interface ActiveDecision {
  /** Undefined if the value is not an entry. */
  readonly entry: Entry | undefined;
  readonly value: string;
  readonly endMs: number;
}

/** By type, value and ID. */
type ActiveDecisions = ReadonlyMap<string, ActiveDecision>;

const usedScopes: ReadonlySet<string> = new Set(["ip", "range"]);

/** Deletions first: a value that is deleted and added again is active. Undefined if a duration is not understood. */
function afterChanges(
  active: ActiveDecisions,
  { new: added, deleted }: Changes,
  source: CrowdsecFeed,
  nowMs: number,
): ActiveDecisions | undefined {
  // Without filters, the server reports only the longest decision for each value, with changing IDs.
  const hasIds = hasFilters(source);
  const keyOf = ({ type, value, id }: Decision): string =>
    `${type.toLowerCase()} ${value.toLowerCase()} ${hasIds ? id : 0}`;
  const types = new Set(source.types.map((type) => type.toLowerCase()));
  const after = new Map(active);
  for (const one of deleted ?? []) after.delete(keyOf(one));
  for (const one of added ?? []) {
    const durationMs = parseGoDuration(one.duration);
    if (durationMs === undefined) return undefined;
    const isUsed = usedScopes.has(one.scope.toLowerCase()) && types.has(one.type.toLowerCase());
    // Simulated decisions are only informational.
    if (!isUsed || durationMs <= 0 || one.simulated === true) continue;
    const [key, endMs] = [keyOf(one), nowMs + durationMs];
    // If there are several decisions for one value, the longest one applies.
    if ((after.get(key)?.endMs ?? 0) >= endMs) continue;
    const parsed = parseDeclaredEntry(one.value);
    after.set(key, { entry: parsed.ok ? parsed.entry : undefined, value: one.value, endMs });
  }
  for (const [key, { endMs }] of after) if (endMs <= nowMs) after.delete(key);
  return after;
}

/**
 * The entries, each with the end of its last decision.
 * @param redact makes an invalid value safe to show
 */
function readDecisions(active: ActiveDecisions, redact: (text: string) => string): FeedReading {
  const expiresAtMs = new Map<Entry, number>();
  const collector = new EntryCollector(decisionsMax, redact);
  let place = 0;
  for (const { entry, value, endMs } of active.values()) {
    place += 1;
    if (entry === undefined) collector.addText(value, place);
    else {
      collector.addEntry(entry);
      expiresAtMs.set(entry, Math.max(endMs, expiresAtMs.get(entry) ?? 0));
    }
  }
  const reading = collector.reading();
  return { ...reading, content: { ...reading.content, expiresAtMs } };
}

/** Shorter units make no difference. */
const unitsMs: Readonly<Record<string, number>> = { h: hourMs, m: 60_000, s: 1_000, ms: 1 };

const goDuration = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/u;
const goDurationParts = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gu;

/** Durations as Go prints them, such as `3h59m59.5s`, `-5s` and `1.5µs`, in milliseconds; negative for the past. Undefined if the string is not a duration. */
export function parseGoDuration(text: string): number | undefined {
  if (!goDuration.test(text)) return undefined;
  let sumMs = 0;
  for (const [, amount = "", unit = ""] of text.matchAll(goDurationParts))
    sumMs += Number(amount) * (unitsMs[unit] ?? 0);
  return text.startsWith("-") ? -sumMs : sumMs;
}
