// Filters log rows after they arrive, because the API has no filters.
import { readSpelling } from "../../address/entry.ts";
import type { Network } from "../../address/network.ts";
import { contains } from "../../address/ranges.ts";
import { countryTest, pathTest, reasonTest, rowTestOf, statusTest, type RowTest } from "../../logs/row-tests.ts";
import { CommandError } from "../describe-error.ts";

/** A row must match at least one value of each list; an empty list matches every row. */
export interface LogFilterTexts {
  /** Two letters, in any case. */
  readonly country: readonly string[];
  /** Part of the block reason, in any case: `sql` or `942100`. */
  readonly reason: readonly string[];
  /** An address or a network. */
  readonly client: readonly string[];
  /** `403` or `4xx`. */
  readonly status: readonly string[];
  /** Part of the path; with `*`, the whole path. */
  readonly path: readonly string[];
}

const parsers = { country: countryTest, reason: reasonTest, client: clientTest, status: statusTest, path: pathTest };

/** @throws CommandError that names the option and says what to write instead */
export function parseLogFilter(texts: LogFilterTexts): RowTest {
  return rowTestOf(parsers, texts, (option, problem) => {
    throw new CommandError(`--${option}: ${problem}`);
  });
}

function clientTest(text: string): RowTest | string {
  const wanted = readSpelling(text);
  if (wanted === undefined) return "write an IP address or a network, for example 192.0.2.1 or 192.0.2.0/24";
  return rowsOfClients(wanted);
}

/** The rows of clients in this network. */
function rowsOfClients(wanted: Network): RowTest {
  return (entry) => {
    const client = readSpelling(entry.client_ip);
    return client !== undefined && contains(wanted, client);
  };
}
