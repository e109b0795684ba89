// Opens the state of a folder that is neither on this machine nor in the folder: `git:BRANCH`, `git:REMOTE#BRANCH` or `kube:NAMESPACE/NAME`.
import { hostname } from "node:os";
import { environmentForPrograms, readEnvironment } from "../../app/config.ts";
import { realClock } from "../../async/clock.ts";
import { isNameOfNamespace } from "../../model/resource.ts";
import { FolderRecord } from "../../source/directory/folder-record.ts";
import { GitBranch } from "../../source/directory/git-branch.ts";
import { RemoteState, type RemoteStateOptions } from "../../source/directory/remote-state.ts";
import { CommandError } from "../describe-error.ts";
import type { Session } from "../session.ts";
import type { TargetOptions } from "./open-target.ts";

interface RemoteOptions extends TargetOptions {
  readonly state: string;
  /** The folder in whose repository a remote of Git is. */
  readonly stateOf: string;
}

type User = Pick<RemoteStateOptions, "command" | "job">;
type Place = Pick<RemoteStateOptions, "where" | "open">;

/** Nothing is read yet. It is closed when the command ends. @throws CommandError if it can't be used */
export async function openRemoteState(options: RemoteOptions, session: Session, command: string): Promise<RemoteState> {
  const { job = `process ${process.pid} on ${hostname()}` } = readEnvironment();
  const user = { command, job };
  const place = options.state.startsWith("git:") ? inGit(options, user) : await inCluster(options, session);
  const onNotice = (text: string): void => session.notes.line(text);
  const opened = await RemoteState.open({ ...place, ...user, clock: realClock, onNotice });
  if (!opened.ok) throw new CommandError(opened.problem);
  const remote = opened.value;
  session.atEnd(async () => await remote.close());
  return remote;
}

function inGit({ state, stateOf: directory }: RemoteOptions, user: User): Place {
  const { remote = "origin", branch = "" } = /^git:(?:(?<remote>.+)#)?(?<branch>[^#]*)$/.exec(state)?.groups ?? {};
  if (/^https?:\/\/[^/]*@|:\/\/[^/@]*:[^/@]*@/.test(remote)) {
    const hint =
      "Use a credential helper of Git, or write git:BRANCH to use the remote origin of the folder's repository.";
    throw new CommandError("--state contains credentials, which other users of this machine could read", hint);
  }
  const environment = environmentForPrograms({});
  return {
    where: `branch ${branch} of ${remote}`,
    open: async (folder) => await GitBranch.open({ ...user, remote, branch, directory, folder, environment }),
  };
}

async function inCluster(options: RemoteOptions, session: Session): Promise<Place> {
  const [namespace = "", name = "", ...more] = options.state.slice("kube:".length).split("/");
  if (![namespace, name].every(isNameOfNamespace) || more.length > 0) {
    const hint = "Write kube:NAMESPACE/NAME, for example kube:waf-state/shop.";
    throw new CommandError(`--state ${options.state} names no state in a cluster`, hint);
  }
  const { openRecords } = await import("./cluster-target.ts");
  const store = openRecords(options, session);
  const key = { type: "State", namespace, name } as const;
  return { where: store.placeOf(key), open: async () => new FolderRecord(store, key) };
}
