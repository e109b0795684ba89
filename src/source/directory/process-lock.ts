// Ensures that only one process works in a folder. Every candidate first creates a file with its ID and then lists the
// others: at least one of two candidates sees the other, so they never both win. The file name contains the process ID,
// the start time of the process and the boot ID, so it is never reused, and the file of a process that has ended can be removed at
// any time. Processes on other machines or in other containers look dead, so the holder checks its claim before each record.
import { readFileSync } from "node:fs";
import { readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../async/clock.ts";

/** Waits about a second for candidates that start at the same moment; a process that holds the lock ends the wait. */
const attemptsMax = 40;
const attemptDelayMs = 25;
const heldMark = "held";
const prefix = "lock.";

export type ProcessLock =
  | {
      readonly ok: true;
      /** Rejects with Node's error if the folder cannot be read. */
      look(): Promise<LockSight>;
      release(): Promise<void>;
    }
  /** Another process holds the lock, or this process already does. */
  | { readonly ok: false; readonly heldBy: number };

/** `Gone`: the claim was deleted. `Taken`: it was deleted, and another process, to which this one looks dead, has made a claim. */
export type LockSight = "Held" | "Gone" | "Taken";

/** Rejects with Node's error if the folder cannot be read or written. */
export async function lockFolder(folder: string, processId: number, clock: Clock): Promise<ProcessLock> {
  const own = `${prefix}${processId}.${processStart(processId) ?? "unknown"}`;
  const path = join(folder, own);
  if (!(await createClaim(path))) return { ok: false, heldBy: processId };
  let claimed = true;
  let others = await livingClaims(folder, own);
  for (let attempt = 1; attempt < attemptsMax && others.length > 0 && !others.some(({ held }) => held); attempt += 1) {
    // Of several candidates, the first by name keeps its claim and waits for the others to withdraw theirs.
    if (claimed && others.some(({ name }) => name < own)) {
      await rm(path, { force: true });
      claimed = false;
    }
    await clock.sleep(attemptDelayMs);
    claimed ||= await createClaim(path);
    others = await livingClaims(folder, own);
  }
  if (others.length === 0 && claimed) {
    await writeFile(path, `${heldMark} since ${new Date(clock.nowMs()).toISOString()}\n`);
    return {
      ok: true,
      look: async () => await lookFor(folder, own),
      release: async () => await rm(path, { force: true }),
    };
  }
  if (claimed) await rm(path, { force: true });
  const winner = others.find(({ held }) => held) ?? others[0];
  return { ok: false, heldBy: winner?.processId ?? processId };
}

/** Whether another running process holds the lock. An unreadable folder is not locked. */
export async function isFolderInUse(folder: string): Promise<boolean> {
  const claims = await livingClaims(folder, "").catch(() => []);
  return claims.some(({ held }) => held);
}

async function lookFor(folder: string, own: string): Promise<LockSight> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  if (names.includes(own)) return "Held";
  return names.some((name) => processIdOf(name) !== undefined) ? "Taken" : "Gone";
}

async function createClaim(path: string): Promise<boolean> {
  try {
    await writeFile(path, "starting\n", { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

interface Claim {
  readonly name: string;
  readonly processId: number;
  /** That process holds the lock. */
  readonly held: boolean;
}

/** The claims of other running processes. Removes the claims of processes that have ended. */
async function livingClaims(folder: string, own: string): Promise<Claim[]> {
  const living: Claim[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const { name } = entry;
    const processId = processIdOf(name);
    // wafsync creates only files. A link from a repository could lead to a pipe, whose read never ends.
    if (processId === undefined || name === own || !entry.isFile()) continue;
    const path = join(folder, name);
    if (!isProcessAlive(processId, name.slice(`${prefix}${processId}.`.length))) await rm(path, { force: true });
    else {
      const text = await readFile(path, "utf8").catch(() => "");
      living.push({ name, processId, held: text.startsWith(heldMark) });
    }
  }
  return living.sort((left, right) => (left.name < right.name ? -1 : 1));
}

function processIdOf(name: string): number | undefined {
  const match = /^lock\.(?<processId>[1-9][0-9]{0,9})\.[a-z0-9-]+$/.exec(name);
  return match === null ? undefined : Number(match.groups?.["processId"]);
}

/** @param known the start time by `processStart`, or `unknown` */
export function isProcessAlive(processId: number, known: string): boolean {
  try {
    process.kill(processId, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const start = processStart(processId);
  return start === undefined || known === "unknown" || start === known;
}

/** When a process started, in ticks since boot, and the boot ID; undefined if the system does not report it. */
export function processStart(processId: number): string | undefined {
  try {
    // The second field is the name of the program in parentheses, which may contain any character.
    const fields = readFileSync(`/proc/${processId}/stat`, "utf8").split(")").at(-1)?.trim().split(" ") ?? [];
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim().slice(0, 8);
    // A zombie has ended; its parent has not waited for it yet.
    const [state] = fields;
    if (state === "Z" || state === "X") return "ended";
    return fields[19] === undefined ? undefined : `${fields[19]}-${boot}`;
  } catch {
    return undefined;
  }
}
