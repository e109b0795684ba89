// Formats the result of `why` for people, and as Markdown for a ticket.
import type { Entry } from "../address/entry.ts";
import { visibleTexts } from "../model/visible-text.ts";
import { inThousands } from "../model/sentence.ts";
import type { Verdict } from "../decide/explain.ts";
import { markdownText, type Paint } from "./terminal.ts";
import type { CoveringView, OwnerView, WhyView } from "./why-view.ts";

const styles: Readonly<Record<Verdict, Parameters<Paint>[0]>> = {
  Blocked: "red",
  Allowed: "green",
  NotBlocked: "bold",
};

/**
 * With many WAFs, most have nothing to show for an address. Their instances are combined in one line; undefined if there is no more
 * than one of them.
 */
export function combineUnaffected(
  address: Entry,
  views: readonly WhyView[],
): { readonly shown: readonly WhyView[]; readonly line: string | undefined } {
  const shown = views.filter(
    ({ verdict, coverings, ineffective, lastBlockedRequest, liveListsRead }) =>
      verdict !== "NotBlocked" ||
      coverings.length + ineffective.length > 0 ||
      lastBlockedRequest !== undefined ||
      !liveListsRead,
  );
  const count = views.length - shown.length;
  if (count <= 1) return { shown: views, line: undefined };
  const others = shown.length === 0 ? `${inThousands(count)} instances` : `${inThousands(count)} other instances`;
  return { shown, line: `${address} is not blocked on ${others}` };
}

/** @param unsafe may contain any string of clients, WAFs and files */
export function whyLines(address: Entry, unsafe: WhyView, paint: Paint): string[] {
  const view = visibleTexts(unsafe);
  const lines = [paint(styles[view.verdict], headline(address, view))];
  for (const covering of view.coverings) lines.push("", ...coveringLines(covering, paint));
  for (const { kind, rule, places, isUnread, message } of view.ineffective) {
    const how = isUnread === true ? "may declare it" : "declares it without effect";
    lines.push("", `${kind} ${rule}${placed(places)} ${how}:`, `  ${message}`);
  }
  return [...lines, ...lastBlockedLines(address, view)];
}

function lastBlockedLines(address: Entry, { lastBlockedRequest, noBlockedRequestSince }: WhyView): string[] {
  if (noBlockedRequestSince !== undefined) return ["", `No request has been blocked since ${noBlockedRequestSince}.`];
  if (lastBlockedRequest === undefined) return [];
  const { time, client, method, path, status, reason } = lastBlockedRequest;
  const from = client === address ? "" : ` from ${client}`;
  return ["", `Last blocked request${from}: ${time}  ${method} ${path}  ${status}  ${reason}`];
}

/** What would have to change: a command, or the rules to review. */
export function adviceLines(address: Entry, view: WhyView, target: string): string[] {
  const on = `${address} ${target}--instance ${view.instance}`;
  if (view.verdict === "NotBlocked" && view.coverings.every(({ owners }) => owners.length === 0)) {
    return [`To block it: wafsync block ${on} --for 2h`];
  }
  if (view.verdict === "Blocked") return [`To unblock it, or to see what must change: wafsync unblock ${on}`];
  return [];
}

export function whyMarkdown(address: Entry, views: readonly WhyView[]): string {
  const paint: Paint = (_style, text) => text;
  const parts = views.map((view) => {
    const [title = "", ...rest] = whyLines(address, view, paint);
    const gaps = view.gaps.map((gap) => `> ${markdownText(gap)}`);
    return [`### ${markdownText(title)}`, "", "```text", ...rest.slice(rest[0] === "" ? 1 : 0), "```", ...gaps].join(
      "\n",
    );
  });
  return parts.join("\n\n");
}

function headline(address: Entry, { instance, domain, verdict, coverings, liveListsRead }: WhyView): string {
  const where = `on ${instance}${domain === undefined ? "" : ` (${domain})`}`;
  const declared = liveListsRead ? "" : "declared as ";
  switch (verdict) {
    case "Blocked":
      return `${address} is ${declared}blocked ${where}`;
    case "Allowed": {
      const isBoth = coverings.some(({ list, state }) => list === "blocklist" && state !== "NotOnList");
      const both = isBoth ? "; the blocklist also covers it, and the WAF decides which list takes precedence" : "";
      return `${address} is ${declared}allowed ${where}${both}`;
    }
    case "NotBlocked":
      return `${address} is not ${declared}blocked ${where}`;
  }
}

function coveringLines(covering: CoveringView, paint: Paint): string[] {
  const { list, entry, spelling, owners, formerOwners, note } = covering;
  const shown = spelling === undefined ? "" : ` (shown as ${spelling})`;
  const merged = covering.lines === undefined ? "" : `, merged from ${inThousands(covering.lines)} declared entries`;
  const title = `${list}  ${paint("bold", entry)}${shown}  ${managementOf(covering)}${merged}`;
  const former = formerOwners.length === 0 ? [] : [`  last declared by ${formerOwners.join(", ")}`];
  return [title, ...owners.flatMap(ownerLines), ...former, ...(note === undefined ? [] : [`  ${note}`])];
}

function managementOf({ state, management, manner, since }: CoveringView): string {
  if (state === "NotOnList") return "not on the list";
  const when = since === undefined ? "" : ` since ${since}`;
  if (management === "Managed") return `managed${when}${manner === "Adopted" ? ", adopted" : ""}`;
  if (management === "Unknown") return "unknown whether wafsync manages it";
  return state === "Unknown"
    ? "not managed yet"
    : "unmanaged: another writer added it, or a rule that was deleted with Retain";
}

function ownerLines(owner: OwnerView): string[] {
  const { kind, rule, places, description, evidence, until, changedAt } = owner;
  const end = until === undefined ? "" : `, until ${until}`;
  const by = changedAt === undefined ? "" : `, last changed${changerOf(owner)} at ${changedAt}`;
  const line = `  ${kind} ${rule}${placed(places)}${end}${by}`;
  return [line, ...[description, evidence].flatMap((text) => (text === undefined ? [] : [`    ${text}`]))];
}

/** ` by ann with wafsync-block`: a person, a program, or both. */
function changerOf({ changedBy, changedWith }: OwnerView): string {
  return `${changedBy === undefined ? "" : ` by ${changedBy}`}${changedWith === undefined ? "" : ` with ${changedWith}`}`;
}

/** ` at rules.yaml:12`, or nothing. */
export function placed(places: readonly string[]): string {
  return places.length === 0 ? "" : ` at ${places.join(", ")}`;
}
