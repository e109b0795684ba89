// Several commands at once in one folder: real processes, files and locks, and a simulator. The seed
// determines what is started, not how the system schedules the processes, so a seed that fails may have to be repeated.
import { readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as realDelay } from "node:timers/promises";
import type { SimulatedWaf } from "../../../src/simulator/simulated-waf.ts";
import { below, seededRandom } from "../builders/seeded-random.ts";
import { type FinishedProcess, startWafsync } from "../processes/wafsync-process.ts";
import { scratchDirectory } from "../worlds/scratch-directory.ts";
import { instanceDocument, ruleDocument, testKey, type WafFolder, wafFolder } from "../worlds/waf-folder.ts";

export interface FolderReport {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly commands: number;
  readonly kills: number;
}

interface Ended extends FinishedProcess {
  /** The name of the command. */
  readonly name: string;
  /** The addresses after the name. */
  readonly addresses: readonly string[];
  readonly isKilled: boolean;
}

const pool = [1, 2, 3, 4, 5, 6].map((last) => `203.0.113.${last}`);
/** Added manually: no command may remove them. One of them is an address that commands block and unblock as well. */
const manual = ["198.51.100.7", "203.0.113.6"];
const roundsMax = 3;
const commandsMax = 4;
const wideGuards = "  guards: {maxRemovals: 10000, maxRemovalPercent: 100}\n";
export async function simulateFolder(seed: number): Promise<FolderReport> {
  const random = seededRandom(seed);
  // A guard of one removal, so that `approve` has something to approve.
  const guards = random() < 0.4 ? "  guards: {maxRemovals: 1}\n" : wideGuards;
  await using folder = await wafFolder({ overlap: "Record" }, `${guards}  consistencyWindow: 100ms\n`);
  await using runtime = await scratchDirectory();
  folder.simulator.settings.latencyMs = Math.floor(random() * 40);
  const world = new FolderWorld(random, folder, runtime.path);
  await world.play(1 + below(random, roundsMax));
  await world.finish();
  const { violations, trace, commands, kills } = world;
  return { seed, violations, trace, commands, kills };
}

class FolderWorld {
  readonly violations: string[] = [];
  readonly trace: string[] = [];
  commands = 0;
  kills = 0;
  readonly #random: () => number;
  readonly #folder: WafFolder;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #waf: SimulatedWaf;
  #team: readonly string[] = [];

  constructor(random: () => number, folder: WafFolder, runtimeDirectory: string) {
    this.#random = random;
    this.#folder = folder;
    this.#environment = { XDG_RUNTIME_DIR: runtimeDirectory };
    this.#waf = folder.simulator.waf(testKey);
    this.#waf.add("blocklist", manual);
  }

  async play(rounds: number): Promise<void> {
    for (let round = 1; round <= rounds; round += 1) {
      this.#team = ["192.0.2.1", ...pool.slice(0, 4).filter(() => this.#random() < 0.3)];
      this.trace.push(`round ${round}: the rule of the team blocks ${this.#team.join(" ")}`);
      await this.#folder.files.write("team.yaml", ruleDocument("team", { addresses: this.#team }));
      const before = await this.#commandBlocks();
      const ended = await this.#playRound();
      this.#checkRound(ended, before, await this.#commandBlocks());
    }
  }

