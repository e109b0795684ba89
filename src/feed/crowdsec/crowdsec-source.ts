// The decisions of one CrowdSec local API: all of them initially and every hour, otherwise the changes since the last call. The
// server keeps the cursor of the changes per key and address, so only one process may call it. After a failure, the position of
// the cursor is unknown, so everything is read again.
import type { Clock } from "../../async/clock.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { CrowdsecFeed } from "../../model/declared-feed.ts";
import {
  type ActiveDecisions,
  allDecisions,
  changedDecisions,
  readDecisions,
} from "../../plan/feeds/crowdsec-decisions.ts";
import type { FetchFault, FetchOutcome, InTurn } from "../../plan/feeds/fetched-text.ts";
import {
  callCrowdsec,
  type CrowdsecAnswer,
  type CrowdsecApiOptions,
  decisionsPath,
  hasFilters,
  streamPath,
} from "./crowdsec-api.ts";
import { parseChanges, parseDecisions } from "./crowdsec-wire.ts";

/** A full read, which finds missed changes, is done this often. */
const fullIntervalMs = 3_600_000;

export interface CrowdsecSourceOptions extends CrowdsecApiOptions {
  readonly clock: CrowdsecApiOptions["clock"] & Pick<Clock, "monotonicMs">;
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
