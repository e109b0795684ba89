// The decisions of one CrowdSec local API: all of them initially and every hour, otherwise the changes since the last call. The
// server keeps the cursor of the changes per key and address, so only one process may call it. After a failure, the position of
// the cursor is unknown, so everything is read again. Redirects are not followed, because the key is only for this server.
import type { Clock } from "../../async/clock.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { CrowdsecFeed } from "../../model/declared-feed.ts";
import type { HttpResponse } from "../../net/http-connection.ts";
import {
  type ActiveDecisions,
  allDecisions,
  changedDecisions,
  readDecisions,
} from "../../plan/feeds/crowdsec-decisions.ts";
import type { FetchFault, FetchOutcome, InTurn } from "../../plan/feeds/fetched-text.ts";
import { DecodedBody } from "../fetch/decoded-body.ts";
import type { FeedRequestOptions } from "../fetch/feed-request.ts";
import { checkFeedUrl, getFeed, startFeedDeadline, statusFault } from "../fetch/feed-request.ts";
import { parseChanges, parseDecisions } from "./crowdsec-wire.ts";
import { hourMs } from "../../model/time-text.ts";

/** 100,000 decisions need 17 MB. */
const bytesMax = 64 * 2 ** 20;
/** A full read, which finds missed changes, is done this often. */
const fullIntervalMs = hourMs;

export interface CrowdsecSourceOptions extends FeedRequestOptions {
  readonly clock: FeedRequestOptions["clock"] & Pick<Clock, "monotonicMs">;
}

export interface CrowdsecPull {
  readonly source: CrowdsecFeed;
  readonly key: ApiKey;
  /** Whether the content in use comes from the last pull: changes can only be applied to it. */
  readonly isCurrent: boolean;
  readonly inTurn: InTurn;
}

export class CrowdsecSource {
  readonly #options: CrowdsecSourceOptions;
  /** The active decisions after the last response. */
  #active: ActiveDecisions = new Map();
  /** Whether the next changes apply to these decisions. */
  #isInStep = false;
  /** By the monotonic clock. */
  #fullAtMs = 0;

