// The WAF clients of all instances. Each instance has one client and one share in its key's lane. Both are kept between
// reconcile runs, so that the connection stays open, and replaced when the instance or its key changes.
import type { Clock } from "../async/clock.ts";
import type { DeclaredInstance } from "../model/declared.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { Redactor } from "../model/redactor.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { type AnswerLimits, type CallRecord, type Permission, type WafClient, createWafClient } from "../waf/client.ts";
import type { OpenConnection } from "../net/http-connection.ts";
import type { Effect } from "../waf/exchange-fault.ts";
import { type KeyLocks, type HeldLane, LaneRegistry } from "../waf/lane.ts";

/** The maximum number of former keys that are searched for in data. */
const formerKeysMax = 4;

/** How commands and pages call a WAF: they only read from it. */
export type ReadingWaf = Pick<WafClient, "readList" | "readOrigins" | "queryLogs" | "scrollLogs">;

/** `problem` says why the WAF may not be called now. */
export type CalledWaf<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** Calls `work` with a client of the WAF, unless the WAF may not be called now. */
export type CallWaf = <T>(
  instance: DeclaredInstance,
  key: ApiKey,
  work: (waf: ReadingWaf) => Promise<T>,
) => Promise<CalledWaf<T>>;

interface Opened {
  readonly identity: string;
  readonly key: ApiKey;
  /** The newest first. */
  readonly formerKeys: readonly ApiKey[];
  readonly lane: HeldLane;
  readonly client: WafClient;
}

export interface WafClientsOptions {
  readonly clock: Clock;
  readonly open: OpenConnection;
  /** Knows all keys that were ever read, because a WAF may echo a former one. */
  readonly redactor: Redactor;
  /** Coordinates with other processes on this machine; undefined in a cluster, where the Lease does this. */
  readonly locks?: KeyLocks | undefined;
  /** Limits for the responses of one WAF; unlimited if undefined. */
  readonly limits?: AnswerLimits | undefined;
  /** Whether all failed connections result in the same fault. */
  readonly hidesCause: boolean;
  /** Called immediately before every call of any instance. */
  readonly permit: (instance: ObjectName, effect: Effect) => Permission;
  readonly onCall?: ((instance: string, call: CallRecord) => void) | undefined;
}

/** What a client depends on. */
interface CalledInstance extends Pick<DeclaredInstance, "baseUrl" | "requestTimeoutMs" | "minRequestIntervalMs"> {
  readonly meta: ObjectName;
}

export class WafClients {
  readonly #options: WafClientsOptions;
  readonly #registry: LaneRegistry;
  readonly #opened = new Map<string, Opened>();
  /** The latest intervals: a run may have gathered its instance before the last change. */
  readonly #intervals = new Map<string, number>();

  constructor(options: WafClientsOptions) {
    this.#options = options;
    this.#registry = new LaneRegistry({ clock: options.clock, open: options.open, locks: options.locks });
  }

  /** The client of the instance: the same one until its base URL, key or timeout changes. */
  open(instance: CalledInstance, key: ApiKey): WafClient {
    const { baseUrl, requestTimeoutMs } = instance;
    const own: ObjectName = { namespace: instance.meta.namespace, name: instance.meta.name };
    const name = nameKey(own);
    const identity = [baseUrl, key.fingerprint(), requestTimeoutMs].join(" ");
    const before = this.#opened.get(name);
    if (before?.identity === identity) return before.client;
    const { permit, onCall, redactor, ...options } = this.#options;
    const formerKeys = formerKeysOf(before, key);
    const isRotated = before !== undefined && before.key.fingerprint() !== key.fingerprint();
    const released = before?.lane.release();
    const lane = this.#registry.acquire({
      baseUrl,
      key,
      minRequestIntervalMs: this.#intervals.get(name) ?? instance.minRequestIntervalMs,
      after: isRotated ? released : undefined,
    });
    const client = createWafClient({
      ...options,
      baseUrl,
      key,
      formerKeys,
      redact: (text) => redactor.redact(text),
      requestTimeoutMs,
      lane,
      permit: (effect) => permit(own, effect),
      onCall: onCall && ((call) => onCall(name, call)),
    });
    this.#opened.set(name, { identity, key, formerKeys, lane, client });
    return client;
  }

  /** Call this when the instance has changed: all calls then use this interval, even a waiting one. */
  pace({ meta, minRequestIntervalMs }: Pick<DeclaredInstance, "meta" | "minRequestIntervalMs">): void {
    const name = nameKey(meta);
    if (this.#intervals.get(name) === minRequestIntervalMs) return;
    this.#intervals.set(name, minRequestIntervalMs);
    this.#opened.get(name)?.lane.pace(minRequestIntervalMs);
  }

  /** Call this when the instance no longer exists: it gives up its share in the lane. */
  async forget(instance: string): Promise<void> {
    const opened = this.#opened.get(instance);
    this.#opened.delete(instance);
    this.#intervals.delete(instance);
    await opened?.lane.release();
  }

  async close(): Promise<void> {
    this.#opened.clear();
    await this.#registry.close();
  }
}

function formerKeysOf(before: Opened | undefined, key: ApiKey): readonly ApiKey[] {
  if (before === undefined) return [];
  const known = [before.key, ...before.formerKeys].filter((one) => one.fingerprint() !== key.fingerprint());
  return known.slice(0, formerKeysMax);
}
