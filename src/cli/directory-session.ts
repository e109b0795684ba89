// Shared by plan, apply and run: options, the opened directory, stopping, and the output of errors in the files.
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { realClock } from "../async/clock.ts";
import { environmentKeyOf, readAllowedBaseUrls } from "../app/base-url-policy.ts";
import { readEnvironment } from "../app/config.ts";
import type { Standalone } from "../app/standalone.ts";
import { openStandalone } from "../app/standalone.ts";
import type { StoppingControl } from "../app/stopping.ts";
import { createStopping } from "../app/stopping.ts";
import { Redactor } from "../model/redactor.ts";
import { continuesAnnotation } from "../model/continues.ts";
import { nameKey } from "../model/resource.ts";
import { visibleText } from "../model/visible-text.ts";
import type { ReconcileObserver, StatusPort } from "../reconcile/ports.ts";
import { faultText } from "../source/directory/source-fault.ts";
import { CommandError, redactError } from "./describe-error.ts";
import type { InstanceView } from "./instance-view.ts";
import { processLocks } from "./process-locks.ts";
import type { Paint } from "./print-instance.ts";
import { requireFolder } from "./require-folder.ts";
import { stopOnSignals } from "./stop-signals.ts";
import type { Terminal } from "./terminal.ts";
import { colour, editedTerminal, terminalOn } from "./terminal.ts";

export interface DirectoryOptions {
  readonly from: string;
  readonly state?: string;
  readonly allowInsecureHttp: boolean;
  readonly allowedBaseUrls?: string;
  readonly allowPrivateFeeds: boolean;
  readonly output: "table" | "json";
}

export interface Session {
  readonly standalone: Standalone;
  readonly stopping: StoppingControl;
  /** Receives the results of a command, with every key redacted. */
  readonly out: Terminal;
  /** Progress, faults and notes. */
  readonly notes: Terminal;
  readonly paint: Paint;
  readonly paintNotes: Paint;
}

const defaultStateFolder = ".wafsync";

/** Opens the directory, does the work, and closes everything. A signal stops the work within a second. */
export async function withSession(
  options: Omit<DirectoryOptions, "output">,
  how: {
    readonly isDryRun: boolean;
    /** Shown by other processes that wait for this one. */
    readonly command: string;
    readonly observer?: (notes: Terminal) => ReconcileObserver;
    readonly onEvent?: (notes: Terminal) => StatusPort["event"];
  },
  work: (session: Session) => Promise<number>,
): Promise<number> {
  await requireFolder(options.from, options.state);
  const redactor = new Redactor();
  const stopping = createStopping(realClock);
  const redact = (text: string): string => redactor.redact(text);
  const out = editedTerminal(terminalOn(process.stdout), redact);
  const notes = editedTerminal(terminalOn(process.stderr), redact);
  const allowedBaseUrls = readAllowedBaseUrls(options.allowedBaseUrls);
  const opened = await openStandalone({
    directory: options.from,
    stateDirectory: options.state ?? join(options.from, defaultStateFolder),
    baseUrls: {
      allowInsecureHttp: options.allowInsecureHttp,
      allowedBaseUrls,
      // The user who runs the command can reach these networks anyway.
      allowPrivateNetworks: true,
    },
    feedPolicy: { allowInsecureHttp: options.allowInsecureHttp, allowPrivateFeeds: options.allowPrivateFeeds },
    version: packageJson.version,
    environmentKey: environmentKeyOf(readEnvironment(), allowedBaseUrls),
    isDryRun: how.isDryRun,
    clock: realClock,
    random: Math.random,
    redactor,
    command: how.command,
    locks: processLocks(how.command, notes),
    stopping,
    observer: how.observer?.(notes) ?? {},
    ...(how.onEvent === undefined ? {} : { onEvent: how.onEvent(notes) }),
  });
  if (!opened.ok) throw new CommandError(opened.problem);
  const removeHandlers = stopOnSignals(stopping);
  try {
    const paint: Paint = (style, text) => colour(process.stdout, style, text);
    const paintNotes: Paint = (style, text) => colour(process.stderr, style, text);
    const { standalone } = opened;
    return unlessLost(standalone, await work({ standalone, stopping, out, notes, paint, paintNotes }));
  } catch (error) {
    throw redactError(error, redact);
  } finally {
    removeHandlers();
    await opened.standalone.close();
    for (const problem of opened.standalone.problems()) {
      notes.line(`${colour(process.stderr, "yellow", "warning:")} ${visibleText(problem)}`);
    }
    stopping.done();
  }
}

/** @throws CommandError if the state directory was lost */
function unlessLost(standalone: Standalone, code: number): number {
  const lost = standalone.lost();
  if (lost !== undefined) throw new CommandError(lost);
  return code;
}

/**
 * Prints the errors and notes about the files, each with its place. Returns true if there is any error.
 * @param printed For a command that keeps running: the lines of the last call, which are not repeated. Updated by this call.
 */
export async function printFaults({ standalone, notes, paintNotes }: Session, printed?: Set<string>): Promise<boolean> {
  const { faults, unattached } = standalone.faults();
  const lines: string[] = [];
  for (const fault of faults) {
    const isError = fault.severity === "Error";
    // Transient faults would only distract a user who edits the files while they are watched.
    if (!isError && fault.isTransient && printed !== undefined) continue;
    lines.push(`${isError ? paintNotes("red", "error:") : paintNotes("dim", "note:")} ${faultText(fault)}`);
  }
  for (const { place, problem } of unattached) {
    lines.push(`${paintNotes("red", "error:")} ${visibleText(`${place}: spec.instanceRef: ${problem}`)}`);
  }
  for (const name of await standalone.orphaned()) {
    lines.push(
      `${paintNotes("yellow", "warning:")} WafInstance ${nameKey(name)} is no longer declared, and its managed entries stay on its WAF. If you renamed or moved it, add the annotation ${continuesAnnotation}: ${nameKey(name)} to the new instance, which then continues to manage them. To remove them from the WAF, declare the instance again without rules and origins.`,
    );
  }
  for (const line of lines) if (printed?.has(line) !== true) notes.line(line);
  printed?.clear();
  for (const line of lines) printed?.add(line);
  return faults.some(({ severity }) => severity === "Error") || unattached.length > 0;
}

/** Prints the problems of feeds, and why instances cannot be reconciled, each with its place. */
export function printTroubles({ standalone, notes, paintNotes }: Session, views: readonly InstanceView[]): void {
  for (const problem of standalone.feedProblems()) {
    notes.line(`${paintNotes("yellow", "warning:")} ${visibleText(problem)}`);
  }
  for (const { namespace, name, place, trouble } of views) {
    if (trouble === undefined) continue;
    const text = `${place}: WafInstance ${namespace}/${name}: ${trouble}`;
    notes.line(`${paintNotes("red", "error:")} ${visibleText(text)}`);
  }
}

/** The message for a folder without a valid instance. */
export function noInstance(isFaulty: boolean, act: string): string {
  if (isFaulty) return `No WafInstance in this folder is valid, so there is nothing to ${act}.`;
  return `There is no WafInstance in this folder, so there is nothing to ${act}.`;
}
