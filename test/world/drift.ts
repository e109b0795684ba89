// An hour without a change, in a minute: what the suites of Argo CD and Flux compare before and after many resyncs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Simulator } from "../../src/simulator/start-simulator.ts";
import { waitFor } from "../support/builders/cluster-objects.ts";
import type { ClusterAccess } from "../support/control-plane/cluster-access.ts";
import { apiKey } from "./steps.ts";

const stepMs = 240_000;
/** At the default `spec.resyncInterval` of five minutes. */
const resyncsOfAnHour = 12;
/** The interval in the tests: so the hour takes as long as a minute or less. */
export const shortResync = "3s";
const readBlocklist = "GET /api/blocklist_ips";

/** Calls of the WAF's API since the simulator started. */
function callsOf(waf: Simulator): { readonly reads: number; readonly writes: number } {
  const { byEndpoint } = waf.waf(apiKey).counters;
  const all = Object.entries(byEndpoint);
  const sum = (calls: readonly (readonly [string, number])[]): number => calls.reduce((total, [, n]) => total + n, 0);
  return {
    reads: byEndpoint[readBlocklist] ?? 0,
    writes: sum(all.filter(([endpoint]) => !endpoint.startsWith("GET /api/"))),
  };
}

/** `KIND/NAME GENERATION` of what is declared: a write to a `spec` raises the generation. */
async function generationsOf(cluster: ClusterAccess, namespace: string): Promise<string> {
  const format = '{range .items[*]}{.kind}/{.metadata.name} {.metadata.generation}{"\\n"}{end}';
  const kinds = "wafinstances,wafiprules,waforigins";
  return await cluster.expectKubectl(["get", kinds, "-n", namespace, "-o", `jsonpath=${format}`]);
}

/** What changed while an hour of resyncs passed; all of it has to be empty or zero. */
export interface Drift {
  /** Calls that write to the WAF. */
  readonly writes: number;
  readonly generations: { readonly before: string; readonly after: string };
}

/** Runs `act`, and waits until the operator has read the WAF as often as in an hour. */
export async function driftDuringAnHour(
  cluster: ClusterAccess,
  waf: Simulator,
  namespace: string,
  act: () => Promise<void>,
): Promise<Drift> {
  const calls = callsOf(waf);
  const before = await generationsOf(cluster, namespace);
  const resyncs = waitFor("an hour of resyncs", stepMs, async () =>
    callsOf(waf).reads - calls.reads >= resyncsOfAnHour ? true : undefined,
  );
  await Promise.all([act(), resyncs]);
  const after = await generationsOf(cluster, namespace);
  return { writes: callsOf(waf).writes - calls.writes, generations: { before, after } };
}

export interface Follower {
  /** Ends the watch; gives each line that was printed, once and in alphabetical order. */
  end(): Promise<string[]>;
}

/** Watches one object, or all of a namespace, with `kubectl get --watch`, so that no state between two looks is missed. */
export async function followObjects(
  cluster: ClusterAccess,
  args: readonly string[],
  format: string,
): Promise<Follower> {
  const { file, leadingArguments } = cluster.kubectl;
  const watch = ["get", ...args, "--watch", "--output", `jsonpath=${format}{"\\n"}`];
  const kubeconfig = ["--kubeconfig", cluster.kubeconfig];
  const child = spawn(file, [...leadingArguments, ...kubeconfig, ...watch], { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const ended = once(child, "close").then(() => {
    throw new Error(`kubectl ${watch.join(" ")} ended`);
  });
  await Promise.race([once(child.stdout, "data"), ended]);
  ended.catch(() => undefined);
  return {
    async end() {
      const closed = once(child, "close");
      child.kill("SIGTERM");
      await closed;
      return [...new Set(printed.split("\n").filter((line) => line !== ""))].toSorted();
    },
  };
}
