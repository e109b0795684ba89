// Jobs of a pipeline on fresh machines, whose state is in a branch of a Git repository: two at once, one of which is killed at any step,
// against one WAF.
// Long: `npm run test:deploy` runs it.
import { mkdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as realDelay } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { caseCount } from "../support/builders/case-count.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";
import {
  type ProcessOptions,
  runWafsync,
  type RunningProcess,
  startWafsync,
} from "../support/processes/wafsync-process.ts";
import { type GitRemote, gitRemote, stateBranch } from "../support/worlds/git-remote.ts";
import { declareAtRandom, ownedIn } from "../support/worlds/random-folder.ts";
import { testKey, wafFolder } from "../support/worlds/waf-folder.ts";

const kills = caseCount(200);
const seed = 20_261_127;
const foreign = ["198.51.100.7", "198.51.100.8"];
const rules = { names: ["one", "two"], poolSize: 60, counts: [3, 11] } as const;
/** Two minutes without a change of the branch are eight seconds. */
const haste = 15;
const spec =
  "  guards: {maxRemovals: 10000, maxRemovalPercent: 100}\n  requestTimeout: 60s\n  consistencyWindow: 100ms\n";
/** An apply needs about as many commands of Git, and requests. */
const [commandsMax, requestsMax] = [60, 30];

/** Another machine: it shares neither a lock nor the disk with others. */
function machine({ folder }: GitRemote, name: string): { readonly path: string; readonly options: ProcessOptions } {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  const environment = {
    XDG_RUNTIME_DIR: path,
    TMPDIR: path,
    PATH: `${path}:${process.env["PATH"]}`,
    CI_JOB_URL: `https://ci.example/${name}`,
  };
  return { path, options: { environment, haste } };
}

/** A Git that kills the process which has called it, at this command: before it, after it, or in the middle of it. */
function killingGit(path: string, command: number, moment: number): void {
  const kill = "kill -9 $PPID";
  const acts = [
    `${kill}; exit 1`,
    `git "$@" > /dev/null 2>&1; ${kill}; exit 1`,
    `(sleep 0.003; ${kill}) & exec git "$@"`,
  ];
  writeFileSync(
    join(path, "git"),
    `#!/bin/sh
PATH=\${PATH#*:}
n=1
[ ! -f ${path}/count ] || read n < ${path}/count
echo $((n + 1)) > ${path}/count
[ "$n" -ne ${command} ] || { ${acts[moment]}; }
exec git "$@"
`,
    { mode: 0o755 },
  );
}

function owned(remote: GitRemote): Set<string> {
  if (!remote.files().includes("inventory/shop/main.txt")) return new Set();
  return ownedIn(remote.git("show", `${stateBranch}:inventory/shop/main.txt`));
}

/** Most of the time is spent waiting, so several WAFs are worked on at once. */
const worlds = kills > 20 ? 4 : 2;
const testMsMax = 3_600_000;
/** A minute is four seconds here, and a busy machine can stand still that long: then the job ends, and somebody starts it again. */
const stall = /could not be renewed|cannot be held: It is in use by/;

test.concurrent.each(Array.from({ length: worlds }, (_, world) => world))(
  `of two pipelines at once, one is killed ${kills / worlds} times: no call beside another, nothing orphaned, and the declared state (%i)`,
  async (world) => await killOften(kills / worlds, seed + world),
  testMsMax,
);

async function killOften(rounds: number, worldSeed: number): Promise<void> {
  const random = seededRandom(worldSeed);
  let onRequest: () => void = () => undefined;
  await using remote = await gitRemote();
  await using folder = await wafFolder({ overlap: "Record", onRequest: () => onRequest() }, spec);
  const waf = folder.simulator.waf(testKey);
  waf.add("blocklist", foreign);
  folder.simulator.settings.latencyMs = 3;
  const words = ["apply", ...folder.from, "--state", `git:${remote.url}#${stateBranch}`];
  const died = { byGit: 0, byRequest: 0, not: 0 };
  let stalled = 0;
  for (let kill = 0; kill < rounds; kill += 1) {
    const wanted = await declareAtRandom(folder, rules, random);
    const [victim, survivor] = [machine(remote, `victim-${kill}`), machine(remote, `survivor-${kill}`)];
    const isByGit = random() < 0.6;
    killingGit(victim.path, isByGit ? 1 + Math.floor(random() * commandsMax) : 0, Math.floor(random() * 3));
    const start = [victim, survivor].map(
      ({ options }) =>
        () =>
          startWafsync(words, options),
    );
    // The one that starts later usually has to wait for the other one.
    const order = random() < 0.6 ? [0, 1] : [1, 0];
    const running: RunningProcess[] = [];
    for (const index of order) {
      running[index] = start[index]!();
      await realDelay(random() * 300);
    }
    const [dying, living] = running as [RunningProcess, RunningProcess];
    if (!isByGit) {
      let left = 1 + Math.floor(random() * requestsMax);
      const delayMs = random() * 5;
      onRequest = () => void ((left -= 1) === 0 && setTimeout(() => dying.child.kill("SIGKILL"), delayMs));
    }
    const [end, first] = await Promise.all([dying.ended, living.ended]);
    onRequest = () => undefined;
    died[end.signal !== "SIGKILL" ? "not" : isByGit ? "byGit" : "byRequest"] += 1;
    let last = first;
    for (; last.code === 2 && stall.test(last.stderr) && stalled < rounds; stalled += 1) {
      last = await runWafsync(words, survivor.options);
    }
    const printed = last.code === 0 ? "" : last.stdout + last.stderr;
    expect({ kill, code: last.code, printed }).toStrictEqual({ kill, code: 0, printed: "" });
    const known = owned(remote);
    const unowned = waf.blocklist.filter((text) => !known.has(text) && !foreign.includes(text));
    expect({ kill, unowned, overlaps: waf.flights.overlaps }).toStrictEqual({ kill, unowned: [], overlaps: 0 });
    expect(waf.blocklist).toStrictEqual(expect.arrayContaining([...foreign, ...wanted]));
    for (const { path } of [victim, survivor]) await rm(path, { recursive: true });
  }
  const wanted = await declareAtRandom(folder, rules, random);
  for (const name of ["last", "again"]) {
    expect((await runWafsync(words, machine(remote, name).options)).code).toBe(0);
  }
  expect(new Set(waf.blocklist)).toStrictEqual(new Set([...foreign, ...wanted]));
  expect(owned(remote)).toStrictEqual(wanted);
  expect(waf.flights.overlaps).toBe(0);
  expect(remote.git("grep", "--fixed-strings", "--count", "-e", "wafsync writes this file", stateBranch)).not.toBe("");
  expect(() => remote.git("grep", "--fixed-strings", "-e", testKey, stateBranch)).toThrow("Command failed");
  process.stdout.write(
    `\nTwo pipelines: ${rounds} rounds, killed at Git ${died.byGit}, at a request ${died.byRequest}, too late ${died.not}; ${stalled} stalled.\n`,
  );
}
