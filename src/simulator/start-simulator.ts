// Starts and stops the simulator: the WAF API on one port and its control port on another, on the same host and in one process.
// It writes nothing to disk and prints nothing. It imports nothing from the rest of the program, so that it can't share a
// misinterpretation of the contract with the client.
import { once } from "node:events";
import type { Server } from "node:http";
import { createApiServer } from "./api-server.ts";
import type { RequestHook } from "./api-server.ts";
import { createControlServer } from "./control-server.ts";
import { faultRulesMax } from "./fault-queue.ts";
import type { FaultRule } from "./fault-rule.ts";
import type { LogFaultPlan } from "./log-faults.ts";
import type { LogScenario } from "./log-entries.ts";
import { logRowsPerDayMax } from "./simulated-logs.ts";
import type { SimulatedKey, SimulatedWaf } from "./simulated-waf.ts";
import { wallClock } from "./simulator-clock.ts";
import type { SimulatorClock } from "./simulator-clock.ts";
import { SimulatorWorld } from "./simulator-world.ts";
import type { DeletionSpelling, OverlapMode, RequestRecord, SimulatorSettings } from "./simulator-world.ts";
import type { SpellingMode } from "./spelling.ts";
import { WafView } from "./waf-view.ts";

export interface SimulatorOptions {
  readonly keys: readonly SimulatedKey[];
  /** 0, the default, takes a free port. */
  readonly port?: number | undefined;
  readonly controlPort?: number | undefined;
  /** `127.0.0.1` by default. */
  readonly host?: string | undefined;
  /** The prefix of every API path, for example `/v1`; empty by default. */
  readonly basePath?: string | undefined;
  /** The delay of each request before it takes effect; 0 by default. */
  readonly latencyMs?: number | undefined;
  /** `Refuse` by default. */
  readonly overlap?: OverlapMode | undefined;
  /** `AsGiven` by default. */
  readonly spelling?: SpellingMode | undefined;
  /** `Shown` by default: a deletion must use the spelling that the list shows. */
  readonly deletionSpelling?: DeletionSpelling | undefined;
  /** Log rows per day; none by default, at most one million. */
  readonly logRowsPerDay?: number | undefined;
  /** The scenario of the logs; `Uniform` by default. */
  readonly logScenario?: LogScenario | undefined;
  /** How late a row can become visible; ten minutes by default. */
  readonly logLateMsMax?: number | undefined;
  /** Whether the last page of logs is empty; false by default. */
  readonly logEmptyLastPage?: boolean | undefined;
  /** The seed of the generated logs; 1 by default. */
  readonly seed?: number | undefined;
  readonly clock?: SimulatorClock | undefined;
  readonly onRequest?: RequestHook | undefined;
}

/** A running simulator, as seen from its own process. */
export class Simulator {
  readonly #world: SimulatorWorld;
  readonly #stop: () => Promise<void>;
  /** The base URL for a WafInstance, without a trailing slash. */
  readonly baseUrl: string;
  readonly controlUrl: string;

  constructor(world: SimulatorWorld, baseUrl: string, controlUrl: string, stop: () => Promise<void>) {
    this.#world = world;
    this.#stop = stop;
    this.baseUrl = baseUrl;
    this.controlUrl = controlUrl;
  }

  /** Can be changed at any time. */
  get settings(): SimulatorSettings {
    return this.#world.settings;
  }

