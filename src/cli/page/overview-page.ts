// The overview page: totals, every WAF with its state and what it is waiting for, and the feeds. WAFs and feeds that need
// attention come first.
import type { FeedSummary, InstanceSummary, ObjectSummary, Summary } from "../../api/summary.ts";
import { counted, inThousands } from "../../model/sentence.ts";
import { durationInWords } from "../../reconcile/status/trouble.ts";
import type { Markup } from "../report/html.ts";
import { html } from "../report/html.ts";
import { heldOf, objectsNotReady, pendingOf } from "../summarize.ts";
import { copyable, framed, instancePath, part, scrolling, shown, warnings } from "./page-frame.ts";
import { stackHead, tableHead } from "./table-head.ts";

const rowsMax = 100;
const feedsMax = 100;
const messageLengthMax = 400;
const order = { False: 0, Unknown: 1, True: 2 } as const;
const marks = { False: ["bad", "Not ready"], Unknown: ["open", ""], True: ["good", "Ready"] } as const;
/** Reasons that are replaced by plain words. */
const plainReasons: Readonly<Record<string, string>> = {
  Ready: "",
  Progressing: "In progress",
  "": "Not reported yet",
};

export interface OverviewChoice {
  /** From 1. */
  readonly page: number;
  /** Part of the name or domain. */
  readonly find: string;
}

export function readChoice(query: URLSearchParams): OverviewChoice {
  const page = Number(query.get("page") ?? 1);
  return {
    page: Number.isInteger(page) && page > 0 ? page : 1,
    find: (query.get("find") ?? "").slice(0, 100).trim().toLowerCase(),
  };
}

export function overviewPage(summary: Summary, choice: OverviewChoice): string {
  const { where, version, totals, gaps, refused } = summary;
  const frame = { title: titleOf(summary), where, version, live: titleOf(summary) };
  if (refused !== undefined) return framed({ ...frame, body: [refusal(refused)] });
  return framed({
    ...frame,
    body: [
      html`<div data-part="title">
        <h1>${titleOf(summary)}</h1>
        <p class="quiet">As of <time>${summary.generatedAt}</time></p>
        <p class="lost-note" role="alert">The connection is lost: this page shows the last known state.</p>
      </div>`,
      ...warnings("gaps", "Not everything is shown", gaps),
      tiles([
        ["WAFs", totals.instances],
        ["Not ready", totals.notReady],
        ["In progress or paused", totals.unknown],
        ["Blocked", totals.blocked],
        ["Allowed", totals.allowed],
        ["Pending writes", totals.pending],
        ["Removals on hold", totals.onHold],
      ]),
      instanceSection(summary, choice),
      ...objectSection("Objects without a WAF", "unattached", summary.unattached, totals.unattached),
      ...feedSection(summary),
    ],
  });
}

function titleOf(summary: Summary): string {
  const { totals, refused } = summary;
  const { instances, unknown } = totals;
  const notReady = totals.notReady - totals.unattached;
  if (refused !== undefined) return "No access";
  if (instances === 0) return "No WAF is declared";
  const all = counted(instances, "WAF", "WAFs");
  if (notReady > 0) return `${inThousands(notReady)} of ${all} ${notReady === 1 ? "is" : "are"} not ready`;
  if (unknown > 0) return `${inThousands(unknown)} of ${all} ${unknown === 1 ? "is" : "are"} in progress or paused`;
  const objects = objectsNotReady(summary);
  const others = objects === 0 ? "" : `, but ${counted(objects, "object is", "objects are")} not`;
  return `${instances === 1 ? "The WAF is ready" : `All ${all} are ready`}${others}`;
}

export function refusal(problem: string): Markup {
  return html`<section class="refusal" data-part="refusal">
    <h1>You do not have access</h1>
    <p>${shown(problem, 2_000)}</p>
    <p class="quiet">The page shows only what your own permissions allow.</p>
  </section>`;
}

export function tiles(items: readonly (readonly [string, number | string])[]): Markup {
  return html`<dl class="tiles" data-part="tiles">
    ${items.map(
      ([name, value]) =>
        html`<div class="tile">
          <dt>${name}</dt>
          <dd>${typeof value === "number" ? inThousands(value) : shown(value)}</dd>
        </div>`,
    )}
  </dl>`;
}

function instanceSection({ instances, generatedAt }: Summary, { page, find }: OverviewChoice): Markup {
  const found = instances
    .filter(
      ({ instance, domain = "" }) => find === "" || instance.includes(find) || domain.toLowerCase().includes(find),
    )
    .toSorted((a, b) => order[a.ready] - order[b.ready]);
  const pages = Math.max(1, Math.ceil(found.length / rowsMax));
  const at = Math.min(page, pages);
  const rows = found.slice((at - 1) * rowsMax, at * rowsMax).map((instance) => instanceRow(instance, generatedAt));
  const table = html`<table class="stack" role="table">
    ${stackHead(["WAF", "State", "Why it waits", { number: "Blocked" }, { number: "Allowed" }, { number: "Pending" }, { number: "On hold" }, "Last sync"])}
    <tbody role="rowgroup">
      ${rows}
    </tbody>
  </table>`;
  const none = html`<p>
    ${find === "" ? "No WafInstance is declared. Declare one with its base URL and a Secret with the API key, or write the rules of an existing WAF with wafsync import." : "No WAF has this text in its name or domain."}
  </p>`;
  return part("instances", "WAFs", [
    ...(instances.length > rowsMax || find !== "" ? [findForm(find)] : []),
    rows.length === 0 ? none : scrolling("WAFs", table),
    ...(pages > 1 ? [pageLinks(at, pages, find)] : []),
  ]);
}

