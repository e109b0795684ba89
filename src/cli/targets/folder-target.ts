// The instances of a folder, with the inventory, statuses and history in its state directory, and with Git metadata; and the reconcile
// runs of commands over it: those of plan, apply and run, the preview of removals on hold, and those that wait until the WAF shows the
// changes of `block` and `unblock`.
import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type CalledWaf, type CallWaf } from "../../app/waf-clients.ts";
import { environmentForPrograms, readEnvironment } from "../../app/config.ts";
import { environmentKeyOf } from "../../app/base-url-policy.ts";
import { realClock } from "../../async/clock.ts";
import { type ApiKey } from "../../model/api-key.ts";
import { type Gathered } from "../../model/gathered.ts";
import { nameKey, type ObjectName, type ResourceMeta } from "../../model/resource.ts";
import { asSentence, capitalized } from "../../model/texts.ts";
import { FileRecordStore } from "../../records/file-record-store.ts";
import { DirectorySource } from "../../source/directory/directory-source.ts";
import { unattachedOf } from "../../source/directory/gather.ts";
import { type DirectorySnapshot, placeOfSource, faultText, isError } from "../../source/directory/snapshot.ts";
import type { LockHolder } from "../../source/directory/lock-file.ts";
import type { RemoteState } from "../../source/directory/remote-state.ts";
import { type StateDirectory, userOfState, viewStateDirectory } from "../../source/directory/state-directory.ts";
import { readStatusFile } from "../../source/directory/status-files.ts";
import type { CommandRule } from "../command-rule.ts";
import type { Reported } from "../object-view.ts";
import { CommandError } from "../describe-error.ts";
import { type Session, withSession } from "../session.ts";
import { approveInFile, changeOf, fileOfRule, removeRuleFile, writeRuleFile } from "./folder-files.ts";
import { commandCalls, processLocks, type WafWork, policyOf, type TargetOptions } from "./open-target.ts";
import {
  type DeclaredSight,
  type LastChange,
  type OnHold,
  type Progress,
  progressOf,
  type RuleChanges,
  type Seen,
  type SeenObject,
  type Settlement,
  Target,
  untilSettled,
  type Waiting,
} from "./target.ts";
import packageJson from "../../../package.json" with { type: "json" };
import {
  type OpenedStandalone,
  openStandalone,
  type Standalone,
  type StandaloneOptions,
} from "../../app/standalone.ts";
import { createStopping, type StoppingControl } from "../../app/stopping.ts";
import { listOf, unblockedAtMs } from "../../model/declared.ts";
import { type Operation } from "../../model/operation.ts";
import { type Redactor } from "../../model/redactor.ts";
import { type ReconcileObserver } from "../../run/ports.ts";
import { troubleOf } from "../../run/status/messages.ts";
import { ruleStatus } from "../../run/status/statuses.ts";

export async function openFolder(options: FolderOptions, session: Session, how?: WafWork): Promise<Target> {
  const place = await openPlace(options, session, how?.command ?? "wafsync");
  const read = await place.remote?.read();
  if (read?.ok === false) throw new CommandError(read.problem);
  const environmentKey = environmentKeyOf(readEnvironment(), policyOf(options).allowedBaseUrls);
  const source = new DirectorySource({ ...place, environmentKey, clock: realClock });
  session.atEnd(async () => await source.close());
  await source.load();
  return new FolderTarget(place, source, commandCalls(options, session, how, place.remote));
}

class FolderTarget extends Target {
  readonly where: string;
  protected readonly recordsAt: string;
  readonly #place: FolderPlace;
  readonly #source: DirectorySource;
  readonly #state: StateDirectory;

  constructor(place: FolderPlace, source: DirectorySource, call: CallWaf) {
    const state = viewStateDirectory(place.stateDirectory, place.remote);
    super(place.redactor, call, new FileRecordStore(state));
    this.#state = state;
    this.#place = place;
    this.#source = source;
    this.where = `in folder ${place.directory}`;
    this.recordsAt = `${place.remote?.where ?? place.stateDirectory}. If it is elsewhere, set --state`;
  }

  async instances(): Promise<readonly ObjectName[]> {
    return this.#source.instances();
  }

