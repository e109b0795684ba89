// The decisions of one CrowdSec local API: all of them initially and every hour, otherwise the changes since the last call. The
// server keeps the cursor of the changes per key and address, so only one process may call it. After a failure, the position of
// the cursor is unknown, so everything is read again. Redirects are not followed, because the key is only for this server. The duration of a
// decision determines its expiry, so that it also expires while the server is unavailable.
import * as z from "zod";
import { type Entry, parseDeclaredEntry } from "../address/entry.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { CrowdsecFeed } from "../model/declared.ts";
import { parseJson } from "../model/record.ts";
import { hourMs } from "../model/texts.ts";
import type { HttpResponse } from "../net/http-connection.ts";
import { fail, type FeedReading, type FetchOutcome } from "./feed-state.ts";
import { EntryCollector } from "./read-feed.ts";
import { checkFeedUrl, failedStatus, type FetchOptions, getFeed, readUnpacked } from "./feed-request.ts";

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

const unexpected = "The response is not from a CrowdSec local API: check spec.crowdsec.url.";

export class CrowdsecSource {
  /** The active decisions after the last response. */
  #active: ActiveDecisions = new Map();
  /** Whether the next changes apply to these decisions. */
  #isInStep = false;
  /** By the monotonic clock. */
  #fullAtMs = 0;

  async pull(pull: CrowdsecPull, options: FetchOptions): Promise<FetchOutcome> {
    const nowMs = options.clock.monotonicMs();
    const isFull = !this.#isInStep || !pull.isCurrent || nowMs - this.#fullAtMs >= fullIntervalMs;
    this.#isInStep = false;
    this.#active = isFull ? await readAll(pull, options) : await readChanges(pull, this.#active, options);
    // Throws if they are too many: then the next response must be a full one again, which the guards judge.
    const reading = readDecisions(this.#active, options.redact);
    this.#isInStep = true;
    if (isFull) this.#fullAtMs = nowMs;
    return isFull ? { kind: "Read", reading, facts: undefined } : { kind: "Updated", reading };
  }
}

async function readAll(pull: CrowdsecPull, options: FetchOptions): Promise<ActiveDecisions> {
  // Moves the cursor first: changes during the full read are returned again with the next changes.
  await get(pull, streamPath(pull.source), options);
  const answer = await get(pull, decisionsPath(pull.source), options);
  return afterChanges(new Map(), { new: understood(decisions, answer) }, pull.source, options.clock.nowMs());
}

async function readChanges(
  pull: CrowdsecPull,
  active: ActiveDecisions,
  options: FetchOptions,
): Promise<ActiveDecisions> {
  const answer = await get(pull, streamPath(pull.source), options);
  return afterChanges(active, understood(changes, answer), pull.source, options.clock.nowMs());
}

function understood<Schema extends z.ZodType>(schema: Schema, answer: unknown): z.output<Schema> {
  const { success, data } = schema.safeParse(answer);
  return success ? data : fail(unexpected);
}

async function get({ source, key }: CrowdsecPull, path: string, options: FetchOptions): Promise<unknown> {
  const url = checkFeedUrl(`${source.url}${path}`, "spec.crowdsec.url", options);
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

async function readAnswer(answer: HttpResponse, origin: string, { clock }: FetchOptions): Promise<unknown> {
  const { status } = answer;
  if (status === 401 || status === 403) fail(`${origin} rejected the API key (${status}).`);
  if (status !== 200) throw failedStatus(origin, answer, clock.nowMs());
  const text = (await readUnpacked(answer, bytesMax)).toString("utf8");
  const parsed = text === "" ? null : parseJson(text);
  return parsed === undefined ? fail(`The response of ${origin} is not JSON: check spec.crowdsec.url.`) : parsed;
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

/** Deletions first: a value that is deleted and added again is active. */
function afterChanges(
  active: ActiveDecisions,
  { new: added, deleted }: Changes,
  source: CrowdsecFeed,
  nowMs: number,
): ActiveDecisions {
  // Without filters, the server reports only the longest decision for each value, with changing IDs.
  const hasIds = hasFilters(source);
  const keyOf = ({ type, value, id }: Decision): string =>
    `${type.toLowerCase()} ${value.toLowerCase()} ${hasIds ? id : 0}`;
  const types = new Set(source.types.map((type) => type.toLowerCase()));
  const after = new Map(active);
  for (const one of deleted ?? []) after.delete(keyOf(one));
  for (const one of added ?? []) {
    const durationMs = parseGoDuration(one.duration) ?? fail(unexpected);
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
