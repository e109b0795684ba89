// `wafsync simulator`: serves the WAF API from memory until a signal.
import { once } from "node:events";
import { describeSimulator, startSimulator } from "../simulator/start-simulator.ts";
import type { SimulatorOptions } from "./commands/process-commands.ts";
import { CommandError } from "./describe-error.ts";
import { withSession } from "./session.ts";

const demoKey = "demo-key-0123456789";
const demoDomain = "www.example.com";

/** @returns 0 if it was stopped by a signal. */
export async function runSimulator(options: SimulatorOptions): Promise<number> {
  const given = options.key ?? [`${demoKey}=${demoDomain}`];
  const keys = given.map((text) => {
    const at = text.indexOf("=");
    return at === -1 ? { key: text } : { key: text.slice(0, at), domain: text.slice(at + 1) };
  });
  const simulator = await startSimulator({
    port: options.port,
    controlPort: options.controlPort,
    keys,
    latencyMs: options.latency,
    logRowsPerDay: options.logRows,
  }).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    // A free port can't be in use.
    const ports = [options.port, options.controlPort].filter((port) => port !== 0);
    if (code === "EADDRINUSE")
      throw new CommandError(
        `${ports.map((port) => `port ${port}`).join(" or ")} is in use`,
        "Choose other ports with --port and --control-port; 0 takes a free one.",
      );
    throw new CommandError(message);
  });
  return await withSession(async ({ out, stopping }) => {
    // Before anything is printed: a process that waits for the first line may stop the simulator immediately.
    const { stop } = stopping();
    for (const line of describeSimulator(simulator)) out.line(line);
    if (options.key === undefined) out.line(`API key   ${demoKey} (give your own with --key KEY=DOMAIN)`);
    if (!stop.aborted) await once(stop, "abort");
    await simulator.close();
    return 0;
  });
}
