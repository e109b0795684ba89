// Shows whether a client or network is on a list.
import type { Entry } from "../../model/entry.ts";
import type { Cell } from "./data-table.ts";
import type { ListState } from "./report-clients.ts";
import { html } from "./html.ts";

export function listCell(entry: Entry, lists: ListState): Cell {
  const words = listWords(entry, lists);
  const kinds: Partial<Record<ListState["state"], string>> = { Listed: "mark listed", NotListed: "mark open" };
  return { shown: html`<span class="${kinds[lists.state] ?? "quiet"}">${words}</span>`, value: words };
}

export function listWords(entry: Entry, lists: ListState): string {
  switch (lists.state) {
    case "Listed": {
      const allowed = lists.allowedBy === undefined ? "" : `, allowed${byWords(entry, lists.allowedBy)}`;
      return `blocked${byWords(entry, lists.by)}${allowed}`;
    }
    case "Allowed":
      return `allowed${byWords(entry, lists.by)}`;
    case "Exempt":
      return `exempt (${lists.why})`;
    case "Declared":
      return "declared, not blocked yet";
    case "NotListed":
      return "not on a list";
    case "NoAddress":
      return "–";
    case "Unknown":
      return "unknown";
  }
}

function byWords(entry: Entry, by: Entry): string {
  return by === entry ? "" : ` by ${by}`;
}
