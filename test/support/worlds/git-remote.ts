// A bare repository as the remote of a state branch, and processes that use it, each of which can be killed at any command of Git.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../src/async/clock.ts";
import { GitBranch, type GitBranchOptions } from "../../../src/source/directory/git-branch.ts";
import { RemoteState, type RemoteStateOptions } from "../../../src/source/directory/remote-state.ts";
import { scratchDirectory } from "./scratch-directory.ts";

export const stateBranch = "wafsync-state";

export interface GitRemote extends AsyncDisposable {
  readonly url: string;
  readonly folder: string;
  /** Runs Git in the bare repository. */
  readonly git: (...parameters: readonly string[]) => string;
  /** The paths of all files in the branch. */
  readonly files: () => readonly string[];
}

export async function gitRemote(): Promise<GitRemote> {
  const scratch = await scratchDirectory();
  const url = join(scratch.path, "remote.git");
  const git = (...parameters: readonly string[]): string =>
    execFileSync("git", ["-C", url, ...parameters], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  mkdirSync(url);
  git("init", "--quiet", "--bare");
  return {
    url,
    folder: scratch.path,
    git,
    files: () => {
      const exists = git("for-each-ref", `refs/heads/${stateBranch}`) !== "";
      return exists ? git("ls-tree", "-r", "--name-only", stateBranch).split("\n").filter(Boolean) : [];
    },
    [Symbol.asyncDispose]: async () => await scratch[Symbol.asyncDispose](),
  };
}

export interface GitProcess extends AsyncDisposable {
  readonly state: RemoteState;
  /** From now on, the process lives for this number of commands of Git, or of writes: the last command takes effect, but its answer is lost. */
  readonly killAfter: (commands: number) => void;
  /** The answer of the next command of this name is lost. */
  readonly loseAnswer: (command: string) => void;
  /** What it told people. */
  readonly notices: string[];
}

let serial = 0;

/** Waits take no time, but the clock of the process shows it. Those for another process end late, as on a busy machine. */
export function hurriedClock(): Clock {
  let nowMs = Date.parse("2026-11-27T12:00:00Z");
  return {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: async (delayMs) => void (nowMs += delayMs < 5_000 ? delayMs : 60_000),
    schedule: () => () => undefined,
  };
}

export async function gitProcess(
  { url, folder }: Pick<GitRemote, "url" | "folder">,
  options: Partial<RemoteStateOptions & GitBranchOptions> = {},
): Promise<GitProcess> {
  const bin = join(folder, `bin-${(serial += 1)}`);
  const [left, loses] = [join(bin, "left"), join(bin, "loses")];
  mkdirSync(bin);
  writeFileSync(
    join(bin, "git"),
    `#!/bin/sh
PATH=\${PATH#*:}
if [ -f ${left} ]; then
  n=$(cat ${left})
  echo $((n - 1)) > ${left}
  [ "$n" -gt 1 ] || { [ "$n" -lt 1 ] || git "$@" > /dev/null 2>&1; exit 137; }
fi
if [ -f ${loses} ] && [ "$1" = "$(cat ${loses})" ]; then rm ${loses}; git "$@" > /dev/null 2>&1; exit 137; fi
exec git "$@"
`,
    { mode: 0o755 },
  );
  const notices: string[] = [];
  const how = {
    remote: url,
    branch: stateBranch,
    directory: folder,
    environment: { ...process.env, PATH: `${bin}:${process.env["PATH"]}` },
    command: "wafsync apply",
    job: `https://ci.example/${serial}`,
    clock: hurriedClock(),
    onNotice: (text: string) => notices.push(text),
    ...options,
  };
  const opened = await RemoteState.open({
    where: `branch ${how.branch} of ${how.remote}`,
    open: async (temporary) => await GitBranch.open({ ...how, folder: temporary }),
    ...how,
  });
  if (!opened.ok) throw new Error(opened.problem);
  return {
    state: opened.value,
    killAfter: (commands) => writeFileSync(left, String(commands)),
    loseAnswer: (command) => writeFileSync(loses, command),
    notices,
    [Symbol.asyncDispose]: async () => await opened.value.close(),
  };
}
