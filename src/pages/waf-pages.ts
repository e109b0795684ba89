// The pages about WAFs. The overview has totals, every WAF with its state and what it is waiting for, and the feeds; what needs attention
// comes first. The page of one WAF has its state, removals on hold, its rules and other objects, and its history. The third page explains
// why an address is blocked or allowed, with the same lines as `wafsync why`.
import type { Entry } from "../address/entry.ts";
import type { FeedSummary, InstanceSummary, ObjectSummary, Summary } from "../kinds/summary.ts";
import { byNeed, countColumns, objectsNotReady, waitReason } from "../cli/summarize.ts";
import { counted, inThousands } from "../model/texts.ts";
import { type Content, filterForm, framed, heading, liveTitle } from "./frame.ts";
import { html, longText, type Markup } from "./html.ts";
import { ageOf, type Column, copyable, dataTable, instancePath, section, stateMark, tiles, warnings } from "./parts.ts";
import { historyColumns, type HistoryRow, rowOf } from "../cli/history-command.ts";
import type { AddressCover } from "../address/ranges.ts";
import type { HistoryEvent } from "../history/events.ts";
import { holdLines } from "../cli/object-view.ts";
import { adviceOn, whyLines, type WhyView } from "../cli/why-view.ts";

const rowsMax = 100;
/** A search for a WAF is offered from this number. */
const findFrom = 10;

/** Part of a name or domain. */
export function findIn(query: URLSearchParams): string {
  return (query.get("find") ?? "").slice(0, 100).trim().toLowerCase();
}

/** The instances with this text in their name or domain. */
export function instancesWith(find: string, instances: readonly InstanceSummary[]): readonly InstanceSummary[] {
  return instances.filter(
    ({ instance, domain = "" }) => instance.includes(find) || domain.toLowerCase().includes(find),
  );
}

export function overviewPage(summary: Summary, find: string): string {
  const { totals, gaps } = summary;
  const title = titleOf(summary);
  return framed(summary, {
    title,
    isLive: true,
    body: [
      liveTitle(title, summary.generatedAt),
      ...warnings("Not everything is shown", gaps),
      tiles([
        { name: "WAFs", value: totals.instances },
        { name: "Not ready", value: totals.notReady },
        { name: "In progress or paused", value: totals.unknown },
        { name: "Blocked", value: totals.blocked },
        { name: "Allowed", value: totals.allowed },
        { name: "Pending writes", value: totals.pending },
        { name: "Removals on hold", value: totals.onHold },
      ]),
      instanceSection(summary, find),
      ...objectSection("Objects without a WAF", "unattached", summary.unattached, Infinity, totals.unattached),
      ...feedSection(summary),
    ],
  });
}

/** For a search over more WAFs than one request may call: the table of WAFs, with links that search one of them. */
export function chooseInstancePage(summary: Summary, find: string, address: Entry, instancesMax: number): string {
  const title = "Choose a WAF";
  const why = `The answer depends on the lists of each WAF, and the page reads at most ${instancesMax} WAFs for one search.`;
  return framed(summary, { title, address, body: [heading(title, why), instanceSection(summary, find, address)] });
}

function titleOf(summary: Summary): string {
  const { instances, notReady, unattached, unknown } = summary.totals;
  const all = counted(instances, "WAF", "WAFs");
  const state = (count: number, words: string): string =>
    instances === 1 ? `The WAF is ${words}` : `${inThousands(count)} of ${all} ${count === 1 ? "is" : "are"} ${words}`;
  if (instances === 0) return "No WAF is declared";
  if (notReady > unattached) return state(notReady - unattached, "not ready");
  if (unknown > 0) return state(unknown, "in progress or paused");
  const objects = objectsNotReady(summary);
  const others = objects === 0 ? "" : `, but ${counted(objects, "object is", "objects are")} not`;
  return `${state(instances, "ready")}${others}`;
}

function instanceColumns(now: string, pathOf: (instance: string) => string): readonly Column<InstanceSummary>[] {
  return [
    { title: "WAF", kind: "name", cell: (instance) => instanceLink(instance, pathOf(instance.instance)) },
    { title: "State", cell: stateMark },
    { title: "Why it waits", kind: "words", cell: whyOf },
    ...countColumns.map(({ title, count }): Column<InstanceSummary> => {
      return { title, kind: "number", cell: (instance) => count(instance) ?? "–" };
    }),
    { title: "Last sync", kind: "time", cell: ({ lastSyncTime }) => ageOf(lastSyncTime, now) },
  ];
}

