// Two calls of CrowdSec's local API, each with a deadline. Redirects are not followed, because the key is only for this server.
import type { Clock } from "../../async/clock.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { CrowdsecFeed } from "../../model/declared-feed.ts";
import type { FetchFault, InTurn } from "../../plan/feeds/fetched-text.ts";
import { DecodedBody } from "../fetch/decoded-body.ts";
import { type ExchangeAnswer, type NetworkOptions, exchange } from "../fetch/exchange.ts";
import { type FeedUrlPolicy, checkFeedUrl } from "../fetch/feed-url.ts";
import { startDeadline } from "../fetch/deadline.ts";
import { networkFault } from "../fetch/network-fault.ts";
import { statusFault } from "../fetch/status-fault.ts";

const timeoutMs = 30_000;
/** 100,000 decisions need 17 MB. */
const bytesMax = 64 * 2 ** 20;

export interface CrowdsecApiOptions extends NetworkOptions, FeedUrlPolicy {
  readonly clock: Pick<Clock, "schedule" | "nowMs">;
  readonly isPublicOnly: boolean;
  /** `name/version`. */
  readonly userAgent: string;
  /** Removes the key from a string, because servers may echo it. */
  readonly redact: (text: string) => string;
}

export type CrowdsecAnswer =
  | { readonly ok: true; readonly body: unknown }
  | { readonly ok: false; readonly fault: FetchFault };

export type CrowdsecQuery = Pick<CrowdsecFeed, "origins" | "scenariosContaining" | "scenariosNotContaining" | "types">;

/** All active decisions. Fails if the server's table is missing; the stream would report no decisions in this case. */
export function decisionsPath(query: CrowdsecQuery): string {
  const [type, ...others] = query.types;
  const only = others.length === 0 && type !== undefined && { type: type.toLowerCase() };
  return `/v1/decisions${search({ ...filters(query), ...only })}`;
}

/**
 * The changes since the last call with this key from this address. By default, the server reports only the longest decision for each
 * value, which it chooses before it applies the filters.
 */
export function streamPath(query: CrowdsecQuery): string {
  const every = hasFilters(query) && { dedup: "false" };
  return `/v1/decisions/stream${search({ startup: "false", scopes: "ip,range", ...filters(query), ...every })}`;
}

/** Whether the server reports each decision, and not only the longest one for each value. */
export function hasFilters(query: CrowdsecQuery): boolean {
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
  options: CrowdsecApiOptions,
  signal: AbortSignal,
): Promise<CrowdsecAnswer> {
  const checked = checkFeedUrl(`${url}${path}`, options);
  if (!checked.ok) return failed({ code: "UrlNotAllowed", message: `spec.crowdsec.url ${checked.problem}.` });
  const deadline = startDeadline({ clock: options.clock, inTurn }, timeoutMs, signal);
  let answer: ExchangeAnswer | undefined;
  try {
    const headers = { accept: "application/json", "user-agent": options.userAgent, "x-api-key": key.reveal() };
    const received = await exchange({ url: checked.url, headers }, options, deadline.signal);
    answer = received;
    return await deadline.read(async () => await readAnswer(received, checked.url.origin, options));
  } catch (error) {
    const context = { origin: checked.url.origin, timeoutMs, bytesMax, isPublicOnly: options.isPublicOnly };
    return failed(networkFault(error, answer !== undefined, context));
  } finally {
    deadline.end();
    answer?.body.destroy();
  }
}

async function readAnswer(
  answer: ExchangeAnswer,
  origin: string,
  { clock }: CrowdsecApiOptions,
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
