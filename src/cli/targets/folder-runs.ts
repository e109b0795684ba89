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
import { type DeclaredRule, listOf, unblockedAtMs } from "../../model/declared.ts";
import type { Operation } from "../../model/operation.ts";
import type { Redactor } from "../../model/redactor.ts";
import { type ObjectName, nameKey } from "../../model/resource.ts";
import { visibleText } from "../../model/visible-text.ts";
import type { ReconcileObserver } from "../../run/ports.ts";
import { heldGroups } from "../../run/status/messages.ts";
import { troubleOf } from "../../run/status/findings.ts";
import { ruleStatus } from "../../run/status/rule-status.ts";
import { userOfState, viewStateDirectory } from "../../source/directory/state-directory.ts";
import { readStatusFile } from "../../source/directory/status-files.ts";
import { type CommandRule, entriesOf } from "../command-rule.ts";
import { CommandError } from "../describe-error.ts";
import { type Session, withSession } from "../session.ts";
import { remark } from "../terminal.ts";
import { processLocks } from "./open-waf.ts";
import {
  type OnHold,
  type Progress,
  type Reported,
  type RuleChanges,
  type Settlement,
  type Waiting,
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
  how: (session: Session) => Omit<RunOptions, "stopping" | "observer"> & Partial<Pick<RunOptions, "observer">>,
  work: (standalone: Standalone, session: Session) => Promise<number>,
): Promise<number> {
  return await withSession(async (session) => {
    const place = await folderPlace(options, session.redactor);
    const opened = await openRuns(place, { observer: {}, ...how(session), stopping: session.stopping() });
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
}

/**
 * Waits until the WAF shows the changes of a command. If another process uses the folder, that process applies them; otherwise
 * this process reconciles the instance, and stops as soon as the changes of the command are applied.
 */
export async function settleFolder(work: FolderWork, wait: Waiting): Promise<Settlement> {
  const stopping = createStopping(realClock);
  const stop = (): void => stopping.begin("ended");
  wait.ended.addEventListener("abort", stop, { once: true });
  const observer = endingObserver(work, wait, () => stopping.begin("done"));
  try {
    for (;;) {
      const opened = await openRuns(work, { isDryRun: false, command: "wafsync block", stopping, observer });
      if (opened.ok) {
        const { state, message } = await applyOne(opened.standalone, work);
        if (state === "Settled") return { state, message };
        return { state: wait.stop.aborted ? "Stopped" : wait.ended.aborted ? "TimedOut" : "Left", message };
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

/** Reconciles the instance, and returns what became of the rules. */
async function applyOne(standalone: Standalone, { instance, written }: FolderWork): Promise<Progress> {
  try {
    const [result] = await standalone.applyOnce(async () => undefined, [instance]);
    const facts = result?.outcome.facts;
    const progress = progressOfAll(written, (rule) => {
      const compiled = facts?.desired.rules.find(({ id }) => id === nameKey(rule));
      return facts && compiled && progressOf(ruleStatus({}, compiled, facts, undefined) as Reported, 0);
    });
    const trouble = facts && troubleOf(facts);
    // The message of a trouble that passes ends with the promise to retry, but this process ends now.
    return { ...progress, message: standalone.lost() ?? trouble?.cause ?? progress.message };
  } finally {
    await standalone.close();
  }
}

/** Calls `end` when only changes that the command did not make are pending. */
function endingObserver({ rules }: RuleChanges, wait: Waiting, end: () => void): ReconcileObserver {
  const keysOf = (rule: Pick<DeclaredRule, "action" | "addresses">): string[] =>
    entriesOf(rule).map((entry) => `${listOf(rule)} ${entry}`);
  const keyOf = (operation: Operation): string =>
    "entry" in operation ? `${operation.list} ${operation.entry}` : "an origin";
  const own = new Set(rules.flatMap(({ rule, before }) => [rule, before].flatMap((one) => (one ? keysOf(one) : []))));
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

/**
 * Another process does the work and reports on the rules. `Free`: it has ended before the rules were settled, for example because it is
 * another `block`, which applies only its own rules.
 */
async function reportOfOther({
  stateDirectory,
  written,
}: FolderWork): Promise<{ state: Progress["state"] | "Free"; message: string }> {
  // In this order, so that the report of a process that has ended meanwhile is read.
  const holder = await userOfState(stateDirectory, realClock);
  const state = viewStateDirectory(stateDirectory);
  const progress = progressOfAll(written, ({ namespace, name, addresses, expiresAtMs }) => {
    const status = readStatusFile(state, { kind: "WafIpRule", namespace, name }) as Reported | undefined;
    const reported = progressOf(status, 0);
    // A status with a different number of entries belongs to an earlier version.
    const wanted = expiresAtMs === unblockedAtMs ? 0 : addresses.length;
    return reported.state === "Settled" && status?.entries?.desired !== wanted ? undefined : reported;
  });
  return progress.state === "Open" && holder === undefined ? { state: "Free", message: "" } : progress;
}

/** The first rule that is not settled. @param reported undefined if nothing is known of the rule as it is now */
function progressOfAll(
  written: readonly CommandRule[],
  reported: (rule: CommandRule) => Progress | undefined,
): Progress {
  for (const rule of written) {
    const message = `WafIpRule ${nameKey(rule)} has not been reread yet.`;
    const progress = reported(rule) ?? { state: "Open", message };
    if (progress.state !== "Settled") return progress;
  }
  return { state: "Settled", message: "" };
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
