// Runs the simulator in a separate process, so that it does not share a thread with the measured program.
import { spawn } from "node:child_process";
import { join } from "node:path";

export const bundle = join(import.meta.dirname, "../dist/wafsync.mjs");

export interface ServerProcess extends AsyncDisposable {
  readonly baseUrl: string;
  /** Empties the lists. */
  reset(): Promise<void>;
}

/** Each key belongs to a separate WAF. */
export async function startServer(key: string | readonly string[], latencyMs: number): Promise<ServerProcess> {
  const keys = (typeof key === "string" ? [key] : key).flatMap((each, index) => [
    "--key",
    `${each}=${index === 0 ? "" : `${index}.`}bench.example`,
  ]);
  const parameters = ["simulator", "--port", "0", "--control-port", "0", ...keys];
  const child = spawn(process.execPath, [bundle, ...parameters, "--latency", String(latencyMs)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const printed = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.once("error", reject);
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (/Control\s+http\S+/.test(text)) resolve(text);
    });
  });
  const urlOf = (name: string): string => new RegExp(`${name}\\s+(http\\S+)`).exec(printed)?.[1] ?? "";
  return {
    baseUrl: urlOf("WAF API"),
    reset: async () => {
      await fetch(`${urlOf("Control")}/reset`, { method: "POST" });
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => child.once("close", resolve));
      child.kill("SIGTERM");
      await closed;
    },
  };
}
