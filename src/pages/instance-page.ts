// The pages of one WAF: its state, removals on hold, its rules and other objects, and its history.
import type { InstanceSummary, ObjectSummary, Summary } from "../kinds/summary.ts";
import { byNeed, waitReason } from "../cli/summarize.ts";
import { type HistoryRow, historyColumns, rowOf } from "../cli/history-command.ts";
import type { AddressCover } from "../address/ranges.ts";
import type { HistoryEvent } from "../history/events.ts";
import { counted, shortened } from "../model/sentence.ts";
import { filterForm, framed, liveTitle } from "./frame.ts";
import { type Markup, html } from "./html.ts";
import { objectSection } from "./overview-page.ts";
import type { Column } from "./parts.ts";
import { ageOf, copyable, dataTable, instancePath, section, stateMark, tiles, warnings } from "./parts.ts";
import { holdLines } from "../cli/object-view.ts";

/** The newest changes, and what a search finds. */
const newestRowsMax = 20;
const foundRowsMax = 200;
const objectsShownMax = 200;
const cellLengthMax = 600;

/** `problem` is the reason why the history could not be read. */
export type ReadHistory =
  | { readonly ok: true; readonly events: readonly HistoryEvent[] }
  | { readonly ok: false; readonly problem: string };

export interface InstanceParts {
  /** Everything that refers to the instance. */
  readonly objects: readonly ObjectSummary[];
  readonly history: ReadHistory;
  /** The address whose covering entries the history is searched for; undefined for the newest changes. */
  readonly searched: AddressCover | "Everything" | undefined;
}

export function instancePage(
  { where, version, generatedAt, gaps }: Summary,
  instance: InstanceSummary,
  { objects, history, searched }: InstanceParts,
): string {
  const name = instance.instance;
  const requests = html`<p><a href="${instancePath(name)}/requests">Show the newest blocked requests</a></p>
    <p class="quiet">This reads the WAF's log, which takes a moment.</p>`;
  return framed({
    title: name,
    where,
    version,
    live: `${name}: ${instance.ready === "True" ? "ready" : instance.message}`,
    searched: { address: "", instance: name },
    body: [
      liveTitle(name, generatedAt, instance.domain),
      ...warnings("Not everything is shown", gaps),
      stateSection(instance, generatedAt),
      ...listTiles(instance),
      ...holdSection(instance),
      ...objectSection("Rules and other objects", "objects", byNeed(objects), objectsShownMax),
      historySection(instance, history, searched, generatedAt),
      section("requests", "Blocked requests", requests),
    ],
  });
}

function stateSection(instance: InstanceSummary, now: string): Markup {
  const { ready, message, suspended, lastSyncTime, rules, origins } = instance;
  const paused = suspended ? html`<p>The instance is suspended: wafsync writes nothing to the WAF.</p>` : "";
  return section(
    "state",
    "State",
    html`<p>${stateMark(instance)}</p>
      <p>${shortened(ready === "True" ? message : waitReason(instance), 2_000)}</p>
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
      { name: "Blocked", value: blocklist.live },
      { name: "Blocked, managed", value: blocklist.managed },
      { name: "Allowed", value: allowlist.live },
      { name: "Allowed, managed", value: allowlist.managed },
      { name: "Pending writes", value: blocklist.pending + allowlist.pending },
      { name: "Removals on hold", value: blocklist.held + allowlist.held },
    ]),
  ];
}

function holdSection({ onHold, heldPlan = "", approve }: InstanceSummary): Markup[] {
  if (onHold.length === 0 && heldPlan === "") return [];
  const lines = holdLines(onHold, Infinity).map((line) => shortened(line.slice(2), cellLengthMax));
  const command = html`<p>To see and approve them: ${copyable(approve ?? "")}</p>
    <p class="quiet">Hash: ${copyable(heldPlan)}</p>`;
  const content = [html`<pre>${lines.join("\n")}</pre>`, ...(approve === undefined ? [] : [command])]; // prettier-ignore
  return [section("holds", "Removals on hold", content, "warning")];
}

function historySection(
  instance: InstanceSummary,
  history: ReadHistory,
  searched: InstanceParts["searched"],
  now: string,
): Markup {
  if (!history.ok) return section("history", "History", html`<p>${shortened(history.problem, 1_000)}</p>`);
  const { events } = history;
  const cover = searched === "Everything" ? undefined : searched;
  const rows = events.flatMap((event) => rowOf(instance.instance, event, cover)).toReversed();
  const filter = { label: "Entries that cover this address", name: "address", value: cover?.entry ?? "" };
  const found = dataTable("History", columnsOf(now), rows, searched === undefined ? newestRowsMax : foundRowsMax);
  return section("history", "History", [
    ...(events.length === 0 ? [] : [filterForm(`${instancePath(instance.instance)}#history`, filter)]),
    rows.length === 0 ? html`<p>No changes are recorded.</p>` : found,
  ]);
}

const kinds: Readonly<Record<string, Column<HistoryRow>["kind"]>> = { Entries: "words", For: "text", Note: "text" };

function columnsOf(now: string): readonly Column<HistoryRow>[] {
  const time: Column<HistoryRow> = { title: "Time", kind: "time", cell: ({ time: at }) => ageOf(at, now) };
  const others = historyColumns.filter(({ title }) => title !== "Time" && title !== "Instance");
  return [
    time,
    ...others.map(({ title, cell }): Column<HistoryRow> => {
      return { title, kind: kinds[title], cell: (row) => shortened(cell(row), cellLengthMax) };
    }),
  ];
}
