// Cache clears and logs over HTTP. Errors of the logs have the messages of the contract, and no domain.
import { accepted, failed, requiredParameter } from "./answer.ts";
import type { Answer, Call } from "./answer.ts";
import { parseDateRange } from "./log-dates.ts";

const perPageMax = 10_000;

export function clearCache({ waf }: Call): Answer {
  waf.counters.cacheClears += 1;
  waf.counters.changes += 1;
  return accepted(waf, "Clearing of the cache has been started");
}

export function readLogs(call: Call): Answer {
  const { waf, parameters, nowMs } = call;
  if (!waf.hasWaf) return logsRefused(call, 404, "No WAF configured for this account");
  const range = parseDateRange(requiredParameter(call, "start_date"), requiredParameter(call, "end_date"));
  if (!range.ok) return logsRefused(call, 400, range.message);
  const perPage = parsePerPage(parameters.get("per_page"));
  if (perPage === undefined) return logsRefused(call, 400, `per_page must be from 1 to ${perPageMax}`);
  return { status: 200, body: waf.logs.query(range.firstDay, range.lastDay, perPage, nowMs) };
}

export function scrollLogs(call: Call): Answer {
  if (!call.waf.hasWaf) return logsRefused(call, 404, "No WAF configured for this account");
  const page = call.waf.logs.scroll(requiredParameter(call, "scroll_id"));
  return page === undefined ? logsRefused(call, 400, "Invalid scroll_id") : { status: 200, body: page };
}

function logsRefused({ waf }: Call, status: number, message: string): Answer {
  waf.counters.refusals += 1;
  return failed(status, message);
}

function parsePerPage(text: string | undefined): number | undefined {
  if (text === undefined) return perPageMax;
  if (!/^[1-9][0-9]{0,4}$/u.test(text)) return undefined;
  const perPage = Number(text);
  return perPage <= perPageMax ? perPage : undefined;
}