  /** The WAF of a key. @throws RangeError if no WAF has this key */
  waf(key: string): WafView {
    return new WafView(this.#wafOf(key), this.#world);
  }

  wafs(): WafView[] {
    return this.#world.wafs().map((waf) => new WafView(waf, this.#world));
  }

  /** Adds faults to the end of the queue. @throws RangeError if too many are pending */
  addFaults(...rules: readonly FaultRule[]): void {
    if (!rules.every((rule) => this.#world.faults.push(rule)))
      throw new RangeError(`more than ${faultRulesMax} faults`);
  }

  clearFaults(): void {
    this.#world.faults.clear();
  }

  /** Makes pages of logs fail from now on; undefined ends these faults. */
  setLogFaults(plan: LogFaultPlan | undefined): void {
    this.#world.logFaults.set(plan);
  }

  /** How many pages of logs were requested, and how many failed, since then. */
  logFaults(): { readonly calls: number; readonly faults: number } {
    return { calls: this.#world.logFaults.calls, faults: this.#world.logFaults.count };
  }

  /** Replaces the key of a WAF. @throws RangeError if the new key is empty or already in use */
  replaceKey(key: string, newKey: string): void {
    if (!this.#world.replaceKey(this.#wafOf(key), newKey))
      throw new RangeError("the new key is empty or already in use");
  }

  /** The recorded requests with any key or none, oldest first. */
  requests(): readonly RequestRecord[] {
    return this.#world.records();
  }

  /** Requests with an invalid or missing key. */
  unauthorized(): number {
    return this.#world.unauthorized;
  }

  /** Requests with a path or method that the contract does not define. */
  unknownCalls(): number {
    return this.#world.unknownCalls;
  }

  /** Defects of the simulator or of a hook. Should be empty. */
  internalErrors(): readonly string[] {
    return this.#world.internalErrors;
  }

  /** Restores the initial state. */
  reset(): void {
    this.#world.reset();
  }

  /** Closes both ports and all open connections. */
  async close(): Promise<void> {
    await this.#stop();
  }

  #wafOf(key: string): SimulatedWaf {
    const waf = this.#world.wafOfKey(key);
    if (waf === undefined) throw new RangeError("no WAF of the simulator has this key");
    return waf;
  }
}

const tenMinutesMs = 600_000;

/**
 * Resolves when both ports accept connections. Rejects if a port is in use, with the code of `listen`, or if an option is out of
 * range.
 */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const world = makeWorld(options);
  const closing = new AbortController();
  const host = options.host ?? "127.0.0.1";
  const basePath = (options.basePath ?? "").replace(/\/+$/u, "");
  const api = createApiServer({ world, basePath, onRequest: options.onRequest, signal: closing.signal });
  const control = createControlServer(world);
  const apiPort = await listen(api, options.port ?? 0, host);
  const controlPort = await listen(control, options.controlPort ?? 0, host).catch(async (error: unknown) => {
    await stopServer(api);
    throw error;
  });
  return new Simulator(world, urlOf(host, apiPort) + basePath, urlOf(host, controlPort), async () => {
    closing.abort();
    await Promise.all([stopServer(api), stopServer(control)]);
  });
}

/** The lines to print at the start: addresses and domains, but no keys. */
export function describeSimulator(simulator: Simulator): string[] {
  const { latencyMs, spelling, overlap } = simulator.settings;
  return [
    `WAF API   ${simulator.baseUrl}`,
    `Control   ${simulator.controlUrl}`,
    ...simulator.wafs().map((waf) => `WAF       ${waf.domain} (primary origin ${waf.primaryOrigin})`),
    `Settings  latency ${latencyMs} ms, spelling ${spelling}, overlapping requests: ${overlap}`,
  ];
}

function makeWorld(options: SimulatorOptions): SimulatorWorld {
  const rowsPerDay = options.logRowsPerDay ?? 0;
  if (!Number.isSafeInteger(rowsPerDay) || rowsPerDay < 0 || rowsPerDay > logRowsPerDayMax) {
    throw new RangeError(`the log rows per day must be from 0 to ${logRowsPerDayMax}`);
  }
  return new SimulatorWorld(
    options.keys,
    {
      latencyMs: options.latencyMs ?? 0,
      overlap: options.overlap ?? "Refuse",
      spelling: options.spelling ?? "AsGiven",
      deletionSpelling: options.deletionSpelling ?? "Shown",
    },
    {
      seed: options.seed ?? 1,
      rowsPerDay,
      lateMsMax: options.logLateMsMax ?? tenMinutesMs,
      emptyLastPage: options.logEmptyLastPage ?? false,
      scenario: options.logScenario ?? "Uniform",
    },
    options.clock ?? wallClock,
  );
}

async function listen(server: Server, port: number, host: string): Promise<number> {
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("a TCP port was expected");
  return address.port;
}

async function stopServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
