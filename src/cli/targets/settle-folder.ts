// Waits until the WAF shows what a command changed in a folder. If another process works with the folder, it does so; otherwise
// this one reconciles the instance, and ends as soon as the command's own changes are done.
import { readEnvironment } from "../../app/config.ts";
import { openStandalone } from "../../app/standalone.ts";
import { createStopping } from "../../app/stopping.ts";
import { realClock } from "../../async/clock.ts";
import { AddressCover } from "../../model/address-cover.ts";
import type { Redactor } from "../../model/redactor.ts";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import type { ReconcileObserver } from "../../reconcile/ports.ts";
import { troubleOf } from "../../reconcile/status/trouble.ts";
import { CommandError } from "../describe-error.ts";
import type { ChangeOutcome, ExpectedEntry, WaitOptions } from "./rule-changes.ts";
import type { LiveLists } from "./target.ts";

/** Reading costs the WAF a call beside those of the process that works with the folder. */
const pollMs = 2_000;

export interface FolderWork {
  readonly directory: string;
  readonly stateDirectory: string;
  readonly allowInsecureHttp: boolean;
  readonly instance: ObjectName;
  readonly expected: readonly ExpectedEntry[];
  readonly redactor: Redactor;
  readonly readLists: () => Promise<LiveLists>;
}

export async function settleFolder(work: FolderWork, wait: WaitOptions): Promise<ChangeOutcome> {
  const stopping = createStopping(realClock);
  const stop = (): void => stopping.begin("stopped");
  wait.stop.addEventListener("abort", stop, { once: true });
  const cancel = realClock.schedule(wait.timeoutMs, () => stopping.begin("timed out"));
  const opened = await openStandalone({
    directory: work.directory,
    stateDirectory: work.stateDirectory,
    baseUrls: { allowInsecureHttp: work.allowInsecureHttp, allowedBaseUrls: undefined },
    environmentKey: readEnvironment().apiKey,
    isDryRun: false,
    clock: realClock,
    random: Math.random,
    redactor: work.redactor,
    stopping,
    observer: endingObserver(work.expected, wait, () => stopping.begin("done")),
  });
  try {
    if (!opened.ok && opened.isInUse !== true) throw new CommandError(opened.problem);
    if (!opened.ok) return await pollLists(work, wait);
    try {
      const [result] = await opened.standalone.applyOnce(async () => undefined, [work.instance]);
      const facts = result?.outcome.facts;
      const trouble = facts === undefined ? undefined : troubleOf(facts)?.message;
      return await judge(work, wait, trouble);
    } finally {
      await opened.standalone.close();
    }
  } finally {
    cancel();
    wait.stop.removeEventListener("abort", stop);
    stopping.done();
  }
}

/** Calls `end` once nothing of what is expected is left to be done. */
function endingObserver(expected: readonly ExpectedEntry[], wait: WaitOptions, end: () => void): ReconcileObserver {
  const open = new Set(expected.map(keyOf));
  const settle = (key: string): void => {
    if (open.delete(key) && open.size === 0) end();
  };
  return {
    operationDone: (_instance, operation) => {
      if (operation.kind === "AddEntry") settle(keyOf({ ...operation, isListed: true }));
      if (operation.kind === "RemoveEntry") settle(keyOf({ ...operation, isListed: false }));
    },
    waiting: (_instance, why) => wait.onMessage(why),
  };
}

function keyOf({ list, entry, isListed }: ExpectedEntry): string {
  return `${isListed ? "+" : "-"}${list} ${entry}`;
}

async function judge(work: FolderWork, wait: WaitOptions, trouble: string | undefined): Promise<ChangeOutcome> {
  const { state, message } = await look(work);
  if (state === "Settled") return { state, message: "", isFollowed: false };
  if (wait.stop.aborted) return { state: "Stopped", message, isFollowed: false };
  return { state: "Left", message: trouble ?? message, isFollowed: false };
}

async function pollLists(work: FolderWork, wait: WaitOptions): Promise<ChangeOutcome> {
  const giveUpMs = realClock.monotonicMs() + wait.timeoutMs;
  wait.onMessage(`another process works with ${work.stateDirectory}: waiting for it`);
  for (;;) {
    const { state, message } = await look(work);
    if (state === "Settled") return { state, message: "", isFollowed: true };
    if (wait.stop.aborted) return { state: "Stopped", message, isFollowed: true };
    if (realClock.monotonicMs() + pollMs >= giveUpMs) return { state: "TimedOut", message, isFollowed: true };
    await realClock.sleep(pollMs, wait.stop);
  }
}

/** What the lists show now. */
async function look(work: FolderWork): Promise<{ readonly state: "Settled" | "Open"; readonly message: string }> {
  const live = await work.readLists();
  if (live.state === "Unread") return { state: "Open", message: live.why };
  const open = work.expected.find(({ list, entry, isListed }) => {
    const cover = new AddressCover(entry);
    return live.lists[list].some((text) => cover.find(text) === entry) !== isListed;
  });
  if (open === undefined) return { state: "Settled", message: "" };
  const is = open.isListed ? "is not on" : "is still on";
  return { state: "Open", message: `${open.entry} ${is} the ${open.list} of WafInstance ${nameKey(work.instance)}.` };
}
