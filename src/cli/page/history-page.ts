// The history page of one WAF, with a filter for entries that cover an address.
import type { Summary } from "../../api/summary.ts";
import type { AddressCover } from "../../model/address-cover.ts";
import { html } from "../report/html.ts";
import { historyTable, newestRows } from "./history-rows.ts";
import type { ReadHistory } from "./instance-page.ts";
import { framed, instancePath, shown } from "./page-frame.ts";

const rowsMax = 200;

export function historyPage(
  { where, version }: Pick<Summary, "where" | "version">,
  instance: string,
  history: ReadHistory,
  cover: AddressCover | undefined,
): string {
  const title = `History of ${instance}`;
  const table = history.ok
    ? historyTable(newestRows(instance, history.events, cover, rowsMax))
    : html`<p>${shown(history.problem, 1_000)}</p>`;
  return framed({
    title,
    where,
    version,
    searched: { address: "", instance },
    body: [
      html`<div>
        <h1>${shown(title)}</h1>
        <p class="quiet"><a href="${instancePath(instance)}">${shown(instance)}</a></p>
      </div>`,
      html`<section aria-label="Changes">
        <form action="${instancePath(instance)}/history" method="get">
          <label for="covered">Only entries that cover this address</label>
          <input id="covered" name="address" value="${cover?.entry ?? ""}" maxlength="60" />
          <button type="submit">Show</button>
        </form>
        ${table}
      </section>`,
    ],
  });
}
