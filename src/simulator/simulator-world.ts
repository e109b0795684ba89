// All that the API port and the control port share: the WAFs by key, the settings that can be changed while it runs, the
// pending faults, and the requests that were seen. Keys are kept here and leave it only to be compared.
import { FaultQueue } from "./fault-queue.ts";
import type { FaultKind } from "./fault-rule.ts";
import { LogFaults } from "./log-faults.ts";
import { SimulatedWaf } from "./simulated-waf.ts";
import type { SimulatedKey } from "./simulated-waf.ts";
import type { LogSettings } from "./simulated-logs.ts";
import type { SimulatorClock } from "./simulator-clock.ts";
import type { SpellingMode } from "./spelling.ts";

export const overlapModes = ["Refuse", "Record"] as const;
/** What becomes of a request that overlaps another one of the same key: a 500 without effect, or only a count. */
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

/** A request that arrived. The key is nowhere in it. */
export interface RequestRecord {
  readonly sequence: number;
  readonly timeMs: number;
  readonly method: string;
  /** `/api/…` without a trailing slash, `/clear` without the key, or `(unknown path)`. */
  readonly path: string;
  /** Undefined if the key was wrong or missing. */
  readonly domain: string | undefined;
  /** The known parameters but `api_key`. */
  readonly parameters: Readonly<Record<string, string>>;
  overlapping: boolean;
  fault: FaultKind | undefined;
  /** The status that was sent; undefined if none was, or not yet. */
  status: number | undefined;
}

const requestRecordsMax = 20_000;
const keysMax = 1000;
/** A shorter key is a toy, and looks like a piece of any address. */
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
  /** Requests whose key was wrong or missing. */
  unauthorized = 0;
  /** Requests to a path or with a verb that the contract does not know. */
  unknownCalls = 0;
  /** Defects of the simulator itself, or of a test's hook: none is expected. */
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

  /** The WAF that answers with this domain now, or else the one that was started with it. */
  wafOfDomain(domain: string): SimulatedWaf | undefined {
    const answering = this.wafs().filter((waf) => waf.domain === domain);
    return answering.length === 1 ? answering[0] : this.wafs().find((waf) => waf.firstDomain === domain);
  }

  /** From now on the WAF has another key, and the key until now is wrong. @returns false if the new key is taken or empty */
  replaceKey(waf: SimulatedWaf, newKey: string): boolean {
    if (newKey === "" || this.#wafs.has(newKey)) return false;
    this.#wafs = new Map([...this.#wafs].map(([key, one]) => [one === waf ? newKey : key, one]));
    return true;
  }

  /** The text without any key, plain or percent-encoded. `alsoKey` is the key that a request contained. */
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

  /** The requests that are still remembered, oldest first. */
  records(): readonly RequestRecord[] {
    return this.#records;
  }

  /** Everything as it was started: lists, keys, domains, settings, counters; no faults, no requests. */
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
  if (keys.length === 0 || keys.length > keysMax) throw new RangeError(`1 to ${keysMax} keys are needed`);
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
