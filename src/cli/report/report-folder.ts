// The data that the folder of an instance adds to a report: exemptions, the entries that rules declare, and the history of the
// lists.
import { NetworkIndex } from "../../model/entry-set.ts";
import type { Entry } from "../../model/entry.ts";
import type { HistoryEvent } from "../../model/history.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { DesiredState } from "../../plan/instance/desired.ts";
import type { Shown } from "../../model/observed.ts";
import { compileDesired } from "../../plan/instance/desired.ts";
import type { Exemption } from "./report-clients.ts";
import type { Period } from "./time-bars.ts";
import { type BlockSuggestions, suggestionsIn } from "./block-suggestions.ts";
import { exemptionOf } from "./exempt-hosts.ts";
import { CommandError } from "../describe-error.ts";
import { openFolder } from "../targets/folder-target.ts";
import type { InstanceSight, LiveLists, TargetOptions } from "../targets/target.ts";
import { whyLines } from "../print-why.ts";
import { viewWhy } from "../why-view.ts";

export interface ReportFolder {
  readonly exemptions: readonly Exemption[];
  /** The entries of the Block rules. */
  readonly declared: NetworkIndex;
  /** Undefined if it can't be read. */
  readonly changes: readonly HistoryEvent[] | undefined;
  readonly notes: readonly string[];
  /** @param shown whom the WAF itself exempts, if it was read */
  suggestions(shown: Shown | undefined): readonly BlockSuggestions[];
  /** The lines of `wafsync why`. */
  whyLines(entry: Entry, live: LiveLists): Promise<readonly string[]>;
}

/** @throws CommandError if the folder can't be read */
export async function readReportFolder(
  options: TargetOptions,
  directory: string,
  instance: ObjectName,
  { period, nowMs }: { readonly period: Period; readonly nowMs: number },
): Promise<ReportFolder> {
  const target = await openFolder(options, directory);
  try {
    const sight = await target.look(instance, { live: false });
    const desired = compileDesired(sight.gathered, nowMs, sight.inventory?.entries);
    const history = await readHistory(async () => await target.history(instance));
    return {
      exemptions: exemptionsOf(sight, desired),
      declared: new NetworkIndex(desired.lists.blocklist.keys()),
      changes: history.events?.filter(({ atMs }) => atMs >= period.startMs && atMs < period.endMs),
      notes: [...sight.gaps, ...(history.problem === undefined ? [] : [history.problem])],
      suggestions: (shown) => suggestionsIn(compileDesired(sight.gathered, nowMs, sight.inventory?.entries, shown)),
      whyLines: async (entry, live) =>
        whyLines(entry, await viewWhy(entry, { ...sight, live }, nowMs), (_style, text) => text),
    };
  } finally {
    await target.close();
  }
}

async function readHistory(
  read: () => Promise<readonly HistoryEvent[]>,
): Promise<{ readonly events?: readonly HistoryEvent[]; readonly problem?: string }> {
  try {
    return { events: await read() };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return { problem: `The changes to the lists are not shown: ${error.message}` };
  }
}

/** Includes Allow rules that another rule overrides: a person decided that these addresses should not be blocked. */
function exemptionsOf({ gathered }: InstanceSight, { rules }: DesiredState): Exemption[] {
  const allowed = rules
    .filter(({ rule, expired, isAttached }) => rule.action === "Allow" && !expired && isAttached)
    .flatMap(({ parts }) => parts.flatMap(({ entries }) => [...entries.keys()]));
  return [
    { why: "an Allow rule", networks: new NetworkIndex(allowed) },
    exemptionOf("neverBlock", gathered.instance.guards.neverBlock),
    exemptionOf(
      "a declared origin",
      gathered.origins.map(({ host }) => host),
    ),
    exemptionOf(
      "a WafAutoBlock",
      (gathered.autoBlocks ?? []).flatMap(({ exempt }) => exempt),
    ),
  ];
}
