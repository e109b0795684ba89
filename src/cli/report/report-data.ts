// The data that a report shows, from what was read from the WAF, and from the folder of the instance.
import { stringify } from "yaml";
import type { Entry } from "../../model/entry.ts";
import type { ObjectName } from "../../model/resource.ts";
import { dayMs } from "../../model/time-text.ts";
import { dayOf, formatDay } from "../../reconcile/logs/log-days.ts";
import type { CollectedReport } from "./collect-report.ts";
import { ClientLists, addressesToBlock, exemptionOf } from "./report-clients.ts";
import type { ListState } from "./report-clients.ts";
import type { ReportFolder } from "./report-folder.ts";
import type { ClientCount, LogReportSummary, NetworkCount, Period } from "./report-statistics.ts";

/** Addresses change owners, so only a person should decide on a rule that never expires. */
const daysBlocked = 7;
const unknownInstance = "my-waf";

export interface ReportData {
  readonly summary: LogReportSummary;
  /** `2026-11-15 to 2026-11-21`. */
  readonly period: string;
  readonly clients: readonly (ClientCount & { readonly lists: ListState })[];
  readonly networks: readonly (NetworkCount & { readonly lists: ListState })[];
  /** The domain of the WAF; undefined if the API did not return it. */
  readonly domain: string | undefined;
  readonly madeAtMs: number;
  /** A rule that blocks the clients that are not on the blocklist; undefined if there are none. */
  readonly suggestedRule: string | undefined;
  /** Why the report is incomplete, such as missing rows, or days that the plan does not keep. */
  readonly warnings: readonly string[];
  /** What the folder could not tell. Unlike `warnings`, this does not make the report incomplete. */
  readonly notes: readonly string[];
  readonly version: string;
}

export interface ReportContext {
  readonly redact: (text: string) => string;
  readonly instance: ObjectName | undefined;
  /** Undefined without a folder. */
  readonly folder: ReportFolder | undefined;
  readonly period: string;
  readonly warnings: readonly string[];
  readonly madeAtMs: number;
  readonly version: string;
}

export function assembleReport(end: CollectedReport, context: ReportContext): ReportData {
  const { redact, instance, folder, period, madeAtMs, version } = context;
  const { summary, domain, primaryOrigin } = end;
  const lists = new ClientLists({
    blocklist: end.blocklist.ok ? end.blocklist.value : undefined,
    allowlist: end.allowlist.ok ? end.allowlist.value : undefined,
    exemptions: [
      // An address or a host name, as the API returns it.
      ...(primaryOrigin === undefined ? [] : [exemptionOf("the primary origin", [primaryOrigin])]),
      ...(folder?.exemptions ?? []),
    ],
    declared: folder?.declared,
  });
  const clients = summary.clients.items.map((client) => ({ ...client, lists: lists.stateOf(client.entry) }));
  const networks = summary.networks.items.map((network) => ({ ...network, lists: lists.stateOf(network.entry) }));
  return {
    summary,
    period,
    clients,
    networks,
    domain: domain === undefined ? undefined : redact(domain),
    madeAtMs,
    suggestedRule: suggestRule(addressesToBlock(clients), instance, summary.period, madeAtMs),
    warnings: context.warnings.map(redact),
    notes: (folder?.notes ?? []).map(redact),
    version,
  };
}

/** A WafIpRule, as YAML to copy; undefined if there is nothing to block. */
function suggestRule(
  addresses: readonly Entry[],
  instance: ObjectName | undefined,
  { startMs, endMs }: Period,
  nowMs: number,
): string | undefined {
  if (addresses.length === 0) return undefined;
  const [firstDay, lastDay] = [dayOf(startMs), dayOf(endMs - 1)];
  const rule = {
    apiVersion: "wafsync.dev/v1alpha1",
    kind: "WafIpRule",
    metadata: {
      name: `top-clients-${formatDay(lastDay)}`,
      ...(instance !== undefined && { namespace: instance.namespace }),
    },
    spec: {
      instanceRef: { name: instance?.name ?? unknownInstance },
      action: "Block",
      description: `Most blocked requests from ${formatDay(firstDay)} to ${formatDay(lastDay)}`,
      // Not a `ttl`, which counts from the creation of the object: a file has no creation time.
      expiresAt: new Date(nowMs + daysBlocked * dayMs).toISOString().replace(/\.\d+/, ""),
      addresses,
    },
  };
  const named = instance === undefined ? `# Replace ${unknownInstance} with the name of your WafInstance.\n` : "";
  return `# Check the addresses first: one of them may be a proxy that many people share.\n${named}${stringify(rule)}`;
}
