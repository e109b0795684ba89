// WafFeed: an external list of addresses, on the web or in CrowdSec.
import * as z from "zod";
import { baseUrl, webUrl } from "./host-rules.ts";
import { closingColumns, column, type KindDefinition, nameLengthRule } from "./kind-definition.ts";
import {
  atomicList,
  count,
  dataKey,
  dateTime,
  durationBetween,
  eitherRule,
  int32,
  labelSelector,
  matchRule,
  objectName,
  onlyWithRule,
} from "./schema-parts.ts";
import { withRules } from "./schema-rules.ts";
import { statusSchema } from "./conditions.ts";

/** More entries than the list of a WAF can hold. */
const entriesMax = 1_000_000;
const invalidLinesShownMax = 10;
/** The names of labels and records include the name of the feed. */
const nameLengthMax = 63;
const filtersMax = 32;
/** As many as a /8 has. */
const addressesDefault = 2 ** 24;
/** All IPv6 networks of length 48. */
const addressesMax = 2 ** 48;

const secretKeyRef = (key: z.ZodType<string, string | undefined>) =>
  z.strictObject({
    name: objectName.describe("The name of the Secret, in the namespace of the feed."),
    key: key.describe("The key in the Secret's data."),
  });

/** Headers that the request itself depends on. */
const ownHeaders = ["host", "connection", "content-length", "transfer-encoding", "accept-encoding", "range"];

const headerName = withRules(z.string().min(1).max(63), [
  matchRule("^[a-zA-Z0-9][-a-zA-Z0-9_]*$", "write the name of a header: letters, digits, '-' and '_'"),
  {
    cel: `!(self.lowerAscii() in [${ownHeaders.map((name) => `'${name}'`).join(", ")}])`,
    message: `choose another header: wafsync itself sets ${ownHeaders.join(", ")}`,
    holds: (text) => !ownHeaders.includes(text.toLowerCase()),
  },
]);

const csv = withRules(
  z.strictObject({
    column: z
      .string()
      .min(1)
      .max(128)
      .describe("The column with the addresses: its name in the header row, or its number, starting at 1."),
    delimiter: z.string().min(1).max(1).default(",").describe("The column separator: `,`, `;`, `|` or a tab."),
    header: z
      .boolean()
      .default(true)
      .describe("Whether the first row is a header row. Comments with `#` may precede it."),
  }),
  [
    {
      cel: "!has(self.header) || self.header || self.column.matches('^[1-9][0-9]{0,2}$')",
      message: "write the number of the column, starting at 1, if the table has no header row",
      holds: ({ header, column }) => header || /^[1-9][0-9]{0,2}$/u.test(column),
    },
  ],
);

const jsonName = "[^.$*\\[\\]'\"]+";

const json = z.strictObject({
  path: withRules(z.string().min(1).max(256), [
    matchRule(
      `^(${jsonName}|[$][.]${jsonName}|[$]?\\[\\*\\])([.]${jsonName}|\\[\\*\\])*$`,
      "write names separated by dots, with [*] for each element of a list, for example prefixes[*].ip_prefix",
    ),
  ]).describe(
    "Where the addresses are: names separated by dots, with `[*]` for each element of a list or each value of an object, for example `prefixes[*].ip_prefix`, or `[*]` if the document is a list of addresses. A leading `$` is optional. Other JSONPath syntax is not supported.",
  ),
});

const http = withRules(
  z.strictObject({
    url: webUrl.describe(
      "The URL of the list. By default, it must use https and resolve to a public address. Up to three redirects are followed and checked.",
    ),
    headersFrom: atomicList(
      z.strictObject({
        name: headerName.describe("The name of the header, for example `Authorization`."),
        secretKeyRef: secretKeyRef(dataKey).describe("The Secret that contains the complete value of the header."),
      }),
      16,
    )
      .default([])
      .describe("Request headers with values from Secrets. They are sent only to the host of `url`."),
    format: z
      .enum(["Plain", "Csv", "Json"])
      .default("Plain")
      .describe(
        "`Plain`: one entry on each line, in the first column; `#` and `;` start comments. `Csv`: a table, see `csv`. `Json`: see `json`.",
      ),
    csv: csv.optional().describe("With `format: Csv`: where the addresses are in the table."),
    json: json.optional().describe("With `format: Json`: where the addresses are in the document."),
  }),
  [onlyWithRule("csv", "format", "Csv"), onlyWithRule("json", "format", "Json")],
);

const filter = (meaning: string) => atomicList(z.string().min(1).max(128), filtersMax).default([]).describe(meaning);

const crowdsec = z.strictObject({
  url: baseUrl.describe("The base URL of CrowdSec's local API, for example `https://crowdsec.example.com:8080`."),
  apiKeySecretRef: secretKeyRef(dataKey.default("apiKey")).describe(
    "The Secret with the API key of a bouncer, which `cscli bouncers add` prints.",
  ),
  origins: filter("Only decisions of these origins, for example `crowdsec`, `CAPI` or `lists`. Empty: all origins."),
  scenariosContaining: filter("Only decisions whose scenario contains one of these strings. Empty: all decisions."),
  scenariosNotContaining: filter("Excludes decisions whose scenario contains one of these strings."),
  types: withRules(
    z.array(z.string().min(1).max(64)).max(filtersMax).default(["ban"]).meta({ "x-kubernetes-list-type": "atomic" }),
    [
      {
        cel: "size(self) > 0",
        message: "write at least one type of decision, for example ban",
        holds: (types) => !Array.isArray(types) || types.length > 0,
      },
    ],
  ).describe("The decision types to use. Only decisions for addresses and ranges are used."),
});

