// `wafsync plan`: shows what would change, and why. Reads the WAF and writes nothing.
import { stripVTControlCharacters } from "node:util";
import type { DirectoryOptions, Session } from "./directory-session.ts";
import { noInstance, printFaults, printTroubles, withSession } from "./directory-session.ts";
import { viewResult } from "./instance-view.ts";
import { differsFromDeclared, isPartial } from "./plan-summary.ts";
import { planLines } from "./print-plan.ts";

export interface PlanOptions extends Omit<DirectoryOptions, "output"> {
  readonly output: DirectoryOptions["output"] | "markdown";
}

/**
 * @returns 0 if there is nothing to do, 1 if there are changes or a feed has a problem, 2 if there is an error in a file or a call, 130 if it was
 * stopped.
 */
export async function runPlan(options: PlanOptions): Promise<number> {
  return await withSession(options, { isDryRun: true, command: "wafsync plan" }, async (session) => {
    const { standalone, out, paint } = session;
    const previews = await standalone.preview();
    if (session.stopping.stop.aborted) {
      session.notes.line("Stopped before the plan was complete.");
      return 130;
    }
    const views = previews.map(({ facts, pendingClears }) => viewResult(facts, standalone, pendingClears));
    const faults: string[] = [];
    const isFaulty = await printFaults(alsoInto(faults, session));
    if (views.length === 0) faults.push(noInstance(isFaulty, "plan"));
    if (options.output === "json") out.line(JSON.stringify({ instances: views }, undefined, 2));
    else if (options.output === "markdown") {
      const { planMarkdown } = await import("./plan-markdown.ts");
      out.line(planMarkdown(views, faults));
    } else for (const view of views) for (const line of planLines(view, paint, isFaulty)) out.line(line);
    printTroubles(session, views);
    if (views.length === 0)
      session.notes.line(`${session.paintNotes("red", "error:")} ${noInstance(isFaulty, "plan")}`);
    if (isFaulty || views.length === 0 || views.some((view) => view.trouble !== undefined || isPartial(view))) return 2;
    return standalone.feedProblems().length > 0 || views.some(differsFromDeclared) ? 1 : 0;
  });
}

/** Collects notes without colors, for a self-contained comment. */
function alsoInto(lines: string[], session: Session): Session {
  const line = (text = ""): void => {
    lines.push(stripVTControlCharacters(text));
    session.notes.line(text);
  };
  return { ...session, notes: { ...session.notes, line } };
}
