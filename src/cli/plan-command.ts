// `wafsync plan`: shows what would change, and why. Reads the WAF and writes nothing.
import type { DirectoryOptions } from "./directory-session.ts";
import { noInstance, printFaults, printTroubles, withSession } from "./directory-session.ts";
import type { InstanceView } from "./instance-view.ts";
import { viewResult } from "./instance-view.ts";
import { planLines } from "./print-instance.ts";

/** @returns 0 if there is nothing to do, 1 if there are changes, 2 if files or an API are faulty, 130 if it was stopped. */
export async function runPlan(options: DirectoryOptions): Promise<number> {
  return await withSession(options, { isDryRun: true, command: "wafsync plan" }, async (session) => {
    const { standalone, out, paint } = session;
    const previews = await standalone.preview();
    if (session.stopping.stop.aborted) {
      session.notes.line("Stopped before the plan was made.");
      return 130;
    }
    const views = previews.map(({ facts, pendingClears }) => viewResult(facts, standalone, pendingClears));
    const isFaulty = await printFaults(session);
    if (options.output === "json") out.line(JSON.stringify({ instances: views }, undefined, 2));
    else for (const view of views) for (const line of planLines(view, paint, isFaulty)) out.line(line);
    printTroubles(session, views);
    if (views.length === 0) session.notes.line(noInstance(isFaulty, "plan"));
    if (isFaulty || views.length === 0 || views.some(isWrong)) return 2;
    return views.some(({ operations, held }) => operations.length + held.length > 0) ? 1 : 0;
  });
}

/** Invalid parts are not in the plan, so the plan is not that of the whole folder. */
function isWrong({ trouble, objects }: InstanceView): boolean {
  return trouble !== undefined || objects.some(({ isAccepted }) => !isAccepted);
}
