// Jobs of a pipeline on fresh machines, whose state is in a branch of a Git repository or in a cluster: two at once, one of which is killed
// at any step, against one WAF.
// Long: `npm run test:deploy` runs it.
import { mkdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as realDelay } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import type { ClusterAccess } from "../support/control-plane/cluster-access.ts";
import { describeWithControlPlane } from "../support/control-plane/suite.ts";
import { caseCount } from "../support/builders/case-count.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";
import {
  type ProcessOptions,
  runWafsync,
  type RunningProcess,
  startWafsync,
} from "../support/processes/wafsync-process.ts";
import { apiProxy, setUpClusterState } from "../support/worlds/cluster-state.ts";
import { gitRemote, stateBranch } from "../support/worlds/git-remote.ts";
import { declareAtRandom, ownedIn } from "./random-folder.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import { testKey, wafFolder } from "../support/worlds/waf-folder.ts";

/** In each place. */
const kills = caseCount(100);
const seed = 20_261_127;
const foreign = ["198.51.100.7", "198.51.100.8"];
const rules = { names: ["one", "two"], poolSize: 60, counts: [3, 11] } as const;
/** Two minutes without a change of the branch are eight seconds. */
const haste = 15;
const spec =
  "  guards: {maxRemovals: 10000, maxRemovalPercent: 100}\n  requestTimeout: 60s\n  consistencyWindow: 100ms\n";
const requestsMax = 30;

/** Another machine: it shares neither a lock nor the disk with others. */
interface Machine extends AsyncDisposable {
  readonly path: string;
  readonly options: ProcessOptions;
}

interface Place extends AsyncDisposable {
  /** The value of `--state`. */
  readonly state: string;
  /** About how many steps an apply needs here. */
  readonly stepsMax: number;
  /** @param kill the process that starts here is killed at this step: before it, after it, or in the middle of it */
  readonly machine: (name: string, kill?: { readonly step: number; readonly moment: number }) => Promise<Machine>;
  /** Tells a machine which process to kill. */
  readonly runs: (machine: Machine, process: RunningProcess) => void;
  /** All stored files, by path. */
  readonly stored: () => Promise<ReadonlyMap<string, string>>;
}

function machineIn(path: string, name: string, more: Readonly<Record<string, string>>): Machine {
  mkdirSync(path, { recursive: true });
  const environment = { XDG_RUNTIME_DIR: path, TMPDIR: path, CI_JOB_URL: `https://ci.example/${name}`, ...more };
  const end = async (): Promise<void> => await rm(path, { recursive: true });
  return { path, options: { environment, haste }, [Symbol.asyncDispose]: end };
}