const percent = (value: number) => int32(0, 100).default(value);

const guards = z.strictObject({
  minEntries: int32(0, entriesMax)
    .optional()
    .describe("New content with fewer entries is put on hold. Defaults to 1, or to 0 for `crowdsec`."),
  maxShrinkPercent: percent(30).describe(
    "New content that lacks a larger percentage of the last entries is put on hold. Applies if the last good content has at least 10 entries.",
  ),
  maxInvalidPercent: percent(5).describe(
    "New content with a larger percentage of invalid lines is put on hold. Applies to content with at least 10 lines.",
  ),
  maxEntries: int32(1, entriesMax).default(200_000).describe("New content with more entries is put on hold."),
  maxAddresses: z
    .int()
    .min(1)
    .max(addressesMax)
    .default(addressesDefault)
    .meta({ format: "int64" })
    .describe(
      "New content whose entries together cover more IPv4 addresses, or more IPv6 networks of length 48, is put on hold. The default is the size of an IPv4 /8, and of an IPv6 /24. Special-purpose networks do not count.",
    ),
});

/** Which namespaces may use the feed. */
const allowedNamespaces = withRules(
  z.strictObject({
    from: z
      .enum(["Same", "All", "Selector"])
      .default("Same")
      .describe(
        "`Same`: the namespace of the feed. `All`: every namespace. `Selector`: the namespaces that `selector` matches.",
      ),
    selector: labelSelector.optional().describe("With `from: Selector`: the labels that a namespace must have."),
  }),
  [onlyWithRule("selector", "from", "Selector")],
);

export const wafFeedSpec = withRules(
  z.strictObject({
    http: http.optional().describe("A list on the web."),
    crowdsec: crowdsec.optional().describe("The decisions from a CrowdSec local API."),
    interval: durationBetween("1m", "7d")
      .optional()
      .describe("How often wafsync fetches the content. Defaults to 1h, or to 1m for `crowdsec`."),
    guards: guards.prefault({}).describe("Limits that protect against faulty content."),
    staleAfter: durationBetween("1m", "365d")
      .default("1d")
      .describe(
        "The feed is stale if the source has not confirmed the content for this long. Rules continue to use the content.",
      ),
    suspend: z
      .boolean()
      .default(false)
      .describe("If true, nothing is fetched. Rules continue to use the last good content."),
    allowedNamespaces: allowedNamespaces.prefault({}).describe("The namespaces whose rules may use this feed."),
  }),
  [eitherRule(["http", "crowdsec"])],
).describe("The source of the list and the limits for its content.");

const feedEntries = z.object({
  total: count.describe("Lines, rows or values in the last good content that were parsed as entries."),
  valid: count.describe("Distinct valid entries."),
  invalid: count.describe("Invalid entries."),
  duplicates: count.describe("Duplicate entries."),
  specialPurpose: count.describe(
    "Valid entries that overlap special-purpose networks, such as private addresses. Rules skip them unless their instance allows them.",
  ),
  used: count.describe("Unexpired entries, which rules currently use."),
});

const heldContent = z.object({
  hash: z
    .string()
    .max(64)
    .describe("The value for the annotation `wafsync.dev/accept-feed`: the hash of the entries in any order."),
  reason: z.string().max(64).describe("The guard that put the content on hold, as one word."),
  entries: count.describe("The number of valid entries."),
  since: dateTime.describe("When the content was first seen."),
});

const invalidLine = z.object({
  line: z
    .int()
    .min(1)
    .meta({ format: "int32" })
    .describe("The line number or, for JSON, the number of the selected value."),
  text: z.string().max(128).describe("The line, truncated if necessary."),
  message: z.string().max(1024).describe("Why the line is invalid."),
});

export const wafFeedStatus = statusSchema("The observed state of the feed.", {
  entries: feedEntries.optional().describe("The number of entries in the last good content."),
  lastFetchTime: dateTime.optional().describe("The time of the last fetch."),
  lastGoodTime: dateTime.optional().describe("When the source last returned or confirmed the current content."),
  lastChangeTime: dateTime.optional().describe("When the entries last changed."),
  nextFetchTime: dateTime.optional().describe("The time of the next fetch."),
  etag: z.string().max(512).optional().describe("The ETag of the last good content."),
  sha256: z.string().max(64).optional().describe("The SHA-256 of the last good content, uncompressed."),
  held: heldContent.optional().describe("New content that a guard put on hold."),
  invalidLines: atomicList(invalidLine, invalidLinesShownMax)
    .optional()
    .describe(`The first ${invalidLinesShownMax} invalid lines of the last good content.`),
});

export type WafFeedStatus = z.output<typeof wafFeedStatus>;

export const wafFeedDefinition: KindDefinition<typeof wafFeedSpec, typeof wafFeedStatus> = {
  kind: "WafFeed",
  shortName: "waffd",
  description: "An external list of addresses. Rules refer to it in `spec.addressesFrom`.",
  spec: wafFeedSpec,
  status: wafFeedStatus,
  printerColumns: [
    column("Entries", "integer", ".status.entries.used", "Entries that rules currently use"),
    column("Invalid", "integer", ".status.entries.invalid", "Invalid lines", "Wide"),
    column("Last Good", "date", ".status.lastGoodTime", "Time since the last successful fetch"),
    column("Changed", "date", ".status.lastChangeTime", "Time since the entries changed"),
    column("Held", "string", ".status.held.hash", "The hash of content on hold", "Wide"),
    ...closingColumns,
  ],
  nameRules: [nameLengthRule("feed", nameLengthMax)],
};
