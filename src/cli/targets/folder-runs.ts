// Reconcile runs of commands over a folder: those of plan, apply and run, the preview of removals on hold, and those that wait
// until the WAF shows the changes of `block` and `unblock`.
import { stat } from "node:fs/promises";
import { join } from "node:path";
import packageJson from "../../../package.json" with { type: "json" };
import { readEnvironment } from "../../app/config.ts";
import { environmentKeyOf } from "../../app/base-url-policy.ts";
import {
  type OpenedStandalone,
  type Standalone,
  type StandaloneOptions,
  openStandalone,
} from "../../app/standalone.ts";
import { createStopping } from "../../app/stopping.ts";
import { realClock } from "../../async/clock.ts";
import { AddressCover } from "../../address/ranges.ts";
import { unblockedAtMs } from "../../model/declared.ts";
import type { Redactor } from "../../model/redactor.ts";
import { type ObjectName, nameKey } from "../../model/resource.ts";
import { visibleText } from "../../model/visible-text.ts";
import type { ReconcileObserver } from "../../run/ports.ts";
import { heldGroups } from "../../run/status/messages.ts";
import { troubleOf } from "../../run/status/findings.ts";
import { userOfState, viewStateDirectory } from "../../source/directory/state-directory.ts";
import { readStatusFile } from "../../source/directory/status-files.ts";
import type { CommandRule } from "../command-rule.ts";
import { CommandError } from "../describe-error.ts";
import { type Session, withSession } from "../session.ts";
import { remark } from "../terminal.ts";
import { processLocks, type LiveLists } from "./open-waf.ts";
import {
  type ExpectedEntry,
  type OnHold,
  type Progress,
  type Reported,
  type RuleChanges,
  type Settlement,
  type Waiting,
  expectedEntries,
  progressOf,
  untilSettled,
} from "./rule-changes.ts";
import { type TargetOptions, policyOf } from "./target-options.ts";

type RunOptions = Pick<StandaloneOptions, "isDryRun" | "stopping" | "observer" | "onEvent"> & {
  /** Shown by other processes that wait for this one. */
  readonly command: string;
};

/** For plan, apply and run. A signal stops the work within a second. @throws CommandError if the folder can't be used */
export async function withStandalone(
  options: FolderOptions,
  how: Omit<RunOptions, "stopping" | "observer" | "onEvent"> & {
    readonly observer?: (session: Session) => ReconcileObserver;
    readonly onEvent?: (session: Session) => NonNullable<StandaloneOptions["onEvent"]>;
  },
  work: (standalone: Standalone, session: Session) => Promise<number>,
): Promise<number> {
  return await withSession(async (session) => {
    const { isDryRun, command } = how;
    const place = await folderPlace(options, session.redactor);
    const opened = await openRuns(place, {
      isDryRun,
      command,
      stopping: session.stopping(),
      observer: how.observer?.(session) ?? {},
      ...(how.onEvent === undefined ? {} : { onEvent: how.onEvent(session) }),
    });
    if (!opened.ok) throw new CommandError(opened.problem);
    const { standalone } = opened;
    session.atEnd(async () => {
      await standalone.close();
      for (const problem of standalone.problems()) {
        session.notes.line(remark(session.notes.paint, "warning", problem));
      }
    });
    const code = await work(standalone, session);
    const lost = standalone.lost();
    if (lost !== undefined) throw new CommandError(lost);
    return code;
  });
}

