// `wafsync why`: shows what blocks or allows an address, and what would have to change.
import type { Entry } from "../address/entry.ts";
import type { ObjectName } from "../model/resource.ts";
import type { WhyOptions } from "./commands/incident-commands.ts";
import { parseAddress } from "./arguments.ts";
import { adviceLines, combineUnaffected, whyLines, whyMarkdown } from "./print-why.ts";
import { withTarget } from "./targets/open-target.ts";
import { chosenInstances, targetWords } from "./targets/target-options.ts";
import type { Target } from "./targets/target.ts";
import { remark } from "./terminal.ts";
import { type WhyView, examineSight, viewWhy } from "./why-view.ts";

const exitCodes = { Blocked: 0, NotBlocked: 1, Allowed: 3 } as const;

/** @returns 0 if a WAF blocks the address, otherwise 3 if a WAF allows it, otherwise 1. */
export async function runWhy(text: string, options: WhyOptions): Promise<number> {
  const address = parseAddress(text);
  return await withTarget(options, async (target, { out, notes }) => {
    const views = await explainOn(target, await chosenInstances(target, options.instance), address);
    if (options.output === "json") out.line(JSON.stringify({ address, instances: views }, undefined, 2));
    else if (options.output === "markdown") out.line(whyMarkdown(address, views));
    else {
      const { shown, line: others } = combineUnaffected(address, views);
      for (const [place, view] of shown.entries()) {
        if (place > 0) out.line();
        for (const line of whyLines(address, view, out.paint)) out.line(line);
        for (const line of adviceLines(address, view, targetWords(options))) out.line(`\n${line}`);
      }
      if (others !== undefined) out.line(shown.length === 0 ? others : `\n${others}`);
      for (const gap of new Set(views.flatMap(({ gaps }) => gaps))) notes.line(remark(notes.paint, "note", gap));
    }
    return exitCodeOf(views);
  });
}

/** What blocks or allows the address on each of the instances. */
export async function explainOn(
  target: Pick<Target, "look">,
  instances: readonly ObjectName[],
  address: Entry,
): Promise<readonly WhyView[]> {
  const views: WhyView[] = [];
  for (const instance of instances) {
    const sight = await target.look(instance, { live: true, blocked: address });
    views.push(await viewWhy(address, await examineSight(sight)));
  }
  return views;
}

function exitCodeOf(views: readonly WhyView[]): number {
  const found = (["Blocked", "Allowed"] as const).find((verdict) => views.some((view) => view.verdict === verdict));
  return exitCodes[found ?? "NotBlocked"];
}