  protected async readDeclared(instance: ObjectName): Promise<DeclaredSight> {
    const { directory } = this.#place;
    const snapshot = this.#source.snapshot();
    const gathered = await this.#gather(instance);
    if (gathered.key.state === "Present") this.redactor.add(gathered.key.key);
    const problems = problemsOf(snapshot);
    return {
      gathered,
      readFeed: async (name) => ({ feed: snapshot.find("WafFeed", name)?.declared }),
      unattached: snapshot.declared.WafIpRule.flatMap((rule) => {
        const message = problems.get(rule.meta);
        return message === undefined ? [] : [{ rule, message }];
      }),
      gaps: gapsOf(snapshot),
      placeOf: (meta, from) => (from === undefined ? meta.location : placeOfSource(snapshot, meta, from)),
      statusOf: (object) => readStatusFile(this.#state, object),
      setterOf: async (meta) => await lastCommitOf(resolve(directory), meta.location.replace(/:\d+$/, "")),
    };
  }

  /** @throws CommandError if there is no such instance */
  async #gather(instance: ObjectName): Promise<Gathered> {
    const gathered = await this.#source.gather(instance);
    if (gathered !== undefined) return gathered;
    throw new CommandError(`there is no WafInstance ${nameKey(instance)} ${this.where}`);
  }