async function openRuns(
  { directory, stateDirectory, options, redactor }: FolderPlace,
  how: RunOptions,
): Promise<OpenedStandalone> {
  const { allowInsecureHttp, allowPrivateFeeds = false } = options;
  const baseUrls = policyOf(options);
  return await openStandalone({
    ...how,
    directory,
    stateDirectory,
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

/**
 * The removals that a run would put on hold, from the real plan, so that the hash is the same as in a run.
 * @throws CommandError if there is no plan, for example because the WAF can't be read
 */
export async function previewHolds(place: FolderPlace, instance: ObjectName): Promise<OnHold> {
  const stopping = createStopping(realClock);
  const opened = await openRuns(place, {
    isDryRun: true,
    command: "wafsync approve",
    stopping,
    observer: {},
  });
  if (!opened.ok) throw new CommandError(opened.problem);
  try {
    const previews = await opened.standalone.preview();
    const found = previews.find(({ facts }) => nameKey(facts.gathered.instance.meta) === nameKey(instance));
    if (found === undefined) throw new CommandError(`there is no WafInstance ${nameKey(instance)} in the folder`);
    const { plan } = found.facts;
    if (plan === undefined) {
      const why = troubleOf(found.facts)?.message ?? "The WAF could not be read.";
      throw new CommandError(`the removals on hold are unknown: ${visibleText(why)}`);
    }
    return { hash: plan.held?.hash, groups: plan.held === undefined ? [] : heldGroups(plan.held, Infinity) };
  } finally {
    await opened.standalone.close();
    stopping.done();
  }
}

export interface FolderWork extends FolderPlace, RuleChanges {
  /** The rules as they are now declared in the files. */
  readonly written: readonly CommandRule[];
  readonly readLists: () => Promise<LiveLists>;
}

/**
 * Waits until the WAF shows the changes of a command. If another process uses the folder, that process applies them; otherwise
 * this process reconciles the instance, and stops as soon as the changes of the command are applied.
 */
export async function settleFolder(work: FolderWork, wait: Waiting): Promise<Settlement> {
  const stopping = createStopping(realClock);
  const stop = (): void => stopping.begin("ended");
  wait.ended.addEventListener("abort", stop, { once: true });
  const expected = expectedEntries(work);
  const observer = endingObserver(expected, wait, () => stopping.begin("done"));
  try {
    for (;;) {
      const opened = await openRuns(work, { isDryRun: false, command: "wafsync block", stopping, observer });
      if (opened.ok) {
        const trouble = await applyOne(opened.standalone, work.instance);
        const { state, message } = await look(work, expected);
        if (state === "Settled") return { state, message };
        if (wait.stop.aborted) return { state: "Stopped", message };
        return { state: "Left", message: trouble ?? message };
      }
      if (opened.isInUse !== true) throw new CommandError(opened.problem);
      wait.onMessage(`another process is using ${work.stateDirectory}: waiting for it`);
      const followed = await untilSettled(async () => await reportOfOther(work), wait, realClock);
      if (followed.state !== "Free") return { ...followed, state: followed.state };
    }
  } finally {
    wait.ended.removeEventListener("abort", stop);
    stopping.done();
  }
}

/** Returns why the WAF could not be written; undefined if it could. Closes `standalone`, so that it no longer reads the WAF. */
async function applyOne(standalone: Standalone, instance: ObjectName): Promise<string | undefined> {
  try {
    const [result] = await standalone.applyOnce(async () => undefined, [instance]);
    const facts = result?.outcome.facts;
    const trouble = facts === undefined ? undefined : troubleOf(facts);
    // The message of a trouble that passes ends with the promise to retry, but this process ends now.
    return standalone.lost() ?? trouble?.cause ?? trouble?.message;
  } finally {
    await standalone.close();
  }
}

/** Calls `end` when only changes that the command did not make are pending. */
function endingObserver(expected: readonly ExpectedEntry[], wait: Waiting, end: () => void): ReconcileObserver {
  const open = new Set(expected.map(keyOf));
  const settle = (key: string, left: number): void => {
    // If nothing is pending, the run verifies and reports by itself.
    if (open.delete(key) && open.size === 0 && left > 0) end();
  };
  return {
    operationDone: (_instance, operation, left) => {
      if (operation.kind === "AddEntry") settle(keyOf({ ...operation, isListed: true }), left);
      if (operation.kind === "RemoveEntry") settle(keyOf({ ...operation, isListed: false }), left);
    },
    waiting: (_instance, why) => wait.onMessage(why),
  };
}

function keyOf({ list, entry, isListed }: ExpectedEntry): string {
  return `${isListed ? "+" : "-"}${list} ${entry}`;
}

/**
 * Another process does the work and reports on the rules: reading the WAF as well would cause a concurrent call. `Free`: it has
 * ended before the rules were settled, for example because it is another `block`, which applies only its own rules.
 */
async function reportOfOther(work: FolderWork): Promise<{ state: Progress["state"] | "Free"; message: string }> {
  // In this order, so that the report of a process that has ended meanwhile is read.
  const holder = await userOfState(work.stateDirectory, realClock);
  const progress = reportedProgress(work);
  return progress.state === "Open" && holder === undefined ? { state: "Free", message: "" } : progress;
}

/** The first rule whose status is not current. A status with a different number of entries belongs to an earlier version. */
function reportedProgress({ stateDirectory, written }: FolderWork): Progress {
  const state = viewStateDirectory(stateDirectory);
  for (const { namespace, name, addresses, expiresAtMs } of written) {
    const status = readStatusFile(state, { kind: "WafIpRule", namespace, name }) as Reported | undefined;
    const progress = progressOf(status, 0);
    const wanted = expiresAtMs === unblockedAtMs ? 0 : addresses.length;
    const isOlder = progress.state === "Settled" && status?.entries?.desired !== wanted;
    if (isOlder) return { state: "Open", message: `WafIpRule ${namespace}/${name} has not been reread yet.` };
    if (progress.state !== "Settled") return progress;
  }
  return { state: "Settled", message: "" };
}

/** Whether the lists show the changes now. */
async function look(
  work: FolderWork,
  expected: readonly ExpectedEntry[],
): Promise<{ readonly state: "Settled" | "Open"; readonly message: string }> {
  const live = await work.readLists();
  if (live.state === "Unread") return { state: "Open", message: live.why };
  const open = expected.find(({ list, entry, isListed }) => {
    const cover = new AddressCover(entry);
    return isListed !== live.lists[list].some((text) => cover.find(text) === entry);
  });
  if (open === undefined) return { state: "Settled", message: "" };
  const is = open.isListed ? "is not on" : "is still on";
  return { state: "Open", message: `${open.entry} ${is} the ${open.list} of WafInstance ${nameKey(work.instance)}.` };
}

const defaultStateFolder = ".wafsync";

export interface FolderOptions extends TargetOptions {
  readonly from: string;
  readonly allowPrivateFeeds?: boolean;
}

export interface FolderPlace {
  readonly directory: string;
  readonly stateDirectory: string;
  readonly options: FolderOptions;
  readonly redactor: Redactor;
}

/** @throws CommandError unless the folder exists and is not its own state directory, which would hide all of its files */
export async function folderPlace(options: FolderOptions, redactor: Redactor): Promise<FolderPlace> {
  const { from: directory, state } = options;
  const found = await stat(directory).catch(() => undefined);
  if (found === undefined)
    throw new CommandError(`folder ${directory} does not exist`, "Set -f to the folder with the YAML files.");
  if (!found.isDirectory())
    throw new CommandError(`${directory} is a file, not a folder`, "Set -f to the folder that contains it.");
  const other = state === undefined ? undefined : await stat(state).catch(() => undefined);
  if (other?.dev === found.dev && other.ino === found.ino) {
    throw new CommandError(`${directory} is the folder with the YAML files`, "Set --state to a different directory.");
  }
  return { directory, stateDirectory: state ?? join(directory, defaultStateFolder), options, redactor };
}
