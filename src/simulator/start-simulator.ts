// Starts and stops the simulator: the WAF API on one port and its control port on another, on the same host and in one process.
// It writes nothing to disk and prints nothing. It imports nothing from the rest of the program, so that it can't share a
// misinterpretation of the contract with the client.
import { once } from "node:events";
import type { Server } from "node:http";
import { createApiServer } from "./api-server.ts";
import type { RequestHook } from "./api-server.ts";
import { createControlServer } from "./control-server.ts";
import { SimulatorWorld, type WorldOptions } from "./simulator-world.ts";

export interface SimulatorOptions extends WorldOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number | undefined;
  readonly controlPort?: number | undefined;
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

const host = "127.0.0.1";

/**
 * Resolves when both ports accept connections. Rejects if a port is in use, with the code of `listen`, or if an option is out of
 * range.
 */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const world = new SimulatorWorld(options);
  const closing = new AbortController();
  const api = createApiServer({ world, onRequest: options.onRequest, signal: closing.signal });
  const control = createControlServer(world);
  const apiPort = await listen(api, options.port);
  const controlPort = await listen(control, options.controlPort).catch(async (error: unknown) => {
    await stopServer(api);
    throw error;
  });
  return Object.assign(world, {
    baseUrl: `http://${host}:${apiPort}`,
    controlUrl: `http://${host}:${controlPort}`,
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
    ...simulator.wafs().map((waf) => `WAF       ${waf.domain} (primary origin ${waf.originHosts.primary})`),
    `Settings  latency ${latencyMs} ms, spelling ${spelling}, overlapping requests: ${overlap}`,
  ];
}

async function listen(server: Server, port = 0): Promise<number> {
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
