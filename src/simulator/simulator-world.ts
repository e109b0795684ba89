// The state that the API port, the control port and tests share: the WAFs by key, the settings, which can change at any time, the
// pending faults, and the recorded requests. Keys are stored only here, and used only for comparisons.
import { setTimeout as sleepFor } from "node:timers/promises";
import { FaultQueue, type FaultRule } from "./fault-rule.ts";
import { type RequestRecord, type SimulatedKey, SimulatedWaf } from "./simulated-waf.ts";
import { logRowsPerDayMax } from "./simulated-logs.ts";
import type { SpellingMode } from "./network.ts";

/** The simulator imports nothing from the rest of the program, so it has its own clock, which test clocks also implement. */
export interface SimulatorClock {
  /** Milliseconds since 1970. */
  nowMs(): number;
  /** Resolves after the delay, or as soon as the signal aborts. Never rejects. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

const wallClock: SimulatorClock = {
  nowMs: () => Date.now(),
  async sleep(delayMs, signal) {
    await sleepFor(delayMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  },
};

export const overlapModes = ["Refuse", "Record"] as const;
/**
 * What happens to a request that overlaps another one of the same key: it fails with 500, without effect, or it is only counted.
 */
export type OverlapMode = (typeof overlapModes)[number];

export interface SimulatorSettings {
  latencyMs: number;
  overlap: OverlapMode;
  spelling: SpellingMode;
}

const requestRecordsMax = 20_000;
/** Shorter keys are not redacted: they are only for trials, and could match a part of any address. */
const redactedLengthMin = 8;
const tenMinutesMs = 600_000;

export interface WorldOptions {
  readonly keys: readonly SimulatedKey[];
  /** The delay of each request before it takes effect; 0 by default. */
  readonly latencyMs?: number | undefined;
  /** `Refuse` by default. */
  readonly overlap?: OverlapMode | undefined;
  /** `AsGiven` by default. */
  readonly spelling?: SpellingMode | undefined;
  /** Log rows per day; none by default, at most one million. */
  readonly logRowsPerDay?: number | undefined;
  /** How late a row can become visible; ten minutes by default. */
  readonly logLateMsMax?: number | undefined;
  /** The seed of the generated logs; 1 by default. */
  readonly seed?: number | undefined;
  readonly clock?: SimulatorClock | undefined;
}

export class SimulatorWorld {
  readonly clock: SimulatorClock;
  readonly settings: SimulatorSettings;
  readonly faults = new FaultQueue();
  readonly #options: WorldOptions;
  #wafs: Map<string, SimulatedWaf>;
  #records: RequestRecord[] = [];
  #sequence = 0;
  /** Requests with an invalid or missing key. */
  unauthorized = 0;
  /** Requests with a path or method that the contract does not define. */
  unknownCalls = 0;
  /** Defects of the simulator itself, or of a test's hook. Should be empty. */
  internalErrors: string[] = [];

  /** @throws RangeError if an option is out of range */
  constructor(options: WorldOptions) {
    this.#options = options;
    this.clock = options.clock ?? wallClock;
    this.settings = settingsOf(options);
    this.#wafs = new Map(makeWafs(options, this));
  }

  wafs(): SimulatedWaf[] {
    return [...this.#wafs.values()];
  }

  wafOfKey(key: string): SimulatedWaf | undefined {
    return this.#wafs.get(key);
  }

  /** The WAF of a key. @throws RangeError if no WAF has this key */
  waf(key: string): SimulatedWaf {
    const waf = this.wafOfKey(key);
    if (waf === undefined) throw new RangeError("no WAF of the simulator has this key");
    return waf;
  }

  /** Replaces the key of a WAF: the former key becomes invalid. @throws RangeError if the new key is empty or already in use */
  replaceKey(of: string | SimulatedWaf, newKey: string): void {
    const waf = typeof of === "string" ? this.waf(of) : of;
    if (newKey === "" || this.#wafs.has(newKey)) throw new RangeError("the new key is empty or already in use");
    this.#wafs = new Map([...this.#wafs].map(([key, one]) => [one === waf ? newKey : key, one]));
  }

  /** Adds faults to the end of the queue. */
  addFaults(...rules: readonly FaultRule[]): void {
    this.faults.push(rules);
  }

  /** The text with every key redacted, plain or percent-encoded. `alsoKey` is the key in a request. */
  redact(text: string, alsoKey?: string): string {
    return [...this.#wafs.keys(), alsoKey ?? ""]
      .filter((key) => key.length >= redactedLengthMin)
      .flatMap((key) => [key, encodeURIComponent(key)])
      .reduce((redacted, key) => redacted.replaceAll(key, "[key]"), text);
  }

  record(request: Omit<RequestRecord, "sequence" | "timeMs" | "overlapping" | "fault" | "status">): RequestRecord {
    this.#sequence += 1;
    const record: RequestRecord = {
      ...request,
      sequence: this.#sequence,
      timeMs: this.clock.nowMs(),
      overlapping: false,
      fault: undefined,
      status: undefined,
    };
    this.#records.push(record);
    if (this.#records.length > requestRecordsMax) this.#records = this.#records.slice(requestRecordsMax / 10);
    return record;
  }

  /** The recorded requests with any key or none, oldest first. */
  requests(): readonly RequestRecord[] {
    return this.#records;
  }

  /** Restores the initial lists, keys, domains, settings and counters, without faults and requests. */
  reset(): void {
    Object.assign(this.settings, settingsOf(this.#options));
    this.#wafs = new Map(makeWafs(this.#options, this));
    this.faults.clear();
    this.#records = [];
    this.#sequence = 0;
    this.unauthorized = 0;
    this.unknownCalls = 0;
    this.internalErrors = [];
  }
}

function settingsOf({ latencyMs = 0, overlap = "Refuse", spelling = "AsGiven" }: WorldOptions): SimulatorSettings {
  return { latencyMs, overlap, spelling };
}

function makeWafs(options: WorldOptions, world: SimulatorWorld): (readonly [string, SimulatedWaf])[] {
  const { keys, seed = 1, logRowsPerDay: rowsPerDay = 0, logLateMsMax: lateMsMax = tenMinutesMs } = options;
  if (!Number.isSafeInteger(rowsPerDay) || rowsPerDay < 0 || rowsPerDay > logRowsPerDayMax) {
    throw new RangeError(`the log rows per day must be from 0 to ${logRowsPerDayMax}`);
  }
  if (keys.length === 0) throw new RangeError("the simulator needs an API key");
  const wafs = keys.map((given, index) => {
    if (given.key === "") throw new RangeError("an API key of the simulator is empty");
    const domain = given.domain ?? `waf-${index + 1}.example.test`;
    const logs = { seed: seed + index, rowsPerDay, lateMsMax };
    return [given.key, new SimulatedWaf(given, domain, world, logs)] as const;
  });
  if (new Set(wafs.map(([key]) => key)).size < wafs.length) throw new RangeError("an API key is given twice");
  if (new Set(wafs.map(([, waf]) => waf.domain)).size < wafs.length) throw new RangeError("a domain is given twice");
  return wafs;
}
