// The commands that call one WAF: `import`, `clear-cache`, `logs` and `report`.
import { logFormatNames } from "../logs/log-format.ts";
import { type OptionsOf, choice, command, flag, lists, number, text, texts, required } from "./declare.ts";
import { allowInsecureHttp, keyFile, logSourceOptions, timeHelp } from "./option-groups.ts";

const importOptions = {
  baseUrl: required("--base-url <url>", "base URL of the WAF's API"),
  instance: required("--instance <name>", "name of the WafInstance to write"),
  keyFile,
  namespace: text("-n, --namespace <name>", "namespace of the objects", "default"),
  out: text("--out <directory>", "new folder for the files (default: print them to stdout)"),
  allowInsecureHttp,
};

const clearCacheOptions = {
  baseUrl: required("--base-url <url>", "base URL of the WAF's API"),
  keyFile,
  expectedDomain: text("--expected-domain <domain>", "do nothing unless the key belongs to this domain"),
  retries: number("--retries <n>", "retries after a failed attempt", [0, 20], 3),
  timeout: number("--timeout <seconds>", "give up after this time", [1, 3600], 300),
  allowInsecureHttp,
};

const logsOptions = {
  since: text("--since <time>", "start of the period (default: yesterday, with --follow today)"),
  until: text("--until <time>", "end of the period (default: today)"),
  output: choice(
    "-o, --output <format>",
    "output format (default: by file name; otherwise table on a terminal, ndjson elsewhere)",
    logFormatNames,
  ),
  out: text("--out <file>", "write the rows to this file, which must not exist yet"),
  resume: flag("--resume", "continue an unfinished download"),
  country: lists("--country <codes>", "only requests from these countries, for example CN,RU"),
  reason: texts("--reason <text>", "only requests whose block reason contains this text; repeatable"),
  client: lists("--client <addresses>", "only requests from these IP addresses or networks"),
  status: lists("--status <codes>", "only requests with these HTTP statuses, for example 403 or 4xx"),
  path: texts(
    "--path <text>",
    "only requests whose path contains this text; with *, the whole path must match; repeatable",
  ),
  follow: flag("--follow", "keep printing new rows until stopped"),
  interval: number("--interval <seconds>", "with --follow: how often to poll", [5, 86_400], 60),
  lookback: number(
    "--lookback <days>",
    "with --follow: read this many earlier days again, because rows can be late",
    [0, 30],
    2,
  ),
  pageSize: number("--page-size <n>", "rows per call", [1, 10_000], 10_000),
  ...logSourceOptions,
};

const reportOptions = {
  since: text("--since <time>", "start of the period", "7d"),
  until: text("--until <time>", "end of the period", "today"),
  out: text("--out <file>", "file to write the page to; - for stdout", "report.html"),
  top: number("--top <n>", "number of rows in each table", [1, 100], 20),
  ...logSourceOptions,
};

export type ImportOptions = OptionsOf<typeof importOptions>;
export type ClearCacheOptions = OptionsOf<typeof clearCacheOptions>;
export type LogsOptions = OptionsOf<typeof logsOptions>;
export type LogSourceOptions = OptionsOf<typeof logSourceOptions>;
export type ReportOptions = OptionsOf<typeof reportOptions>;

export const wafCommands = [
  command("import", {
    description:
      "Write an instance and rules for the current lists of a WAF, marked for adoption. Does not change the WAF.",
    options: importOptions,
    help: `
Examples:
  $ WAFSYNC_API_KEY=… wafsync import --base-url https://waf.example.com --instance shop -n shop --out waf/
  $ wafsync import --base-url https://waf.example.com --key-file key.txt --instance shop | kubectl apply --server-side -f -

Exit codes: 0 all entries are declared, 1 some entries were skipped, 2 error (no file was written), 130 stopped.
`,
    load: async () => (await import("../import-command.ts")).runImport,
  }),
  command("clear-cache", {
    description:
      "Clear the whole cache of one WAF, for pipelines without a cluster. In a cluster, create a WafCacheClear.",
    options: clearCacheOptions,
    help: `
Examples:
  $ WAFSYNC_API_KEY=… wafsync clear-cache --base-url https://waf.example.com
  $ wafsync clear-cache --base-url https://waf.example.com --key-file key.txt --expected-domain www.example.com
`,
    load: async () => (await import("../clear-cache-command.ts")).runClearCache,
  }),
  command("logs", {
    description: "Print the requests that the WAF blocked, or write them to a file.",
    options: logsOptions,
    help: `
${timeHelp}

Examples:
  $ export WAFSYNC_API_KEY=…
  $ wafsync logs --base-url https://waf.example.com --since 7d --out blocked.csv
  $ wafsync logs --base-url https://waf.example.com --country CN,RU --reason SQL
  $ wafsync logs -f waf/ --since 24h
  $ wafsync logs -f waf/ --follow -o ndjson | jq .request_path
`,
    load: async () => (await import("../logs-command.ts")).runLogs,
  }),
  command("report", {
    description:
      "Write an HTML page about the requests that the WAF blocked: why, from where, and which clients to block next.",
    options: reportOptions,
    help: `
The page works offline. An existing report is replaced; any other file is not.
${timeHelp}

Examples:
  $ export WAFSYNC_API_KEY=…
  $ wafsync report --base-url https://waf.example.com --since 30d --out report.html
  $ wafsync report -f waf/ --instance shop/shop --since 2026-11-01 --until 2026-11-21

Exit codes: 0 the report is complete, 1 it is incomplete (the page says what is missing), 2 error, 130 stopped.
`,
    load: async () => (await import("../report-command.ts")).runReport,
  }),
];
