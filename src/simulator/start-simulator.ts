// Starts and stops the simulator: the WAF API on one port and its control port on another, on the same host and in one process.
// It writes nothing to disk and prints nothing. It imports nothing from the rest of the program, so that it can't share a
// misinterpretation of the contract with the client.
import { once } from "node:events";
import type { Server } from "node:http";
import { createApiServer } from "./api-server.ts";
import type { RequestHook } from "./api-server.ts";
import { createControlServer } from "./control-server.ts";
import type { LogScenario } from "./log-entries.ts";
import type { SpellingMode } from "./network.ts";
import { logRowsPerDayMax } from "./simulated-logs.ts";
import type { SimulatedKey } from "./simulated-waf.ts";
import { type OverlapMode, type SimulatorClock, SimulatorWorld } from "./simulator-world.ts";

export interface SimulatorOptions {
  readonly keys: readonly SimulatedKey[];
  /** 0, the default, takes a free port. */
  readonly port?: number | undefined;
  readonly controlPort?: number | undefined;
  /** `127.0.0.1` by default. */
  readonly host?: string | undefined;
  /** The delay of each request before it takes effect; 0 by default. */
  readonly latencyMs?: number | undefined;
  /** `Refuse` by default. */
  readonly overlap?: OverlapMode | undefined;
  /** `AsGiven` by default. */
  readonly spelling?: SpellingMode | undefined;
  /** Log rows per day; none by default, at most one million. */
  readonly logRowsPerDay?: number | undefined;
  /** The scenario of the logs; `Uniform` by default. */
  readonly logScenario?: LogScenario | undefined;
  /** How late a row can become visible; ten minutes by default. */
  readonly logLateMsMax?: number | undefined;
  /** The seed of the generated logs; 1 by default. */
  readonly seed?: number | undefined;
  readonly clock?: SimulatorClock | undefined;
  readonly onRequest?: RequestHook | undefined;
}

/** A running simulator. */
export interface Simulator extends SimulatorWorld {
  /** The base URL for a WafInstance, without a trailing slash. */
  readonly baseUrl: string;
  readonly controlUrl: string;
  /** Closes both ports and all open connections. */
  close(): Promise<void>;
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
  const api = createApiServer({ world, onRequest: options.onRequest, signal: closing.signal });
  const control = createControlServer(world);
  const apiPort = await listen(api, options.port ?? 0, host);
  const controlPort = await listen(control, options.controlPort ?? 0, host).catch(async (error: unknown) => {
    await stopServer(api);
    throw error;
  });
  return Object.assign(world, {
    baseUrl: urlOf(host, apiPort),
    controlUrl: urlOf(host, controlPort),
    close: async () => {
      closing.abort();
      await Promise.all([stopServer(api), stopServer(control)]);
    },
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
    },
    {
      seed: options.seed ?? 1,
      rowsPerDay,
      lateMsMax: options.logLateMsMax ?? tenMinutesMs,
      scenario: options.logScenario ?? "Uniform",
    },
    options.clock,
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
