// The overview page: totals, every WAF with its state and what it is waiting for, and the feeds. WAFs and feeds that need
// attention come first.
import type { Entry } from "../address/entry.ts";
import type { FeedSummary, InstanceSummary, ObjectSummary, Summary } from "../kinds/summary.ts";
import { byNeed, countColumns, objectsNotReady, waitReason } from "../cli/summarize.ts";
import { counted, inThousands, shortened } from "../model/sentence.ts";
import { filterForm, framed, liveTitle } from "./frame.ts";
import { type Markup, html } from "./html.ts";
import type { Column } from "./parts.ts";
import {
  ageOf,
  copyable,
  dataTable,
  instancePath,
  nameLengthMax,
  section,
  stateMark,
  tiles,
  warnings,
} from "./parts.ts";

const rowsMax = 100;
/** A search for a WAF is offered from this number. */
const findFrom = 10;
const messageLengthMax = 400;

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
  const { where, version, totals, gaps, refused } = summary;
  const title = titleOf(summary);
  const frame = { title, where, version, live: title };
  if (refused !== undefined) return framed({ ...frame, body: [refusal(refused)] });
  return framed({
    ...frame,
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
  const { where, version } = summary;
  const title = "Choose a WAF";
  const why = html`<div>
    <h1>${title}</h1>
    <p class="quiet">
      The answer depends on the lists of each WAF, and the page reads at most ${instancesMax} WAFs for one search.
    </p>
  </div>`;
  const body = [why, instanceSection(summary, find, address)];
  return framed({ where, version, title, searched: { address, instance: "" }, body });
}

function titleOf(summary: Summary): string {
  const { totals, refused } = summary;
  const { instances, unknown } = totals;
  const notReady = totals.notReady - totals.unattached;
  if (refused !== undefined) return "No access";
  if (instances === 0) return "No WAF is declared";
  const all = counted(instances, "WAF", "WAFs");
  if (notReady > 0 && instances === 1) return "The WAF is not ready";
  if (notReady > 0) return `${inThousands(notReady)} of ${all} ${notReady === 1 ? "is" : "are"} not ready`;
  if (unknown > 0 && instances === 1) return "The WAF is in progress or paused";
  if (unknown > 0) return `${inThousands(unknown)} of ${all} ${unknown === 1 ? "is" : "are"} in progress or paused`;
  const objects = objectsNotReady(summary);
  const others = objects === 0 ? "" : `, but ${counted(objects, "object is", "objects are")} not`;
  return `${instances === 1 ? "The WAF is ready" : `All ${all} are ready`}${others}`;
}

export function refusal(problem: string): Markup {
  return html`<section class="refusal" id="refusal">
    <h1>You do not have access</h1>
    <p>${shortened(problem, 2_000)}</p>
    <p class="quiet">The page shows only what your own permissions allow.</p>
  </section>`;
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
  return html`${shortened(waitReason(instance) || objects, messageLengthMax)} ${holds}`;
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
  return html`<a href="${path}">${shortened(instance, nameLengthMax)}</a
    >${domain === "" ? "" : html`<br /><span class="quiet">${shortened(domain, nameLengthMax)}</span>`}`;
}

const objectColumns: readonly Column<ObjectSummary>[] = [
  {
    title: "Object",
    kind: "name",
    cell: ({ kind, name, description = "" }) =>
      html`${kind}
      ${shortened(name, nameLengthMax)}${description === "" ? "" : html`<br /><span class="quiet">${shortened(description, messageLengthMax)}</span>`}`,
  },
  { title: "State", cell: stateMark },
  { title: "Progress", kind: "number", cell: ({ progress }) => shortened(progress, 60) },
  { title: "Message", kind: "words", cell: ({ message }) => shortened(message, 600) },
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
    { title: "Feed", kind: "name", cell: ({ feed }) => shortened(feed, nameLengthMax) },
    { title: "State", cell: stateMark },
    { title: "Why it waits", kind: "words", cell: whyFeedWaits },
    { title: "Entries", kind: "number", cell: ({ entries = "–" }) => entries },
    { title: "Invalid", kind: "number", cell: ({ invalid = "–" }) => invalid },
    { title: "Confirmed", kind: "time", cell: ({ lastGoodTime }) => ageOf(lastGoodTime, now) },
    {
      title: "Next fetch",
      kind: "time",
      cell: ({ nextFetchTime: time }) => (time === undefined ? "–" : ageOf(time, now)),
    },
  ];
}

function whyFeedWaits({ ready, message, heldContent: held }: FeedSummary): Markup {
  const why = ready === "True" ? "" : shortened(message, messageLengthMax);
  if (held === undefined) return html`${why}`;
  return html`${why}
    <p>${counted(held.entries, "entry", "entries")} on hold. To accept them: ${copyable(held.accept)}</p>`;
}

function feedSection({ feeds, generatedAt }: Summary): Markup[] {
  if (feeds.length === 0) return [];
  return [section("feeds", "Feeds", dataTable("Feeds", feedColumns(generatedAt), byNeed(feeds), rowsMax))];
}
