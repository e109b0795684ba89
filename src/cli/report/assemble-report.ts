// Assembles the data of a report from what was read from the WAF, and from the folder of the instance.
import type { Entry } from "../../model/entry.ts";
import type { ObjectName } from "../../model/resource.ts";
import { ClientLists, addressesToBlock } from "./report-clients.ts";
import { observeSpellings } from "../../model/entry-set.ts";
import type { Shown } from "../../model/observed.ts";
import type { LiveLists } from "../targets/target.ts";
import type { CollectedReport } from "./collect-report.ts";
import { primaryOriginExemption } from "./exempt-hosts.ts";
import type { FocusView, ReportData } from "./report-data.ts";
import type { ReportFocus } from "./report-focus.ts";
import type { ReportFolder } from "./report-folder.ts";
import { suggestRule } from "./suggested-rule.ts";

export interface ReportContext {
  readonly redact: (text: string) => string;
  readonly instance: ObjectName | undefined;
  readonly focus: ReportFocus;
  /** Undefined without a folder. */
  readonly folder: ReportFolder | undefined;
  readonly period: string;
  readonly previousPeriod: string | undefined;
  readonly isCompared: boolean;
  readonly warnings: readonly string[];
  readonly madeAtMs: number;
  readonly version: string;
}

export async function assembleReport(end: CollectedReport, context: ReportContext): Promise<ReportData> {
  const { redact, instance, focus, folder, period, madeAtMs, version } = context;
  const { summary, newest, domain } = end;
  const lists = new ClientLists({
    blocklist: end.blocklist.ok ? end.blocklist.value : undefined,
    allowlist: end.allowlist.ok ? end.allowlist.value : undefined,
    exemptions: [...primaryOriginExemption(end.primaryOrigin), ...(folder?.exemptions ?? [])],
    declared: folder?.declared,
  });
  const clients = summary.clients.items.map((client) => ({ ...client, lists: lists.stateOf(client.entry) }));
  const networks = summary.networks.items.map((network) => ({ ...network, lists: lists.stateOf(network.entry) }));
  const live = liveListsOf(end);
  const focusViews = await Promise.all(
    focus.entries.map(async (entry: Entry): Promise<FocusView> => ({
      entry,
      lists: lists.stateOf(entry),
      inside: lists.inside(entry),
      why: ((await folder?.whyLines(entry, live)) ?? []).map(redact),
    })),
  );
  const before = comparisonOf(end, context);
  return {
    summary,
    period,
    clients,
    networks,
    before: before.counts && { period: context.previousPeriod ?? "", counts: before.counts },
    focus: focusViews,
    newest,
    changes: folder?.changes?.map((event) => ({ ...event, note: redact(event.note) })),
    domain: domain === undefined ? undefined : redact(domain),
    madeAtMs,
    suggestedRule: suggestRule(addressesToBlock(clients), instance, summary.period, madeAtMs),
    suggestions: (folder?.suggestions(shownIn(end)) ?? []).map((one) => ({ ...one, rule: redact(one.rule) })),
    warnings: context.warnings.map(redact),
    notes: [...before.notes, ...(folder?.notes ?? [])].map(redact),
    version,
  };
}

/** An empty previous period is not compared, because the plan of the WAF may no longer keep its rows. */
function comparisonOf(
  { before, previousFault }: CollectedReport,
  { previousPeriod, isCompared }: ReportContext,
): { readonly counts: CollectedReport["before"]; readonly notes: readonly string[] } {
  if (before !== undefined && before.total > 0) return { counts: before, notes: [] };
  if (!isCompared || previousFault !== undefined) return { counts: undefined, notes: [] };
  if (before === undefined || previousPeriod === undefined) {
    return {
      counts: undefined,
      notes: [
        "This report has no comparison with the previous period, because the plan of the WAF does not keep its logs.",
      ],
    };
  }
  return {
    counts: undefined,
    notes: [
      `This report has no comparison with the previous period (${previousPeriod}), because the WAF returned no such requests for it. Either none were blocked, or the plan of the WAF no longer keeps these logs.`,
    ],
  };
}

function shownIn({ blocklist, allowlist, primaryOrigin }: CollectedReport): Shown | undefined {
  if (!blocklist.ok || !allowlist.ok) return undefined;
  const lists = { blocklist: observeSpellings(blocklist.value), allowlist: observeSpellings(allowlist.value) };
  return { lists, ...(primaryOrigin !== undefined && { primaryOrigin }) };
}

function liveListsOf({ blocklist, allowlist }: CollectedReport): LiveLists {
  if (!blocklist.ok) return { state: "Unread", why: blocklist.fault.message };
  if (!allowlist.ok) return { state: "Unread", why: allowlist.fault.message };
  return { state: "Read", lists: { blocklist: blocklist.value, allowlist: allowlist.value } };
}
