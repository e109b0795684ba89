// Compares wafsync with other programs on the same machine: common methods to add and check the same entries, and the plans of
// external-dns, which also compares declared with existing records.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { addresses } from "../test/support/builders/declare.ts";
import type { Bench, BenchOutcome, BenchTable } from "./bench.ts";
import { inMilliseconds, inSeconds, median } from "./bench.ts";
import { buildGoProgram } from "./go-program.ts";
import { planCases } from "./plan-times.ts";
import { benchFolder } from "./run-apply.ts";
import type { Floor } from "./serial-floor.ts";
import { startServer } from "./server-process.ts";
import { measureCurlMs, measureRefreshLoopMs } from "./shell-loop.ts";

const run = promisify(execFile);
const key = "bench-key-0123456789";
const addsCount = 500;
const latencyMs = 5;
const loopRounds = 3;
const planCounts = [10_000, 100_000];
const planRounds = 5;

interface Way {
  readonly title: string;
  /** Adds all missing entries, and returns the milliseconds. */
  readonly add: () => Promise<number>;
  /** Runs when no entry is missing, and returns the milliseconds; undefined for a method that cannot detect this. */
  readonly check: (() => Promise<number>) | undefined;
}

async function measureLoops(report: (line: string) => void): Promise<BenchTable> {
  await using server = await startServer(key, latencyMs);
  const calls: Floor = { baseUrl: server.baseUrl, key, addresses: addresses(addsCount) };
  await using folder = await benchFolder(calls.baseUrl, key, calls.addresses);
  const refresh = async (): Promise<number> => await measureRefreshLoopMs(calls);
  const once = async (): Promise<number> => await folder.runOnceMs();
  const ways: readonly Way[] = [
    { title: "`wafsync apply`", add: once, check: once },
    { title: "a shell loop with curl", add: async () => await measureCurlMs(calls), check: undefined },
    { title: "one GET per entry, as in Terraform", add: refresh, check: refresh },
  ];
  const added = new Map<Way, number[]>(ways.map((way) => [way, []]));
  const checked = new Map<Way, number[]>(ways.map((way) => [way, []]));
  const absent = new Set<Way>();
  for (let round = 0; round < loopRounds; round += 1) {
    for (const way of ways) {
      await server.reset();
      await folder.forget();
      try {
        added.get(way)?.push(await way.add());
        if (way.check !== undefined) checked.get(way)?.push(await way.check());
      } catch (error) {
        if (!absent.has(way)) report(`${way.title}: ${Error.isError(error) ? error.message : "failed"}`);
        absent.add(way);
      }
    }
  }
  const [own] = ways;
  const cells = (times: Map<Way, number[]>, way: Way): readonly string[] => {
    const all = times.get(way) ?? [];
    const ownMs = median((own && times.get(own)) ?? []);
    return all.length === 0 ? ["", ""] : [inSeconds(median(all)), (median(all) / ownMs).toFixed(1)];
  };
  return {
    columns: ["Method", `${addsCount} new entries`, "Ratio", "No new entries", "Ratio"],
    rows: ways.map((way) => [way.title, ...cells(added, way), ...cells(checked, way)]),
  };
}

async function measureExternalDns(report: (line: string) => void): Promise<BenchTable> {
  const folder = await mkdtemp(join(tmpdir(), "wafsync-bench-go-"));
  const columns = ["Plan", "wafsync", "external-dns", "Ratio"];
  try {
    report("building external-dns' plan, which takes a minute or two the first time");
    const program = await buildGoProgram("external-dns", folder);
    const rows: (readonly string[])[] = [];
    for (const count of planCounts) {
      const coldMs = planCases.cold(count, planRounds);
      const unchangedMs = planCases.inSync(count, planRounds);
      const { stdout } = await run(program, [String(count), String(planRounds)]);
      const [theirColdMs = 0, theirUnchangedMs = 0] = stdout.trim().split(" ").map(Number);
      const row = (what: string, ownMs: number, theirMs: number): readonly string[] => [
        `${count.toLocaleString("en-US")} entries, ${what}`,
        inMilliseconds(ownMs),
        inMilliseconds(theirMs),
        (theirMs / ownMs).toFixed(1),
      ];
      rows.push(row("all new", coldMs, theirColdMs), row("nothing changed", unchangedMs, theirUnchangedMs));
    }
    return { columns, rows };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(report: (line: string) => void): Promise<BenchOutcome> {
  const loops = await measureLoops(report);
  const plans = await measureExternalDns(report).catch((error: unknown) => {
    report(`external-dns: ${Error.isError(error) ? error.message : "failed"}`);
    return undefined;
  });
  return { state: "Measured", tables: { loops, ...(plans === undefined ? {} : { plans }) } };
}

export const peersBench: Bench = {
  name: "peers",
  title:
    "wafsync compared with a shell loop, a Terraform-like loop and external-dns' plan (other time / wafsync's time)",
  measure,
};
