// Compares `apply` with the minimum time for its calls. The program, including its start, and two bare clients make the same
// calls in alternating rounds, so that a busy moment of the machine affects all of them. The faster client is the floor.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addresses } from "../test/support/builders/declare.ts";
import type { Bench, BenchOutcome } from "./bench.ts";
import { inSeconds, median } from "./bench.ts";
import { buildGoProgram } from "./go-program.ts";
import { benchFolder } from "./run-apply.ts";
import { measureGoMs, measureUndiciMs } from "./serial-floor.ts";
import type { Floor } from "./serial-floor.ts";
import { startServer } from "./server-process.ts";

const addsCount = 2000;
const key = "bench-key-0123456789";
/** A round at 20 ms takes two minutes. */
const roundsByLatency: readonly (readonly [latencyMs: number, rounds: number])[] = [
  [0, 5],
  [5, 3],
  [20, 1],
];

interface Round {
  readonly undiciMs: number;
  /** Undefined if Go is not installed. */
  readonly goMs: number | undefined;
  readonly onceMs: number;
}

async function measureRounds(
  latencyMs: number,
  rounds: number,
  goProgram: string | undefined,
  report: (line: string) => void,
): Promise<readonly Round[]> {
  await using server = await startServer(key, latencyMs);
  const floor: Floor = { baseUrl: server.baseUrl, key, addresses: addresses(addsCount) };
  await using folder = await benchFolder(floor.baseUrl, key, floor.addresses);
  const measured: Round[] = [];
  const once = async (): Promise<number> => {
    await folder.forget();
    return await folder.runOnceMs();
  };
  // The first run after an installation reads the program from the disk. At 0 ms, this takes a second.
  if (latencyMs === 0) await once();
  for (let round = 0; round < rounds; round += 1) {
    const fresh = async (measure: () => Promise<number>): Promise<number> => {
      await server.reset();
      return await measure();
    };
    const undiciMs = await fresh(async () => await measureUndiciMs(floor));
    const onceMs = await fresh(once);
    const goMs = goProgram === undefined ? undefined : await fresh(async () => await measureGoMs(goProgram, floor));
    measured.push({ undiciMs, goMs, onceMs });
    report(`${latencyMs} ms, round ${round + 1}: ratio ${ratioOf({ undiciMs, goMs, onceMs }).toFixed(4)}`);
  }
  return measured;
}

function ratioOf({ undiciMs, goMs = undiciMs, onceMs }: Round): number {
  return Math.min(undiciMs, goMs) / onceMs;
}

async function measure(report: (line: string) => void): Promise<BenchOutcome> {
  const folder = await mkdtemp(join(tmpdir(), "wafsync-bench-go-"));
  try {
    const goProgram = await buildGoProgram("net-http", folder).catch(() => undefined);
    const rows: string[][] = [];
    for (const [latencyMs, roundsCount] of roundsByLatency) {
      const rounds = await measureRounds(latencyMs, roundsCount, goProgram, report);
      const middle = (pick: (round: Round) => number): number => median(rounds.map(pick));
      rows.push([
        `${latencyMs} ms`,
        inSeconds(middle(({ undiciMs }) => undiciMs)),
        goProgram === undefined ? "not installed" : inSeconds(middle(({ goMs = 0 }) => goMs)),
        inSeconds(middle(({ onceMs }) => onceMs)),
        middle(ratioOf).toFixed(3),
      ]);
    }
    const columns = ["Latency of the API", "undici", "Go net/http", "`apply`", "Ratio"];
    return { state: "Measured", tables: { floor: { columns, rows } } };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const serialBench: Bench = {
  name: "serial",
  title: `${addsCount.toLocaleString("en-US")} additions by \`apply\`, including its start, compared with the same calls by bare clients`,
  measure,
};
