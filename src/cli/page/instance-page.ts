// The page of one WAF: its state, what is waiting and why, removals on hold, its lists over time, and its history.
import type { InstanceSummary, Summary } from "../../api/summary.ts";
import type { HistoryEvent } from "../../model/history.ts";
import { counted } from "../../model/sentence.ts";
import type { Markup } from "../report/html.ts";
import { html } from "../report/html.ts";
import { entriesOverTime } from "./entries-over-time.ts";
import { historyTable, newestRows } from "./history-rows.ts";
import { ageOf, objectSection, stateMark, tiles } from "./overview-page.ts";
import { entriesChart } from "./page-charts.ts";
import { copyable, framed, instancePath, part, shown, warnings } from "./page-frame.ts";

const historyRowsMax = 20;

/** `problem` is the reason why the history could not be read. */
export type ReadHistory =
  | { readonly ok: true; readonly events: readonly HistoryEvent[] }
  | { readonly ok: false; readonly problem: string };

export function instancePage(
  { where, version, generatedAt, gaps }: Summary,
  instance: InstanceSummary,
  history: ReadHistory,
  nowMs: number,
): string {
  const name = instance.instance;
  return framed({
    title: name,
    where,
    version,
    live: `${name}: ${instance.ready === "True" ? "ready" : instance.message}`.slice(0, 300),
    searched: { address: "", instance: name },
    body: [
      html`<div data-part="title">
        <h1>${shown(name)}</h1>
        <p class="quiet">
          ${instance.domain === undefined ? "" : `${shown(instance.domain)}, `}as of <time>${generatedAt}</time>
        </p>
        <p class="lost-note" role="alert">The connection is lost: this page shows the last known state.</p>
      </div>`,
      ...warnings("gaps", "Not everything is shown", gaps),
      stateSection(instance, generatedAt),
      ...listTiles(instance),
      ...holdSection(instance),
      ...objectSection("Objects that are not ready", "objects", instance.objects, instance.notReady),
      ...historySections(instance, history, nowMs),
      part(
        "requests",
        "Blocked requests",
        html`<p><a href="${instancePath(name)}/requests">Show the newest blocked requests</a></p>
          <p class="quiet">This reads the WAF's log, which takes a moment.</p>`,
      ),
    ],
  });
}

function stateSection(instance: InstanceSummary, now: string): Markup {
  const { message, suspended, lastSyncTime, rules, origins } = instance;
  const paused = suspended ? html`<p>The instance is suspended: wafsync writes nothing to the WAF.</p>` : html``;
  return part(
    "state",
    "State",
    html`<p>${stateMark(instance)}</p>
      <p>${shown(message, 2_000)}</p>
      ${paused}
      <p class="quiet">
        ${counted(rules, "rule", "rules")}, ${counted(origins, "origin", "origins")}. Last complete read:
        ${ageOf(lastSyncTime, now)}.
      </p>`,
  );
}

function listTiles({ blocklist, allowlist }: InstanceSummary): Markup[] {
  if (blocklist === undefined || allowlist === undefined) return [];
  return [
    tiles([
      ["Blocked", blocklist.live],
      ["Blocked, managed", blocklist.managed],
      ["Allowed", allowlist.live],
      ["Allowed, managed", allowlist.managed],
      ["Pending writes", blocklist.pending + allowlist.pending],
      ["Removals on hold", blocklist.held + allowlist.held],
    ]),
  ];
}

function holdSection({ onHold, heldPlan, approve }: InstanceSummary): Markup[] {
  if (onHold.length === 0 && heldPlan === undefined) return [];
  const groups = onHold.map(
    ({ list, count, owners, examples, reason }) =>
      html`<li>
        ${counted(count, "removal", "removals")} from the
        ${list}${owners === "" ? "" : html`, last declared by ${shown(owners)}`}:
        <code>${shown(examples.join(", "))}${count > examples.length ? ", …" : ""}</code><br />
        <span class="quiet">${shown(reason, 1_200)}</span>
      </li>`,
  );
  const command =
    approve === undefined
      ? html``
      : html`<p>To see and approve them: ${copyable(approve)}</p>
          <p class="quiet">Hash: ${copyable(heldPlan ?? "")}</p>`;
  return [
    part(
      "holds",
      "Removals on hold",
      html`<ul>
          ${groups}
        </ul>
        ${command}`,
      "warning",
    ),
  ];
}

function historySections(instance: InstanceSummary, history: ReadHistory, nowMs: number): Markup[] {
  if (!history.ok) return [part("history", "History", html`<p>${shown(history.problem, 1_000)}</p>`)];
  const { events } = history;
  const { blocklist, allowlist, instance: name } = instance;
  const now = { blocklist: blocklist?.managed ?? 0, allowlist: allowlist?.managed ?? 0 };
  const over = blocklist === undefined ? undefined : entriesOverTime(events, now, nowMs);
  const chart =
    over === undefined
      ? []
      : [
          part(
            "lists",
            "Managed entries over time",
            html`${entriesChart(over)}
              <p class="quiet">
                Computed from the recorded history, which does not include changes by other writers.
              </p>`,
          ),
        ];
  const rows = newestRows(name, events, undefined, historyRowsMax);
  const all = html`<p><a href="${instancePath(name)}/history">Search the whole history</a></p>`;
  return [...chart, part("history", "History", html`${historyTable(rows)}${rows.rows.length === 0 ? "" : all}`)];
}
