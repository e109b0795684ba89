// `wafsync operator` as a separate process that can receive real signals. Its output is recorded: see everythingPrinted.
import { request } from "undici";
import { realClock } from "../../../src/async/clock.ts";
import { type FinishedProcess, type ProcessOptions, type RunningProcess, startWafsync } from "./wafsync-process.ts";

export interface OperatorProcess {
  readonly process: RunningProcess;
  /** The lines of its log, parsed. */
  log(): Readonly<Record<string, unknown>>[];
  /** The HTTP status and the text of a path on the health port. */
  health(path: "/healthz" | "/readyz"): Promise<{ readonly status: number; readonly text: string }>;
  metrics(): Promise<string>;
  /** The value of a metric series; undefined if it does not exist. */
  metric(series: string): Promise<number | undefined>;
  isRunning(): boolean;
  /** Sends the signal and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<FinishedProcess>;
}

/** The options of the process can name a different program than the sources, such as a bundle. */
export interface OperatorStart extends ProcessOptions {
  readonly kubeconfig: string;
  readonly parameters?: readonly string[];
  readonly podName?: string;
}

/** Only for requests or processes that hang. */
const endTimeoutMs = 300_000;

/** All servers of an operator on free ports of the loopback interface. */
export const freePorts: readonly string[] = "--host 127.0.0.1 --health-port 0 --metrics-port 0".split(" ");

/** Resolves when the health port responds, before its caches are synced. */
export async function startOperator(start: OperatorStart): Promise<OperatorProcess> {
  const { kubeconfig, parameters = [], podName = "wafsync-0", ...options } = start;
  const own = ["--kubeconfig", kubeconfig, "--allow-insecure-http", "--allow-private-networks", "--log-level", "debug"];
  const process_ = startWafsync(["operator", ...own, ...freePorts, ...parameters], {
    ...options,
    environment: { POD_NAME: podName, ...options.environment },
  });
  const { child, ended } = process_;
  const killWithParent = (): void => void child.kill("SIGKILL");
  process.once("exit", killWithParent);
  let running = true;
  void ended.finally(() => {
    running = false;
    process.removeListener("exit", killWithParent);
  });
  await process_.hasPrinted(/"msg":"started".*\n/);
  const log = (): Readonly<Record<string, unknown>>[] =>
    process_
      .printed()
      .split("\n")
      .filter((line) => line.startsWith("{") && line.endsWith("}"))
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const started = log().find(({ msg }) => msg === "started");
  const get = async (port: unknown, path: string) => {
    const { statusCode, body } = await request(`http://127.0.0.1:${String(port)}${path}`, { reset: true });
    return { status: statusCode, text: await body.text() };
  };
  const metrics = async (): Promise<string> => (await get(started?.["metricsPort"], "/metrics")).text;
  return {
    process: process_,
    log,
    health: async (path) => await get(started?.["healthPort"], path),
    metrics,
    metric: async (series) => {
      const wanted = labelsInOrder(series);
      const lines = (await metrics()).split("\n").map((line) => ({ at: line.lastIndexOf(" "), line }));
      const found = lines.find(({ at, line }) => at > 0 && labelsInOrder(line.slice(0, at)) === wanted);
      return found === undefined ? undefined : Number(found.line.slice(found.at + 1));
    },
    isRunning: () => running,
    end: async (signal = "SIGTERM") => {
      if (running) child.kill(signal);
      const patience = new AbortController();
      void realClock.sleep(endTimeoutMs, patience.signal).then(() => {
        if (!patience.signal.aborted) child.kill("SIGKILL");
      });
      return await ended.finally(() => patience.abort());
    },
  };
}

/** The labels of a series have no order. */
function labelsInOrder(series: string): string {
  const [name = "", labels = ""] = series.split("{");
  return [name, ...(labels.match(/\w+="[^"]*"/g) ?? []).sort()].join(" ");
}