  async see(): Promise<Seen> {
    const snapshot = await this.#source.load();
    const problems = problemsOf(snapshot);
    const objects = Object.values(snapshot.declared)
      .flat()
      .map(({ meta, ...spec }) => {
        const { kind, namespace, name } = meta;
        const { instance, description, baseUrl, suspend }: Partial<SeenObject> = spec;
        const message = problems.get(meta);
        // No run writes this one: the stored status of such an object is that of its former instance.
        const lost = { type: "Ready", status: "False", reason: "InstanceNotFound", message };
        const status = message === undefined ? readStatusFile(this.#state, meta) : { conditions: [lost] };
        const placeOf = (source?: string) =>
          source === undefined ? meta.location : placeOfSource(snapshot, meta, source);
        return { kind, namespace, name, status, instance, description, baseUrl, suspend, placeOf };
      });
    return { atMs: realClock.nowMs(), where: this.where, objects, gaps: gapsOf(snapshot) };
  }

  protected keyOf({ key }: Gathered): CalledWaf<ApiKey> {
    return key.state === "Present" ? { ok: true, value: key.key } : { ok: false, problem: key.problem };
  }

  /** The processes of one machine take turns. */
  isBusy(): boolean {
    return false;
  }

  async placeOfRule(name: ObjectName): Promise<string> {
    return join(this.#place.directory, await this.#fileOf(name));
  }

  protected async putRule(rule: CommandRule): Promise<void> {
    await writeRuleFile(this.#place.directory, await this.#fileOf(rule), rule);
  }

  async deleteRule(rule: ObjectName, written?: CommandRule): Promise<void> {
    await removeRuleFile(this.#place.directory, await this.#fileOf(rule), written);
  }

  /** The folder is read again, for what is declared now. */
  override async change(changes: RuleChanges, wait: Waiting | undefined): Promise<Settlement> {
    const settlement = await super.change(changes, wait);
    await this.#source.load();
    return settlement;
  }

  /**
   * If another process uses the folder, that process applies the changes; otherwise this process reconciles the instance, and stops as
   * soon as the changes of the command are applied.
   */
  protected override async settle(
    instance: ObjectName,
    written: readonly CommandRule[],
    wait: Waiting,
  ): Promise<Settlement> {
    const { stateDirectory } = this.#place;
    const stopping = createStopping(realClock);
    const stop = (): void => stopping.begin("ended");
    wait.ended.addEventListener("abort", stop, { once: true });
    // A signal may have come before.
    if (wait.ended.aborted) stop();
    const observer = endingObserver(written, wait, () => stopping.begin("done"));
    const how = { isDryRun: false, command: "wafsync block", observer };
    let holder: LockHolder | undefined;
    const look = async (): Promise<Progress> => {
      // The other process may have been another `block`, which applies only its own rules.
      if (holder === undefined) {
        const opened = await openRuns(this.#place, how, stopping);
        if (opened.ok) {
          const { state, message } = await applyOne(opened.standalone, instance, written);
          return { state: state === "Settled" ? state : wait.ended.aborted ? "Open" : "Left", message };
        }
        if (opened.isInUse !== true) throw new CommandError(opened.problem);
        wait.onMessage(`another process is using ${stateDirectory}: waiting for it`);
      }
      // In this order, so that the report of a process that has ended meanwhile is read.
      holder = await userOfState(stateDirectory, realClock);
      return await this.reportOnAll(written);
    };
    try {
      return await untilSettled(look, wait);
    } finally {
      wait.ended.removeEventListener("abort", stop);
      stopping.done();
    }
  }

  protected async reportOn(rule: CommandRule): Promise<Progress> {
    const { namespace, name, addresses, expiresAtMs } = rule;
    const status = readStatusFile(this.#state, { kind: "WafIpRule", namespace, name }) as Reported | undefined;
    const reported = progressOf(status, 0);
    // A status with a different number of entries belongs to an earlier version, or to that of another command.
    const wanted = expiresAtMs === unblockedAtMs ? 0 : addresses.length;
    if (reported.state === "Settled" && status?.entries?.desired === wanted) return reported;
    const change = await changeOf(this.#place.directory, await this.#fileOf(rule), rule);
    if (change !== undefined) {
      return { state: "Left", message: `WafIpRule ${namespace}/${name} was ${change} by another command.` };
    }
    if (reported.state !== "Settled") return reported;
    return { state: "Open", message: `WafIpRule ${namespace}/${name} has not been reread yet.` };
  }

  /** `block` and `apply` end soon. */
  async isFollowed(): Promise<boolean> {
    return (await userOfState(this.#place.stateDirectory, realClock))?.command === "wafsync run";
  }

  async removalsOnHold(instance: ObjectName): Promise<OnHold> {
    return await this.heldNow(instance);
  }

  async approve(instance: ObjectName, hash: string): Promise<string> {
    return await approveInFile(this.#place.directory, (await this.#gather(instance)).instance.meta, hash);
  }

  async #fileOf(rule: ObjectName): Promise<string> {
    return await fileOfRule(this.#place.directory, this.#source.snapshot(), rule);
  }
}

function gapsOf({ faults }: DirectorySnapshot): string[] {
  return faults.filter(isError).map((fault) => asSentence(faultText(fault)));
}

/** Why objects are attached to no instance, so that no run covers them, as a condition says it. */
function problemsOf(snapshot: DirectorySnapshot): ReadonlyMap<ResourceMeta, string> {
  return new Map(
    unattachedOf(snapshot).map(({ declared, problem }) => [declared.meta, asSentence(capitalized(problem))]),
  );
}

const gitTimeoutMs = 2_000;

/**
 * With `--no-show-signature` and without transports, the configuration of an untrusted repository starts no program. A folder from a
 * pull request can itself look like a bare repository.
 */
const safeSettings = ["safe.bareRepository=explicit", "core.fsmonitor=false", "core.hooksPath=/dev/null"];
/** Otherwise Git would fetch missing objects. */
const safeEnvironment = { GIT_ALLOW_PROTOCOL: "", GIT_TERMINAL_PROMPT: "0" };

/**
 * The last author of a file, if it is in a Git repository and Git is installed. For information only.
 * @param file below the directory
 */
export async function lastCommitOf(directory: string, file: string): Promise<LastChange | undefined> {
  const settings = safeSettings.flatMap((setting) => ["-c", setting]);
  const query = ["--no-pager", "log", "-1", "--no-show-signature", "--format=%an%x09%aI", "--", file];
  const options = { timeout: gitTimeoutMs, env: environmentForPrograms(safeEnvironment) };
  const output = await new Promise<string>((done) => {
    execFile("git", ["-C", directory, ...settings, ...query], options, (error, stdout) =>
      done(error === null ? stdout : ""),
    );
  });
  const [author = "", time = ""] = output.trim().split("\t");
  return author === "" || time === "" ? undefined : { author, time };
}

// Reconcile runs.

type RunOptions = Pick<StandaloneOptions, "isDryRun" | "command" | "metrics" | "onEvent" | "review"> &
  Partial<Pick<StandaloneOptions, "observer">>;

/** For plan, apply and run. A signal stops the work within a second. @throws CommandError if the folder can't be used */
export async function withStandalone(
  options: FolderOptions,
  how: (session: Session) => RunOptions,
  work: (standalone: Standalone, session: Session) => Promise<number>,
): Promise<number> {
  return await withSession(async (session) => {
    const runs = how(session);
    const place = await openPlace(options, session, runs.command);
    const opened = await openRuns(place, runs, session.stopping());
    if (!opened.ok) throw new CommandError(opened.problem);
    const { standalone } = opened;
    session.atEnd(async () => {
      await standalone.close();
      for (const problem of standalone.problems()) {
        session.notes.remark("warning", problem);
      }
    });
    const code = await work(standalone, session);
    const lost = standalone.lost();
    if (lost !== undefined) throw new CommandError(lost);
    return code;
  });
}

async function openRuns(
  { directory, stateDirectory, remote, options, redactor }: FolderPlace,
  how: RunOptions,
  stopping: StoppingControl,
): Promise<OpenedStandalone> {
  const { allowInsecureHttp, allowPrivateFeeds = false } = options;
  const baseUrls = policyOf(options);
  return await openStandalone({
    observer: {},
    ...how,
    stopping,
    directory,
    stateDirectory,
    remote,
    baseUrls,
    feedPolicy: { allowInsecureHttp, allowPrivateFeeds },
    version: packageJson.version,
    environmentKey: environmentKeyOf(readEnvironment(), baseUrls.allowedBaseUrls),
    clock: realClock,
    random: Math.random,
    redactor,
    locks: processLocks(how.command),
  });
}

/** Reconciles the instance, and returns the progress of the written rules. */
async function applyOne(
  standalone: Standalone,
  instance: ObjectName,
  written: readonly CommandRule[],
): Promise<Progress> {
  try {
    const [result] = await standalone.applyOnce(async () => undefined, [instance]);
    const facts = result?.outcome.facts;
    const progress = written.map((rule): Progress => {
      const compiled = facts?.desired.rules.find(({ id }) => id === nameKey(rule));
      if (facts && compiled) return progressOf(ruleStatus({}, compiled, facts, undefined) as Reported, 0);
      return { state: "Open", message: `WafIpRule ${nameKey(rule)} has not been reread yet.` };
    });
    const { state, message } = progress.find((one) => one.state !== "Settled") ?? { state: "Settled", message: "" };
    const trouble = facts && troubleOf(facts);
    // The message of a trouble that passes ends with the promise to retry, but this process ends now.
    return { state, message: standalone.lost() ?? trouble?.cause ?? message };
  } finally {
    await standalone.close();
  }
}

/** Calls `end` when only changes that the command did not make are pending. */
function endingObserver(written: readonly CommandRule[], wait: Waiting, end: () => void): ReconcileObserver {
  const keyOf = (operation: Operation): string =>
    "entry" in operation ? `${operation.list} ${operation.entry}` : "an origin";
  const own = new Set(written.flatMap((rule) => rule.addresses.map((entry) => `${listOf(rule)} ${entry}`)));
  let open = new Set<string>();
  return {
    planned: (_instance, { operations }) => {
      open = new Set(operations.map(keyOf).filter((key) => own.has(key)));
    },
    operationDone: (_instance, operation, left) => {
      // If nothing is pending, the run verifies and reports by itself.
      if (open.delete(keyOf(operation)) && open.size === 0 && left > 0) end();
    },
    waiting: (_instance, why) => wait.onMessage(why),
  };
}

const defaultStateFolder = ".wafsync";

export interface FolderOptions extends TargetOptions {
  readonly from: string;
  /** The folder whose state directory or repository is used, if it is another one. */
  readonly stateOf?: string;
  readonly allowPrivateFeeds?: boolean;
}

interface FolderPlace {
  readonly directory: string;
  readonly stateDirectory: string;
  readonly remote: RemoteState | undefined;
  readonly options: FolderOptions;
  readonly redactor: Redactor;
}

/** @throws CommandError unless the folder exists and is not its own state directory, which would hide all of its files */
export async function checkFolder({
  from: directory,
  state,
  stateOf = directory,
}: Pick<FolderOptions, "from" | "state" | "stateOf">): Promise<string> {
  const found = await stat(directory).catch(() => undefined);
  if (found === undefined)
    throw new CommandError(`folder ${directory} does not exist`, "Set -f to the folder with the YAML files.");
  if (!found.isDirectory())
    throw new CommandError(`${directory} is a file, not a folder`, "Set -f to the folder that contains it.");
  const other = state === undefined ? undefined : await stat(state).catch(() => undefined);
  if (other?.dev === found.dev && other.ino === found.ino) {
    throw new CommandError(`${directory} is the folder with the YAML files`, "Set --state to a different directory.");
  }
  return state ?? join(stateOf, defaultStateFolder);
}

/** @param command shown by other processes that wait for this one. @throws CommandError if the folder or its state can't be used */
async function openPlace(options: FolderOptions, session: Session, command: string): Promise<FolderPlace> {
  const { from: directory, state = "", stateOf = directory } = options;
  for (const name of ["namespace", "kubeconfig", "context"] as const) {
    const isForState = name !== "namespace" && state.startsWith("kube:");
    if (options[name] === undefined || isForState) continue;
    throw new CommandError(`--${name} is for a cluster, but -f is for a folder`, "Use only one of them.");
  }
  const stateDirectory = await checkFolder(options);
  const { redactor } = session;
  if (!/^(?:git|kube):/.test(state)) return { directory, stateDirectory, remote: undefined, options, redactor };
  const { openRemoteState } = await import("./open-remote-state.ts");
  const remote = await openRemoteState({ ...options, state, stateOf }, session, command);
  return { directory, stateDirectory: remote.path, remote, options, redactor };
}
