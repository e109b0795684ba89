// `wafsync plan`: shows what would change, and why. Reads the WAF and writes nothing.
import { visibleText } from "../model/visible-text.ts";
import type { PlanOptions } from "./commands/folder-commands.ts";
import { noInstance, printFaults, printTroubles } from "./folder-faults.ts";
import { viewResult } from "./instance-view.ts";
import { differsFromDeclared, isPartial, planLines } from "./print-instance.ts";
import { withStandalone } from "./targets/folder-runs.ts";
import { remark } from "./terminal.ts";

/**
 * @returns 0 if there is nothing to do, 1 if there are changes or a feed has a problem, 2 if there is an error in a file or a call, 130 if it was
 * stopped.
 */
export async function runPlan(options: PlanOptions): Promise<number> {
  return await withStandalone(options, { isDryRun: true, command: "wafsync plan" }, async (standalone, session) => {
    const { out, notes, stopping } = session;
    const previews = await standalone.preview();
    if (stopping().stop.aborted) {
      notes.line("Stopped before the plan was complete.");
      return 130;
    }
    const views = previews.map(({ facts, pendingClears }) => viewResult(facts, standalone, pendingClears));
    const { lines: faults, isFaulty } = await printFaults(standalone, notes);
    if (options.output === "json") out.line(JSON.stringify({ instances: views }, undefined, 2));
    else if (options.output === "markdown") {
      const { planMarkdown } = await import("./plan-markdown.ts");
      const texts = faults.map(({ kind, text }) => `${kind}: ${visibleText(text)}`);
      out.line(planMarkdown(views, views.length === 0 ? [...texts, noInstance(isFaulty, "plan")] : texts));
    } else
      for (const line of views.flatMap((view) => planLines(view, out.paint, isFaulty, options.full))) out.line(line);
    printTroubles(standalone, notes, views);
    if (views.length === 0) notes.line(remark(notes.paint, "error", noInstance(isFaulty, "plan")));
    if (isFaulty || views.length === 0 || views.some((view) => view.trouble !== undefined || isPartial(view))) return 2;
    return standalone.feedProblems().length > 0 || views.some(differsFromDeclared) ? 1 : 0;
  });
}
