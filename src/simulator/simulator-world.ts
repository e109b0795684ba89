// The state that the API port and the control port share: the WAFs by key, the settings, which can change at any time, the
// pending faults, and the recorded requests. Keys are stored only here, and used only for comparisons.
import { FaultQueue } from "./fault-queue.ts";
import type { FaultKind } from "./fault-rule.ts";
import { LogFaults } from "./log-faults.ts";
import { SimulatedWaf } from "./simulated-waf.ts";
import type { SimulatedKey } from "./simulated-waf.ts";
import type { LogSettings } from "./simulated-logs.ts";
import type { SimulatorClock } from "./simulator-clock.ts";
import type { SpellingMode } from "./spelling.ts";

export const overlapModes = ["Refuse", "Record"] as const;
/**
 * What happens to a request that overlaps another one of the same key: it fails with 500, without effect, or it is only counted.
 */
export type OverlapMode = (typeof overlapModes)[number];

export const deletionSpellings = ["Shown", "Any"] as const;
/** Which spelling of a listed network a deletion must use. */
export type DeletionSpelling = (typeof deletionSpellings)[number];

export interface SimulatorSettings {
  latencyMs: number;
  overlap: OverlapMode;
  spelling: SpellingMode;
  deletionSpelling: DeletionSpelling;
}

/** A request that arrived, without its key. */
export interface RequestRecord {
  readonly sequence: number;
  readonly timeMs: number;
  readonly method: string;
  /** `/api/…` without a trailing slash, `/clear` without the key, or `(unknown path)`. */
  readonly path: string;
  /** Undefined if the key was invalid or missing. */
  readonly domain: string | undefined;
  /** The known parameters except `api_key`. */
  readonly parameters: Readonly<Record<string, string>>;
  overlapping: boolean;
  fault: FaultKind | undefined;
  /** The status of the response; undefined if there was none, or not yet. */
  status: number | undefined;
}

const requestRecordsMax = 20_000;
const keysMax = 1000;
/** Shorter keys are not redacted: they are only for trials, and could match a part of any address. */
const redactedLengthMin = 8;

export class SimulatorWorld {
  readonly clock: SimulatorClock;
  readonly settings: SimulatorSettings;
  readonly faults = new FaultQueue();
  readonly logFaults = new LogFaults();
  readonly #firstSettings: SimulatorSettings;
  readonly #firstKeys: readonly (readonly [string, SimulatedWaf])[];
  #wafs: Map<string, SimulatedWaf>;
  #records: RequestRecord[] = [];
  #sequence = 0;
  /** Requests with an invalid or missing key. */
  unauthorized = 0;
  /** Requests with a path or method that the contract does not define. */
  unknownCalls = 0;
  /** Defects of the simulator itself, or of a test's hook. Should be empty. */
  internalErrors: string[] = [];

  constructor(
    keys: readonly SimulatedKey[],
    settings: SimulatorSettings,
    logSettings: LogSettings,
    clock: SimulatorClock,
  ) {
    this.clock = clock;
    this.settings = { ...settings };
    this.#firstSettings = { ...settings };
    this.#firstKeys = makeWafs(keys, logSettings);
    this.#wafs = new Map(this.#firstKeys);
  }

  wafs(): SimulatedWaf[] {
    return [...this.#wafs.values()];
  }

  wafOfKey(key: string): SimulatedWaf | undefined {
    return this.#wafs.get(key);
  }

  /** The WAF that has this domain now, or else the WAF that had it initially. */
  wafOfDomain(domain: string): SimulatedWaf | undefined {
    const answering = this.wafs().filter((waf) => waf.domain === domain);
    return answering.length === 1 ? answering[0] : this.wafs().find((waf) => waf.firstDomain === domain);
  }

  /** Replaces the key of the WAF: the former key becomes invalid. @returns false if the new key is empty or already in use */
  replaceKey(waf: SimulatedWaf, newKey: string): boolean {
    if (newKey === "" || this.#wafs.has(newKey)) return false;
    this.#wafs = new Map([...this.#wafs].map(([key, one]) => [one === waf ? newKey : key, one]));
    return true;
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

  /** The recorded requests, oldest first. */
  records(): readonly RequestRecord[] {
    return this.#records;
  }

  /** Restores the initial lists, keys, domains, settings and counters, without faults and requests. */
  reset(): void {
    this.#wafs = new Map(this.#firstKeys);
    for (const waf of this.wafs()) waf.reset();
    Object.assign(this.settings, this.#firstSettings);
    this.faults.clear();
    this.logFaults.set(undefined);
    this.#records = [];
    this.#sequence = 0;
    this.unauthorized = 0;
    this.unknownCalls = 0;
    this.internalErrors = [];
  }
}

function makeWafs(keys: readonly SimulatedKey[], logSettings: LogSettings): (readonly [string, SimulatedWaf])[] {
  if (keys.length === 0 || keys.length > keysMax) throw new RangeError(`the simulator needs 1 to ${keysMax} API keys`);
  const wafs = keys.map((options, index) => {
    if (options.key === "") throw new RangeError("an API key of the simulator is empty");
    const domain = options.domain ?? `waf-${index + 1}.example.test`;
    const settings = { ...logSettings, seed: logSettings.seed + index };
    return [options.key, new SimulatedWaf(options, domain, settings)] as const;
  });
  if (new Set(wafs.map(([key]) => key)).size < wafs.length) throw new RangeError("an API key is given twice");
  if (new Set(wafs.map(([, waf]) => waf.domain)).size < wafs.length) throw new RangeError("a domain is given twice");
  return wafs;
}
