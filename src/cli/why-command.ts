// `wafsync why`: shows what blocks or allows an address, and what would have to change.
import type { WhyOptions } from "./commands/incident-commands.ts";
import { parseAddress } from "./arguments.ts";
import { withTarget, chosenInstances, targetWords } from "./targets/open-target.ts";
import { allWhyLines, explainOn } from "./why-view.ts";

const exitCodes = { Blocked: 0, NotBlocked: 1, Allowed: 3 } as const;

/** @returns 0 if a WAF blocks the address, otherwise 3 if a WAF allows it, otherwise 1. */
export async function runWhy(text: string, options: WhyOptions): Promise<number> {
  const address = parseAddress(text);
  return await withTarget(options, async (target, { out, notes }) => {
    const views = await explainOn(target, await chosenInstances(target, options.instance), address);
    if (options.output === "json") out.json({ address, instances: views });
    else {
      for (const line of allWhyLines(address, views, out.paint, targetWords(options))) out.line(line);
      for (const gap of new Set(views.flatMap(({ gaps }) => gaps))) notes.remark("note", gap);
    }
    const found = (["Blocked", "Allowed"] as const).find((verdict) => views.some((view) => view.verdict === verdict));
    return exitCodes[found ?? "NotBlocked"];
  });
}