function findForm(find: string): Markup {
  return html`<form action="/" method="get">
    <label for="find">Name or domain</label>
    <input id="find" name="find" value="${find}" maxlength="100" />
    <button type="submit">Find</button>
  </form>`;
}

function pageLinks(at: number, pages: number, find: string): Markup {
  const link = (page: number, words: string): Markup =>
    page === at
      ? html`<li><a href="${pageHref(page, find)}" aria-current="page">${words}</a></li>`
      : html`<li><a href="${pageHref(page, find)}">${words}</a></li>`;
  const links = Array.from({ length: Math.min(pages, 100) }, (_, place) => link(place + 1, String(place + 1)));
  return html`<nav aria-label="Pages of WAFs">
    <ul>
      ${links}
    </ul>
  </nav>`;
}

function pageHref(page: number, find: string): string {
  return `/?${String(new URLSearchParams({ ...(find === "" ? {} : { find }), page: String(page) }))}`;
}

export function stateMark({ ready, reason }: Pick<InstanceSummary, "ready" | "reason">): Markup {
  const [kind, words] = marks[ready];
  const detail = shown(plainReasons[reason] ?? reason, 60);
  return html`<span class="mark ${kind}">${[words, detail].filter((part) => part !== "").join(": ")}</span>`;
}

function instanceRow(instance: InstanceSummary, now: string): Markup {
  const { domain = "", blocklist, allowlist, lastSyncTime, ready, message } = instance;
  const why = ready === "True" ? "" : shown(message, messageLengthMax);
  return html`<tr role="row">
    <th scope="row" role="rowheader" class="name">
      <a href="${instancePath(instance.instance)}">${shown(instance.instance)}</a
      >${domain === "" ? "" : html`<br /><span class="quiet">${shown(domain)}</span>`}
    </th>
    <td role="cell">${stateMark(instance)}</td>
    <td role="cell" class="words">${why}</td>
    <td role="cell" class="number" data-label="Blocked">${live(blocklist)}</td>
    <td role="cell" class="number" data-label="Allowed">${live(allowlist)}</td>
    <td role="cell" class="number" data-label="Pending">${inThousands(pendingOf(instance))}</td>
    <td role="cell" class="number" data-label="On hold">${inThousands(heldOf(instance))}</td>
    <td role="cell" class="time" data-label="Last sync">${ageOf(lastSyncTime, now)}</td>
  </tr>`;
}

function live(list: InstanceSummary["blocklist"]): string {
  return list === undefined ? "–" : inThousands(list.live);
}

/** Objects that are not Ready, of which `count` exist. */
export function objectSection(title: string, name: string, objects: readonly ObjectSummary[], count: number): Markup[] {
  if (objects.length === 0) return [];
  const rows = objects.map(
    (object) =>
      html`<tr>
        <th scope="row" class="name">${object.kind} ${shown(object.name)}</th>
        <td>${stateMark(object)}</td>
        <td class="number">${shown(object.progress, 60)}</td>
        <td class="words">${shown(object.message, 600)}</td>
      </tr>`,
  );
  const table = html`<table>
    ${tableHead(["Object", "State", { number: "Progress" }, "Why it waits"])}
    <tbody>
      ${rows}
    </tbody>
  </table>`;
  const left = count - objects.length;
  const more = left > 0 ? html`<p class="quiet">… and ${inThousands(left)} more</p>` : html``;
  return [part(name, title, html`${scrolling(title, table)}${more}`)];
}

function feedSection({ feeds, generatedAt }: Summary): Markup[] {
  if (feeds.length === 0) return [];
  const shownFeeds = feeds.toSorted((a, b) => order[a.ready] - order[b.ready]).slice(0, feedsMax);
  const left = feeds.length - shownFeeds.length;
  const table = html`<table class="stack" role="table">
    ${stackHead(["Feed", "State", "Why it waits", { number: "Entries" }, { number: "Invalid" }, "Confirmed", "Next fetch"])}
    <tbody role="rowgroup">
      ${shownFeeds.map((feed) => feedRow(feed, generatedAt))}
    </tbody>
  </table>`;
  const more = left > 0 ? [html`<p class="quiet">… and ${counted(left, "feed", "feeds")} more</p>`] : [];
  return [part("feeds", "Feeds", [scrolling("Feeds", table), ...more])];
}

function feedRow(feed: FeedSummary, now: string): Markup {
  const { entries, invalid, lastGoodTime, nextFetchTime = "–", heldContent } = feed;
  const held =
    heldContent === undefined
      ? ""
      : html`<p>
          ${counted(heldContent.entries, "entry", "entries")} on hold. To accept them: ${copyable(heldContent.accept)}
        </p>`;
  return html`<tr role="row">
    <th scope="row" role="rowheader" class="name">${shown(feed.feed)}</th>
    <td role="cell">${stateMark(feed)}</td>
    <td role="cell" class="words">${feed.ready === "True" ? "" : shown(feed.message, messageLengthMax)}${held}</td>
    <td role="cell" class="number" data-label="Entries">${entries === undefined ? "–" : inThousands(entries)}</td>
    <td role="cell" class="number" data-label="Invalid">${invalid === undefined ? "–" : inThousands(invalid)}</td>
    <td role="cell" class="time" data-label="Confirmed">${ageOf(lastGoodTime, now)}</td>
    <td role="cell" class="time" data-label="Next fetch">${nextFetchTime}</td>
  </tr>`;
}

/** The age of the time when the page was generated. */
export function ageOf(time: string | undefined, now: string): Markup {
  if (time === undefined) return html`never`;
  const seconds = (Date.parse(now) - Date.parse(time)) / 1000;
  return html`<time title="${time}">${durationInWords(seconds)} ago</time>`;
}
