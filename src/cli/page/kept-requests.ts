// Caches the blocked requests that users look at: they are read from the WAF once, and kept for a few minutes.
import type { Clock } from "../../async/clock.ts";
import { LruMap } from "../../async/lru-map.ts";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { CommandError } from "../describe-error.ts";
import type { Target } from "../targets/target.ts";
import type { BlockedRequests } from "./blocked-requests.ts";
import { readBlockedRequests } from "./blocked-requests.ts";

const keptMs = 5 * 60_000;
const instancesMax = 3;

export interface RequestsOptions {
  readonly target: Target;
  readonly clock: Clock;
  /** Whether the logs of every WAF may be read, or only those of WAFs with `spec.logs` enabled. */
  readonly readsAllLogs: boolean;
}

interface Kept {
  readonly requests: BlockedRequests;
  /** By the monotonic clock. */
  readonly readAtMs: number;
}

export class KeptRequests {
  readonly #options: RequestsOptions;
  readonly #stopping = new AbortController();
  #kept = new LruMap<string, Kept>(instancesMax);
  #forgetLater: () => void = () => undefined;

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  /** Undefined if the requests were not read during the last few minutes. */
  get(instance: ObjectName): BlockedRequests | undefined {
    const kept = this.#kept.get(nameKey(instance));
    return kept !== undefined && this.#options.clock.monotonicMs() - kept.readAtMs < keptMs ? kept.requests : undefined;
  }

  /** @throws CommandError if the log may not be read */
  async read(instance: ObjectName): Promise<BlockedRequests> {
    const { target, clock, readsAllLogs } = this.#options;
    const nowMs = clock.nowMs();
    const name = nameKey(instance);
    const sight = await target.look(instance, { live: false });
    if (!readsAllLogs && !sight.gathered.instance.logs.enabled) {
      throw new CommandError(
        `the log of ${name} was not read, because spec.logs.enabled is not set`,
        "To see the requests, use `wafsync ui` or `wafsync report` with your own permissions.",
      );
    }
    const redact = (text: string): string => target.redactor.redact(text);
    const called = await target.callWaf(
      sight,
      async (waf) => await readBlockedRequests(waf, redact, { nowMs, stopping: this.#stopping.signal }),
    );
    if (!called.ok) throw new CommandError(`the log of ${name} was not read: ${called.problem}`);
    this.#kept.set(name, { requests: called.value, readAtMs: clock.monotonicMs() });
    this.#forgetLater();
    this.#forgetLater = clock.schedule(keptMs, () => {
      this.#kept = new LruMap(instancesMax);
    });
    return called.value;
  }

  /** Stops a read in progress. */
  close(): void {
    this.#stopping.abort();
    this.#forgetLater();
  }
}
