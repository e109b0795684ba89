// Makes sure that one process alone works in a folder. Every candidate first creates a file that names itself and then
// looks for others: of two candidates at least one sees the other, so never do both win. A file's name holds process id,
// start of that process and boot, so it is never used twice, and the file of a dead process can be removed by anybody at
// any time. Processes that cannot see each other (other machines, other containers) are not told apart from dead ones:
// there, the inventory's revision is what notices.
import { readFileSync } from "node:fs";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../async/clock.ts";

const attemptsMax = 40;
const attemptDelayMs = 25;
const prefix = "lock.";

export type ProcessLock =
  | { readonly ok: true; release(): Promise<void> }
  /** Another process has it, or this one has it already. */
  | { readonly ok: false; readonly heldBy: number };

/** Rejects with Node's error if the folder cannot be read or written. */
export async function lockFolder(folder: string, processId: number, clock: Clock): Promise<ProcessLock> {
  const own = `${prefix}${processId}.${processStart(processId) ?? "unknown"}`;
  const path = join(folder, own);
  for (let attempt = 1; ; attempt += 1) {
    if (!(await createClaim(path, clock.nowMs()))) return { ok: false, heldBy: processId };
    let others = await livingClaims(folder, own);
    // The smallest of several that start at once stays, and waits for the others to step back.
    for (let wait = 0; wait < attemptsMax && others.length > 0 && isFirst(own, others); wait += 1) {
      await clock.sleep(attemptDelayMs);
      others = await livingClaims(folder, own);
    }
    if (others.length === 0) return { ok: true, release: async () => await rm(path, { force: true }) };
    await rm(path, { force: true });
    if (attempt >= attemptsMax) return { ok: false, heldBy: processIdOf(others[0] ?? "") ?? 0 };
    await clock.sleep(attemptDelayMs);
  }
}

async function createClaim(path: string, nowMs: number): Promise<boolean> {
  try {
    await writeFile(path, `since ${new Date(nowMs).toISOString()}\n`, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** The claims of other processes that live; those of dead ones are removed. */
async function livingClaims(folder: string, own: string): Promise<string[]> {
  const living: string[] = [];
  for (const name of await readdir(folder)) {
    const processId = processIdOf(name);
    if (processId === undefined || name === own) continue;
    if (isAlive(processId, name)) living.push(name);
    else await rm(join(folder, name), { force: true });
  }
  return living.sort();
}

function isFirst(own: string, others: readonly string[]): boolean {
  return others.every((other) => own < other);
}

function processIdOf(name: string): number | undefined {
  const match = /^lock\.(?<processId>[1-9][0-9]{0,9})\.[a-z0-9-]+$/.exec(name);
  return match === null ? undefined : Number(match.groups?.["processId"]);
}

function isAlive(processId: number, name: string): boolean {
  try {
    process.kill(processId, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const start = processStart(processId);
  const known = name.slice(`${prefix}${processId}.`.length);
  return start === undefined || known === "unknown" || start === known;
}

/** When a process began, in ticks of this boot; undefined where the system does not tell. */
function processStart(processId: number): string | undefined {
  try {
    // The name of the program comes second, in brackets, and may hold anything.
    const fields = readFileSync(`/proc/${processId}/stat`, "utf8").split(")").at(-1)?.trim().split(" ") ?? [];
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim().slice(0, 8);
    // A zombie has ended, even though its parent did not take notice yet.
    const [state] = fields;
    if (state === "Z" || state === "X") return "ended";
    return fields[19] === undefined ? undefined : `${fields[19]}-${boot}`;
  } catch {
    return undefined;
  }
}
