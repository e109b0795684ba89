// `wafsync status`: shows every instance, its pending writes with their remaining time, and its removals on hold with the command
// that approves them.
import { realClock } from "../async/clock.ts";
import { inThousands } from "../model/sentence.ts";
import { visibleTexts } from "../model/visible-text.ts";
import { redactError } from "./describe-error.ts";
import { holdLines } from "./hold-lines.ts";
import type { Paint } from "./print-instance.ts";
import type { StatusView } from "./status-view.ts";
import { viewStatus } from "./status-view.ts";
import { withStopSignals } from "./stop-signals.ts";
import { tableLines } from "./table.ts";
import { openTarget } from "./targets/open-target.ts";
import { planningWords } from "./targets/target-words.ts";
import type { TargetOptions } from "./targets/target.ts";
import { chosenInstances } from "./targets/target.ts";
import { colour, terminalOn } from "./terminal.ts";

export interface StatusOptions extends TargetOptions {
  readonly watch: boolean;
  readonly output: "table" | "json";
}

const watchMs = 2_000;
const objectsShownMax = 20;
const clearScreen = "\u001b[H\u001b[2J";
const header = ["INSTANCE", "DOMAIN", "READY", "REASON", "BLOCKED", "ALLOWED", "PENDING", "ON HOLD", "LAST SYNC"];

/** @returns 0 if all objects are Ready, otherwise 1; 130 if a signal stopped the watch. */
export async function runStatus(options: StatusOptions): Promise<number> {
  const out = terminalOn(process.stdout);
  if (!options.watch) {
    const views = await readViews(options);
    out.write(textOf(views, options));
    return views.every(isWell) ? 0 : 1;
  }
  return await withStopSignals(async ({ stop }) => {
    let last = "";
    while (!stop.aborted) {
      const text = textOf(await readViews(options), options);
      // A file or a pipe gets only changes.
      if (text !== last) out.write(`${out.isInteractive ? clearScreen : last === "" ? "" : "\n"}${text}`);
      last = text;
      await realClock.sleep(watchMs, stop);
    }
    // The shell's prompt starts on a new line.
    if (out.isInteractive) out.line();
    return 130;
  });
}

async function readViews(options: StatusOptions): Promise<readonly StatusView[]> {
  const target = await openTarget(options);
  try {
    const views: StatusView[] = [];
    for (const instance of await chosenInstances(target, options.instance)) {
      const { gathered, statusOf, gaps } = await target.look(instance, { live: false });
      views.push(
        visibleTexts(
          viewStatus({
            instance,
            rules: gathered.rules.map(({ rule }) => rule.meta),
            origins: gathered.origins.map(({ meta }) => meta),
            statusOf,
            gaps,
            words: planningWords(options, gathered.instance),
          }),
        ),
      );
    }
    return views;
  } catch (error) {
    throw redactError(error, (text) => target.redactor.redact(text));
  } finally {
    await target.close();
  }
}

function isWell({ ready, objects }: StatusView): boolean {
  return ready === "True" && objects.length === 0;
}

function textOf(views: readonly StatusView[], { output }: StatusOptions): string {
  if (output === "json") return `${JSON.stringify({ instances: views }, undefined, 2)}\n`;
  const paint: Paint = (style, text) => colour(process.stdout, style, text);
  const lines = tableLines(
    header,
    views.map((view) => rowOf(view, paint)),
  );
  for (const view of views) lines.push(...detailsOf(view, paint));
  return lines.map((line) => `${line}\n`).join("");
}

function rowOf(view: StatusView, paint: Paint): string[] {
  const { instance, domain = "", ready, reason, blocklist, allowlist, lastSyncTime = "never" } = view;
  const sum = (field: "pending" | "held"): string =>
    blocklist === undefined ? "" : inThousands(blocklist[field] + (allowlist?.[field] ?? 0));
  const style = ready === "True" ? "green" : ready === "False" ? "red" : "yellow";
  const live = (counts: StatusView["blocklist"]): string => (counts === undefined ? "" : inThousands(counts.live));
  return [
    instance,
    domain,
    paint(style, ready),
    reason,
    live(blocklist),
    live(allowlist),
    sum("pending"),
    sum("held"),
    lastSyncTime,
  ];
}

function detailsOf(view: StatusView, paint: Paint): string[] {
  const { instance, ready, message, onHold, approve, objects, gaps } = view;
  // Removals on hold are listed separately, by the rule that last declared the entries.
  const summary = onHold.length > 0 && view.reason === "Held" ? [] : [`  ${message}`];
  const lines = ready === "True" ? [] : ["", paint("bold", instance), ...summary];
  lines.push(...holdLines(onHold));
  if (approve !== undefined) lines.push(paint("yellow", `  To see and approve them: ${approve}`));
  for (const object of objects.slice(0, objectsShownMax)) {
    const { kind, name, progress, reason } = object;
    lines.push(
      "",
      `${kind} ${name}: ${reason === "" ? "Unknown" : reason}${progress === "" ? "" : ` (${progress})`}`,
      `  ${object.message}`,
    );
  }
  const left = objects.length - objectsShownMax;
  if (left > 0) lines.push("", `… and ${inThousands(left)} more objects that are not Ready`);
  return [...lines, ...gaps.map((gap) => paint("dim", `note: ${gap}`))];
}
