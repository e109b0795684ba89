// `node scripts/measure-operator.ts`: measures the start, the memory and the API requests of the bundled operator (run
// `npm run build` first), with one WAF and with many. `--size 200x5x10` sets the number of instances, of rules per instance and of
// addresses per rule. `--soak 1800` instead measures the memory for 1,800 seconds, with a resync every second.
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { tableLines } from "../src/cli/terminal.ts";
import { startFleet } from "../test/support/fleet/fleet.ts";
import type { FleetSize } from "../test/support/fleet/fleet.ts";
import { allReady, measureOperator } from "../test/support/fleet/measure.ts";
import type { MeasureOptions, OperatorFigures } from "../test/support/fleet/measure.ts";
import { startMeasured } from "../test/support/fleet/measured-operator.ts";
import type { Memory } from "../test/support/fleet/measured-operator.ts";

interface SoakResult {
  readonly samples: readonly { readonly atMs: number; readonly memory: Memory }[];
  readonly reconciles: number;
  /** The difference between the medians of the second and the first half, in bytes. */
  readonly growth: number;
}

const samplesCount = 60;
/** The time until caches are filled and the code is compiled. */
const warmUpMs = 20_000;

/** Returns undefined if no control plane is available. */
async function soakOperator(
  options: MeasureOptions & { readonly durationMs: number },
): Promise<SoakResult | undefined> {
  const { latencyMs = 5, report = () => undefined, durationMs } = options;
  await using fleet = await startFleet({ ...options, latencyMs, resyncInterval: "1s" });
  if (fleet === undefined) return undefined;
  await using operator = await startMeasured({ ...options, kubeconfig: fleet.kubeconfig });
  await allReady(fleet, options, operator);
  await sleep(warmUpMs);
  report(`soaking for ${durationMs / 1000} s`);
  const runs = async (): Promise<number> =>
    await operator.metric(String.raw`wafsync_reconcile_total\{controller="instances",result="success"\}`);
  const before = await runs();
  const samples: SoakResult["samples"][number][] = [];
  for (let index = 1; index <= samplesCount; index += 1) {
    await sleep(durationMs / samplesCount);
    samples.push({ atMs: (index * durationMs) / samplesCount, memory: await operator.memory() });
  }
  const half = samplesCount / 2;
  const growth = medianOf(samples.slice(half)) - medianOf(samples.slice(0, half));
  return { samples, reconciles: (await runs()) - before, growth };
}

function medianOf(samples: SoakResult["samples"]): number {
  const sizes = samples.map(({ memory }) => memory.now).toSorted((a, b) => a - b);
  return sizes[Math.floor(sizes.length / 2)] ?? 0;
}

const sizesDefault = ["1x1x1", "200x5x10", "1000x10x5"];
const soakSizeDefault = "20x5x10";

const { values } = parseArgs({
  options: {
    size: { type: "string", multiple: true },
    starts: { type: "string", default: "5" },
    soak: { type: "string" },
    node: { type: "string", multiple: true, default: [] },
    program: { type: "string" },
  },
});
const given = {
  nodeParameters: values.node,
  ...(values.program === undefined ? {} : { program: values.program }),
  report: (line: string) => void process.stderr.write(`${line}\n`),
};

function sizeOf(text: string): FleetSize {
  const [instances = 1, rules = 1, addresses = 1] = text.split("x").map(Number);
  return { instances, rules, addresses };
}

function nameOf({ instances, rules, addresses }: FleetSize): string {
  return `${instances} × ${rules} × ${addresses}`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}

function rowOf({ size, ...figures }: OperatorFigures): string[] {
  const { memorySynced, memoryIdle, statusWritesMax } = figures;
  return [
    nameOf(size),
    `${figures.readyMs.toFixed(0)} ms`,
    `${(figures.syncedMs / 1000).toFixed(1)} s`,
    `${figures.cpuSeconds.toFixed(1)} s`,
    `${megabytes(memorySynced.now)} MB`,
    `${megabytes(memorySynced.peak)} MB`,
    `${megabytes(memoryIdle.now)} MB`,
    `${statusWritesMax.instance}`,
    `${statusWritesMax.rule}`,
  ];
}

async function measureAll(): Promise<void> {
  const all: OperatorFigures[] = [];
  for (const size of values.size ?? sizesDefault) {
    const figures = await measureOperator({ ...given, ...sizeOf(size), starts: Number(values.starts) });
    if (figures === undefined) return console.log("skipped: no control plane is available");
    all.push(figures);
  }
  const header = ["SIZE", "READYZ", "ALL READY", "CPU", "MEMORY", "PEAK", "IDLE", "WRITES/INSTANCE", "WRITES/RULE"];
  console.log(tableLines(header, all.map(rowOf)).join("\n"));
  for (const { size, requests } of all) {
    console.log(`\nRequests to the API server until everything was Ready: ${nameOf(size)}`);
    const rows = [...requests].sort(([, a], [, b]) => b - a).map(([kind, count]) => [kind, String(count)]);
    console.log(tableLines(["REQUEST", "COUNT"], rows).join("\n"));
  }
}

async function soak(seconds: number): Promise<void> {
  const size = sizeOf(values.size?.[0] ?? soakSizeDefault);
  const result = await soakOperator({ ...given, ...size, durationMs: seconds * 1000 });
  if (result === undefined) return console.log("skipped: no control plane is available");
  const rows = result.samples.map(({ atMs, memory }) => [
    `${(atMs / 1000).toFixed(0)} s`,
    `${megabytes(memory.now)} MB`,
    `${megabytes(memory.anonymous)} MB`,
  ]);
  console.log(tableLines(["AFTER", "MEMORY", "HEAPS AND STACKS"], rows).join("\n"));
  console.log(
    `${result.reconciles} reconcile runs; the second half used ${megabytes(result.growth)} MB more than the first`,
  );
}

await (values.soak === undefined ? measureAll() : soak(Number(values.soak)));