async function gitPlace(): Promise<Place> {
  const remote = await gitRemote();
  return {
    state: `git:${remote.url}#${stateBranch}`,
    stepsMax: 60,
    machine: async (name, kill) => {
      const path = join(remote.folder, name);
      const one = machineIn(path, name, { PATH: `${path}:${process.env["PATH"]}` });
      if (kill !== undefined) killingGit(path, kill.step, kill.moment);
      return one;
    },
    // Git kills the process that has called it.
    runs: () => undefined,
    stored: async () => new Map(remote.files().map((path) => [path, remote.git("show", `${stateBranch}:${path}`)])),
    [Symbol.asyncDispose]: async () => await remote[Symbol.asyncDispose](),
  };
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

async function clusterPlace(cluster: ClusterAccess, namespace: string): Promise<Place> {
  const scratch = await scratchDirectory();
  const kubeconfig = await setUpClusterState(cluster, namespace);
  const ends = new Map<string, () => void>();
  return {
    state: `kube:${namespace}/shop`,
    stepsMax: 25,
    machine: async (name, kill) => {
      const path = join(scratch.path, name);
      mkdirSync(path);
      const proxy = await apiProxy(cluster, kubeconfig, path, (serial, moment) => {
        if (serial !== kill?.step || moment !== (kill.moment === 1 ? "After" : "Before")) return;
        if (kill.moment === 2) setTimeout(() => ends.get(path)?.(), 2);
        else ends.get(path)?.();
      });
      const one = machineIn(path, name, { KUBECONFIG: proxy.kubeconfig });
      const end = async (): Promise<void> => {
        await proxy[Symbol.asyncDispose]();
        await one[Symbol.asyncDispose]();
      };
      return { ...one, [Symbol.asyncDispose]: end };
    },
    runs: ({ path }, { child }) => void ends.set(path, () => child.kill("SIGKILL")),
    stored: async () => {
      const path = `/apis/wafsync.dev/v1alpha1/namespaces/${namespace}/wafrecords/shop-state`;
      const { spec } = (await cluster.request({ path })).body as { spec?: { text: string } };
      const blocks = (spec?.text ?? "").split(/\n(?! )/).slice(1);
      return new Map(blocks.map((block) => [block.split("\n")[0]!, block.split("\n ").slice(1).join("\n")]));
    },
    [Symbol.asyncDispose]: async () => await scratch[Symbol.asyncDispose](),
  };
}

async function owned(place: Place): Promise<Set<string>> {
  return ownedIn((await place.stored()).get("inventory/shop/main.txt") ?? "");
}

/** Most of the time is spent waiting, so several WAFs are worked on at once. */
const worlds = kills > 10 ? 10 : 2;
/** A minute is four seconds here, and a busy machine can stand still that long: then the job ends, and somebody starts it again. */
const stall = /could not be renewed|cannot be held: It is in use by/;

test.concurrent.each(Array.from({ length: worlds }, (_, world) => world))(
  `of two pipelines at once, one is killed ${kills / worlds} times: no call beside another, nothing orphaned, and the declared state (%i)`,
  async (world) => {
    await using place = await gitPlace();
    await killOften(place, kills / worlds, seed + world);
  },
);

await describeWithControlPlane("two pipelines whose state is in a cluster", (cluster) => {
  test.concurrent.each(Array.from({ length: worlds }, (_, world) => world))(
    `one is killed ${kills / worlds} times: no call beside another, nothing orphaned, and the declared state (%i)`,
    async (world) => {
      await using place = await clusterPlace(cluster, `two-pipelines-${world}`);
      await killOften(place, kills / worlds, seed + worlds + world);
    },
  );
});

async function killOften(place: Place, rounds: number, worldSeed: number): Promise<void> {
  const random = seededRandom(worldSeed);
  let onRequest: () => void = () => undefined;
  await using folder = await wafFolder({ overlap: "Record", onRequest: () => onRequest() }, spec);
  const waf = folder.simulator.waf(testKey);
  waf.add("blocklist", foreign);
  folder.simulator.settings.latencyMs = 3;
  const words = ["apply", ...folder.from, "--state", place.state];
  const died = { byStep: 0, byRequest: 0, not: 0 };
  let stalled = 0;
  for (let kill = 0; kill < rounds; kill += 1) {
    const wanted = await declareAtRandom(folder, rules, random);
    const isByStep = random() < 0.6;
    const step = { step: 1 + Math.floor(random() * place.stepsMax), moment: Math.floor(random() * 3) };
    await using victim = await place.machine(`victim-${kill}`, isByStep ? step : undefined);
    await using survivor = await place.machine(`survivor-${kill}`);
    const machines = [victim, survivor];
    // The one that starts later usually has to wait for the other one.
    const order = random() < 0.6 ? [0, 1] : [1, 0];
    const running: RunningProcess[] = [];
    for (const index of order) {
      running[index] = startWafsync(words, machines[index]!.options);
      place.runs(machines[index]!, running[index]);
      await realDelay(random() * 300);
    }
    const [dying, living] = running as [RunningProcess, RunningProcess];
    if (!isByStep) {
      let left = 1 + Math.floor(random() * requestsMax);
      const delayMs = random() * 5;
      onRequest = () => void ((left -= 1) === 0 && setTimeout(() => dying.child.kill("SIGKILL"), delayMs));
    }
    const [end, first] = await Promise.all([dying.ended, living.ended]);
    onRequest = () => undefined;
    died[end.signal !== "SIGKILL" ? "not" : isByStep ? "byStep" : "byRequest"] += 1;
    let last = first;
    for (; last.code === 2 && stall.test(last.stderr) && stalled < rounds; stalled += 1) {
      last = await runWafsync(words, survivor.options);
    }
    const printed = last.code === 0 ? "" : last.stdout + last.stderr;
    expect({ kill, code: last.code, printed }).toStrictEqual({ kill, code: 0, printed: "" });
    const known = await owned(place);
    const unowned = waf.blocklist.filter((text) => !known.has(text) && !foreign.includes(text));
    expect({ kill, unowned, overlaps: waf.flights.overlaps }).toStrictEqual({ kill, unowned: [], overlaps: 0 });
    expect(waf.blocklist).toStrictEqual(expect.arrayContaining([...foreign, ...wanted]));
  }
  const wanted = await declareAtRandom(folder, rules, random);
  for (const name of ["last", "again"]) {
    await using fresh = await place.machine(name);
    expect((await runWafsync(words, fresh.options)).code).toBe(0);
  }
  expect(new Set(waf.blocklist)).toStrictEqual(new Set([...foreign, ...wanted]));
  expect(await owned(place)).toStrictEqual(wanted);
  expect(waf.flights.overlaps).toBe(0);
  const texts = [...(await place.stored()).values()].join("\n");
  expect(texts).toContain("wafsync writes this file");
  expect(texts).not.toContain(testKey);
  process.stdout.write(
    `\nTwo pipelines: ${rounds} rounds, killed at a step ${died.byStep}, at a request ${died.byRequest}, too late ${died.not}; ${stalled} stalled.\n`,
  );
}
