// Which clients and networks a report is about: `--client` and `--network`.
import type { Entry } from "../../model/entry.ts";
import { parseLogFilter } from "../logs/log-filter.ts";
import type { LogFilter } from "../logs/log-filter.ts";
import { parseNetwork } from "../logs/network-option.ts";
import { CommandError } from "../describe-error.ts";
import { parseAddress } from "../parse-address.ts";

/** Each client or network gets its own section. */
const focusMax = 20;

export interface ReportFocus {
  /** Empty for a report about all clients. */
  readonly entries: readonly Entry[];
  readonly filter: LogFilter;
}

/** @throws CommandError that says what to write instead */
export function readFocus(clients: readonly string[], networks: readonly string[]): ReportFocus {
  const entries = [...new Set([...clients.map(parseAddress), ...networks.map(parseNetwork)])];
  if (entries.length > focusMax) {
    throw new CommandError(
      `a report can be about at most ${focusMax} clients and networks, not ${entries.length}`,
      "Create several reports, or use a wider network.",
    );
  }
  const parsed = parseLogFilter({ client: entries, country: [], reason: [], status: [], path: [] });
  if (!parsed.ok) throw new CommandError(parsed.problem);
  return { entries, filter: parsed.filter };
}