function whyOf(instance: InstanceSummary): Markup {
  const { ready, notReady, onHold, approve } = instance;
  const objects = ready === "True" && notReady > 0 ? `${counted(notReady, "object is", "objects are")} not ready.` : "";
  const how = approve === undefined ? "" : html`To see and approve them: ${copyable(approve)}`;
  const holds = onHold.length === 0 ? "" : html`Removals are on hold. ${how}`;
  return html`${waitReason(instance) || objects} ${holds}`;
}

/** @param address the search that the links narrow to one WAF; undefined for links to the WAFs */
function instanceSection({ instances, generatedAt }: Summary, find: string, address?: Entry): Markup {
  const pathOf = (instance: string): string =>
    address === undefined ? instancePath(instance) : `/why?${String(new URLSearchParams({ address, instance }))}`;
  const found = byNeed(instancesWith(find, instances));
  const filter = { label: "Name or domain", name: "find", value: find };
  const finder = address === undefined ? filterForm("/", filter) : filterForm("/why", filter, { address });
  const none = find === "" ? firstSteps : html`<p>No WAF has this text in its name or domain.</p>`;
  return section("instances", address === undefined ? "WAFs" : `Which WAF blocks or allows ${address}?`, [
    ...(instances.length >= findFrom || find !== "" ? [finder] : []),
    found.length === 0 ? none : dataTable("WAFs", instanceColumns(generatedAt, pathOf), found, rowsMax),
  ]);
}

const firstSteps = html`<p>To add a WAF, declare a WafInstance with its base URL and a Secret with its API key:</p>
  <p>${copyable("wafsync import --base-url https://waf.example.com --instance shop -n shop --out waf")}</p>
  <p class="quiet">
    This writes the objects of an existing WAF, with its current entries as rules. Set its API key in WAFSYNC_API_KEY
    first.
  </p>`;

/** The name and domain of an instance, with a link. */
function instanceLink({ instance, domain = "" }: InstanceSummary, path: string): Markup {
  return html`<a href="${path}">${instance}</a
    >${domain === "" ? "" : html`<br /><span class="quiet">${domain}</span>`}`;
}

const objectColumns: readonly Column<ObjectSummary>[] = [
  {
    title: "Object",
    kind: "name",
    cell: ({ kind, name, description = "" }) =>
      html`${kind} ${name}${description === "" ? "" : html`<br /><span class="quiet">${description}</span>`}`,
  },
  { title: "State", cell: stateMark },
  { title: "Progress", kind: "number", cell: ({ progress }) => progress },
  { title: "Message", kind: "words", cell: ({ message }) => message },
];

/** A table of at most `max` objects, of which `count` exist; nothing if there are none. */
export function objectSection(
  title: string,
  id: string,
  objects: readonly ObjectSummary[],
  max = objects.length,
  count = objects.length,
): Markup[] {
  return objects.length === 0 ? [] : [section(id, title, dataTable(title, objectColumns, objects, max, count))];
}

function feedColumns(now: string): readonly Column<FeedSummary>[] {
  return [
    { title: "Feed", kind: "name", cell: ({ feed }) => feed },
    { title: "State", cell: stateMark },
    { title: "Why it waits", kind: "words", cell: whyFeedWaits },
    { title: "Entries", kind: "number", cell: ({ entries = "–" }) => entries },
    { title: "Invalid", kind: "number", cell: ({ invalid = "–" }) => invalid },
    { title: "Confirmed", kind: "time", cell: ({ lastGoodTime }) => ageOf(lastGoodTime, now) },
    { title: "Next fetch", kind: "time", cell: ({ nextFetchTime }) => ageOf(nextFetchTime, now) },
  ];
}

function whyFeedWaits({ ready, message, heldContent: held }: FeedSummary): Markup {
  const why = ready === "True" ? "" : message;
  if (held === undefined) return html`${why}`;
  return html`${why}
    <p>${counted(held.entries, "entry", "entries")} on hold. To accept them: ${copyable(held.accept)}</p>`;
}

function feedSection({ feeds, generatedAt }: Summary): Markup[] {
  if (feeds.length === 0) return [];
  return [section("feeds", "Feeds", dataTable("Feeds", feedColumns(generatedAt), byNeed(feeds), rowsMax))];
}