  /** Without faults, and with guards that allow every removal. */
  async finish(): Promise<void> {
    const { simulator, files } = this.#folder;
    simulator.settings.latencyMs = 0;
    const spec = `${wideGuards}  consistencyWindow: 100ms\n`;
    await files.write("main.yaml", instanceDocument(simulator.baseUrl, { spec }));
    // `plan` has exit code 1 for an entry of another writer that a rule declares, or declared until it expired.
    for (const address of manual) await rm(join(files.path, fileOf(address)), { force: true });
    await this.#expectCode(["apply"], 0);
    const writes = this.#writes();
    await this.#expectCode(["apply"], 0);
    if (this.#writes() !== writes) this.#fail("the second apply still had something to do");
    await this.#expectCode(["plan"], 0);
    const blocks = await this.#commandBlocks();
    this.#expectListed("after apply", [...manual, ...this.#team, ...blocks]);
    await files.remove("team.yaml");
    for (const address of blocks) await files.remove(fileOf(address));
    await this.#expectCode(["apply"], 0);
    this.#expectListed("without rules", manual);
    if (this.#waf.flights.overlaps > 0) this.#fail(`${this.#waf.flights.overlaps} calls overlapped another one`);
    for (const error of simulator.internalErrors) this.#fail(`the simulator failed: ${error}`);
  }

  /** Starts the commands at once, kills one of them in half of the rounds, and resolves when all have ended. */
  async #playRound(): Promise<readonly Ended[]> {
    const random = this.#random;
    const lines = Array.from({ length: 1 + below(random, commandsMax) }, () => randomCommand(random));
    const victim = random() < 0.5 ? below(random, lines.length) : undefined;
    const killAfter = { calls: below(random, 12), ms: random() * (random() < 0.3 ? 500 : 30) };
    const endOfRun = random() < 0.5 ? "SIGKILL" : "SIGTERM";
    const running = random() < 0.4 ? this.#start(["run"]) : undefined;
    const callsBefore = this.#waf.requests.length;
    const started = lines.map((line) => this.#start(line));
    const killed = victim === undefined ? undefined : started[victim];
    if (killed !== undefined) {
      void this.#calls(callsBefore + killAfter.calls, killed.ended).then(async () => {
        await realDelay(killAfter.ms);
        killed.kill("SIGKILL");
      });
    }
    const ended = await Promise.all(started.map(async (one) => await one.ended));
    running?.kill(endOfRun);
    await running?.ended;
    // The request of a killed process may still take effect.
    await realDelay(this.#folder.simulator.settings.latencyMs + 10);
    return ended;
  }

  /** Resolves after this number of calls, or when the process has ended. */
  async #calls(count: number, ended: Promise<unknown>): Promise<void> {
    const over = new AbortController();
    void ended.finally(() => over.abort());
    while (!over.signal.aborted && this.#waf.requests.length < count) await realDelay(2);
  }

  #start(line: readonly string[]): { readonly kill: (signal: NodeJS.Signals) => void; readonly ended: Promise<Ended> } {
    this.commands += 1;
    const [name = "", ...addresses] = line.filter((word) => !word.startsWith("-"));
    const { child, ended } = startWafsync([...line, ...this.#folder.from], { environment: this.#environment });
    return {
      kill: (signal) => child.kill(signal),
      ended: ended.then((finished) => {
        const { code, signal, stdout, stderr } = finished;
        this.trace.push(`$ wafsync ${line.join(" ")} → ${signal ?? code}`, ...indented(stdout), ...indented(stderr));
        if (/^\s+at .*:\d+/m.test(stderr)) this.#fail(`${name} printed a stack`);
        const isKilled = signal === "SIGKILL";
        if (isKilled) this.kills += 1;
        return { ...finished, name, addresses, isKilled };
      }),
    };
  }

  /** What the commands of a round said, against the files and the WAF. */
  #checkRound(ended: readonly Ended[], before: ReadonlySet<string>, after: ReadonlySet<string>): void {
    for (const { name, code, isKilled } of ended) {
      // `apply` and `approve` may find that another process uses the folder, which is an error.
      const isAllowed = isKilled || code === 0 || code === 1 || (code === 2 && !name.endsWith("block"));
      if (!isAllowed) this.#fail(`${name} ended with exit code ${code}`);
    }
    for (const address of pool) {
      const touching = ended.filter(({ addresses }) => addresses.includes(address));
      const [blocks, unblocks] = ["block", "unblock"].map((name) => touching.filter((one) => one.name === name));
      if (blocks === undefined || unblocks === undefined) continue;
      const has = after.has(address);
      if (has && !before.has(address) && blocks.length === 0) this.#fail(`a rule for ${address} appeared`);
      if (!has && before.has(address) && unblocks.length === 0) this.#fail(`the rule for ${address} is lost`);
      const isDone = ({ code }: Ended): boolean => code === 0;
      const listed = this.#waf.has("blocklist", address);
      if (unblocks.length === 0 && blocks.some(isDone) && !(has && listed)) {
        this.#fail(`block said that ${address} is blocked, but ${has ? "the WAF does not list it" : "it has no rule"}`);
      }
      const isOtherwise = this.#team.includes(address) || manual.includes(address);
      if (blocks.length === 0 && unblocks.some(isDone) && !isOtherwise && (has || listed)) {
        this.#fail(`unblock said that ${address} is not blocked, but ${has ? "it has a rule" : "the WAF lists it"}`);
      }
    }
    for (const entry of manual) {
      if (!this.#waf.has("blocklist", entry)) this.#fail(`${entry}, which was added manually, is gone`);
    }
  }

  /** The addresses that rules of `block` declare in the files now. */
  async #commandBlocks(): Promise<Set<string>> {
    const names = await readdir(this.#folder.path);
    const blocks = new Set<string>();
    for (const address of pool) {
      if (!names.includes(fileOf(address))) continue;
      const text = await readFile(join(this.#folder.path, fileOf(address)), "utf8");
      // The file of an `unblock` that was killed: the rule has expired.
      if (Date.parse(/expiresAt: "?([^"\s]+)/.exec(text)?.[1] ?? "9999-01-01") > Date.now()) blocks.add(address);
    }
    return blocks;
  }

  async #expectCode(line: readonly string[], code: number): Promise<void> {
    const ended = await this.#start(line).ended;
    if (ended.code !== code) this.#fail(`in the end, ${line.join(" ")} had exit code ${ended.code}`);
  }

  #expectListed(when: string, entries: readonly string[]): void {
    const [is, expected] = [this.#waf.blocklist, entries].map((some) => [...new Set(some)].toSorted().join(" "));
    if (is !== expected) this.#fail(`${when}, the WAF lists ${is} instead of ${expected}`);
  }

  #writes(): number {
    return this.#waf.requests.filter(({ method }) => method !== "GET").length;
  }

  #fail(what: string): void {
    this.violations.push(what);
    this.trace.push(`VIOLATED: ${what}`);
  }
}

function randomCommand(random: () => number): readonly string[] {
  const share = random();
  if (share < 0.1) return ["apply"];
  if (share < 0.2) return ["approve", "--yes"];
  const addresses = pool.filter(() => random() < 0.3);
  if (addresses.length === 0) addresses.push(pool[below(random, pool.length)] ?? "");
  return share < 0.65 ? ["block", ...addresses] : ["unblock", ...addresses];
}

function fileOf(address: string): string {
  return `main-block-${address.replaceAll(".", "-")}.yaml`;
}

function indented(text: string): string[] {
  return text.split("\n").flatMap((line) => (line === "" ? [] : [`    ${line}`]));
}