  constructor(options: CrowdsecSourceOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async pull(pull: CrowdsecPull, signal: AbortSignal): Promise<FetchOutcome> {
    const nowMs = this.#options.clock.monotonicMs();
    const isFull = !this.#isInStep || !pull.isCurrent || nowMs - this.#fullAtMs >= fullIntervalMs;
    this.#isInStep = false;
    const active = isFull ? await this.#readAll(pull, signal) : await this.#readChanges(pull, signal);
    if ("code" in active) return { kind: "Failed", fault: active };
    this.#active = active.decisions;
    this.#isInStep = true;
    if (isFull) this.#fullAtMs = nowMs;
    const reading = readDecisions(active.decisions, this.#options.redact);
    return isFull ? { kind: "Read", reading, facts: undefined } : { kind: "Updated", reading };
  }

  async #readAll(pull: CrowdsecPull, signal: AbortSignal): Promise<{ decisions: ActiveDecisions } | FetchFault> {
    // Moves the cursor first: changes during the full read are returned again with the next changes.
    const cursor = await this.#get(pull, streamPath(pull.source), signal);
    if (!cursor.ok) return cursor.fault;
    const answer = await this.#get(pull, decisionsPath(pull.source), signal);
    if (!answer.ok) return answer.fault;
    const nowMs = this.#options.clock.nowMs();
    const decisions = parseDecisions(answer.body, { nowMs, hasIds: hasFilters(pull.source) });
    if (decisions === undefined) return unexpected;
    return { decisions: allDecisions(decisions, pull.source.types, nowMs) };
  }

  async #readChanges(pull: CrowdsecPull, signal: AbortSignal): Promise<{ decisions: ActiveDecisions } | FetchFault> {
    const answer = await this.#get(pull, streamPath(pull.source), signal);
    if (!answer.ok) return answer.fault;
    const nowMs = this.#options.clock.nowMs();
    const changes = parseChanges(answer.body, { nowMs, hasIds: hasFilters(pull.source) });
    return changes === undefined
      ? unexpected
      : { decisions: changedDecisions(this.#active, changes, pull.source.types, nowMs) };
  }

  async #get({ source, key, inTurn }: CrowdsecPull, path: string, signal: AbortSignal): Promise<CrowdsecAnswer> {
    return await callCrowdsec({ url: source.url, key, inTurn }, path, this.#options, signal);
  }
}

const unexpected: FetchFault = {
  code: "NotInFormat",
  message: "The response is not from a CrowdSec local API: check spec.crowdsec.url.",
};

type CrowdsecAnswer =
  | { readonly ok: true; readonly body: unknown }
  | { readonly ok: false; readonly fault: FetchFault };

type CrowdsecQuery = Pick<CrowdsecFeed, "origins" | "scenariosContaining" | "scenariosNotContaining" | "types">;

/** All active decisions. Fails if the server's table is missing; the stream would report no decisions in this case. */
function decisionsPath(query: CrowdsecQuery): string {
  const [type, ...others] = query.types;
  const only = others.length === 0 && type !== undefined && { type: type.toLowerCase() };
  return `/v1/decisions${search({ ...filters(query), ...only })}`;
}

/**
 * The changes since the last call with this key from this address. By default, the server reports only the longest decision for each
 * value, which it chooses before it applies the filters.
 */
function streamPath(query: CrowdsecQuery): string {
  const every = hasFilters(query) && { dedup: "false" };
  return `/v1/decisions/stream${search({ startup: "false", scopes: "ip,range", ...filters(query), ...every })}`;
}

/** Whether the server reports each decision, and not only the longest one for each value. */
function hasFilters(query: CrowdsecQuery): boolean {
  return Object.keys(filters(query)).length > 0;
}

function filters({ origins, scenariosContaining, scenariosNotContaining }: CrowdsecQuery): Record<string, string> {
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

/** Never rejects. */
export async function callCrowdsec(
  { url, key, inTurn }: { readonly url: string; readonly key: ApiKey; readonly inTurn: InTurn },
  path: string,
  options: FeedRequestOptions,
  signal: AbortSignal,
): Promise<CrowdsecAnswer> {
  const checked = checkFeedUrl(`${url}${path}`, options);
  if (!checked.ok) return failed({ code: "UrlNotAllowed", message: `spec.crowdsec.url ${checked.problem}.` });
  const deadline = startFeedDeadline(options.clock, inTurn, signal);
  const headers = { accept: "application/json", "user-agent": options.userAgent, "x-api-key": key.reveal() };
  try {
    const got = await getFeed(
      { url: checked.url, headers, bytesMax },
      options,
      deadline.signal,
      async (response) => await deadline.read(async () => await readAnswer(response, checked.url.origin, options)),
    );
    return got.ok ? got.value : got;
  } finally {
    deadline.end();
  }
}

async function readAnswer(
  answer: HttpResponse,
  origin: string,
  { clock }: FeedRequestOptions,
): Promise<CrowdsecAnswer> {
  const { status, body } = answer;
  if (status === 401 || status === 403) {
    return failed({ code: "Refused", message: `${origin} rejected the API key (${status}).` });
  }
  if (status !== 200) return failed(statusFault(origin, answer, clock.nowMs()));
  const chunks: Buffer[] = [];
  for await (const chunk of new DecodedBody(body, bytesMax).chunks()) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  try {
    return { ok: true, body: text === "" ? null : (JSON.parse(text) as unknown) };
  } catch {
    return failed({
      code: "NotInFormat",
      message: `The response of ${origin} is not JSON: check spec.crowdsec.url.`,
    });
  }
}

function failed(fault: FetchFault): CrowdsecAnswer {
  return { ok: false, fault };
}