// The page of one WAF.

const objectsShownMax = 200;

/**
 * @param objects everything that refers to the instance
 * @param history or why it could not be read
 * @param cover the address whose covering entries the history is searched for
 */
export function instancePage(
  summary: Summary,
  instance: InstanceSummary,
  objects: readonly ObjectSummary[],
  history: readonly HistoryEvent[] | string,
  cover: AddressCover | undefined,
): string {
  const { generatedAt, gaps } = summary;
  const name = instance.instance;
  const requests = html`<p><a href="${instancePath(name)}/requests">Show the newest blocked requests</a></p>
    <p class="quiet">This reads the WAF's log, which takes a moment.</p>`;
  return framed(summary, {
    title: name,
    isLive: true,
    instance: name,
    body: [
      liveTitle(name, generatedAt, instance.domain),
      ...warnings("Not everything is shown", gaps),
      stateSection(instance, generatedAt),
      tiles(countColumns.map(({ title, count }) => ({ name: title, value: count(instance) ?? "–" }))),
      ...holdSection(instance),
      ...objectSection("Rules and other objects", "objects", byNeed(objects), objectsShownMax),
      historySection(instance, history, cover, generatedAt),
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
      <p>${longText([ready === "True" ? message : waitReason(instance)])}</p>
      ${paused}
      <p class="quiet">
        ${counted(rules, "rule", "rules")}, ${counted(origins, "origin", "origins")}. Last complete read:
        ${ageOf(lastSyncTime, now)}.
      </p>`,
  );
}

function holdSection({ onHold, heldPlan = "", approve }: InstanceSummary): Markup[] {
  if (onHold.length === 0 && heldPlan === "") return [];
  const lines = longText(holdLines(onHold, Infinity).map((line) => line.slice(2)));
  const command = html`<p>To see and approve them: ${copyable(approve ?? "")}</p>
    <p class="quiet">Hash: ${copyable(heldPlan)}</p>`;
  const content = [html`<pre>${lines}</pre>`, ...(approve === undefined ? [] : [command])]; // prettier-ignore
  return [section("holds", "Removals on hold", content, "warning")];
}

function historySection(
  instance: InstanceSummary,
  history: readonly HistoryEvent[] | string,
  cover: AddressCover | undefined,
  now: string,
): Markup {
  if (typeof history === "string") return section("history", "History", html`<p>${history}</p>`);
  const rows = history.flatMap((event) => rowOf(instance.instance, event, cover)).toReversed();
  const filter = { label: "Entries that cover this address", name: "address", value: cover?.entry ?? "" };
  const found = dataTable("History", columnsOf(now), rows, rowsMax);
  return section("history", "History", [
    ...(history.length === 0 ? [] : [filterForm(`${instancePath(instance.instance)}#history`, filter)]),
    rows.length === 0 ? html`<p>No changes are recorded.</p>` : found,
  ]);
}

function columnsOf(now: string): readonly Column<HistoryRow>[] {
  const time: Column<HistoryRow> = { title: "Time", kind: "time", cell: ({ time: at }) => ageOf(at, now) };
  return [time, ...historyColumns.filter(({ title }) => title !== "Time" && title !== "Instance")];
}

// The explanation of an address.

/**
 * @param search what the person searched for
 * @param words the options that select the target in suggested commands
 */
export function whyPage(
  summary: Summary,
  search: Pick<Content, "address" | "instance">,
  address: Entry,
  views: readonly WhyView[],
  words: string,
): string {
  const title = `Why ${address}`;
  const sections = views.map((view, place) => whySection(`why-${place}`, view, address, words));
  return framed(summary, { ...search, title, body: [html`<h1>${title}</h1>`, ...sections] });
}

function whySection(id: string, view: WhyView, address: Entry, words: string): Markup {
  const [headline = "", ...rest] = whyLines(address, view, (_style, text) => text);
  return section(id, headline, [
    ...(rest.length === 0 ? [] : [html`<pre>${longText(rest.slice(1))}</pre>`]),
    ...adviceOn(address, view, words).map(([goal, command]) => html`<p>${goal}: ${copyable(command)}</p>`),
    ...view.gaps.map((gap) => html`<p class="quiet">${gap}</p>`),
    html`<p><a href="${instancePath(view.instance)}">${view.instance}</a></p>`,
  ]);
}
