// WafFeed: a list of addresses that somebody else maintains, on the web or in CrowdSec.
import * as z from "zod";
import { allowedNamespaces } from "./allowed-namespaces.ts";
import { baseUrl, webUrl } from "./host-rules.ts";
import { closingColumns, type KindDefinition, nameLengthRule } from "./kind-definition.ts";
import { dataKey, dateTime, durationBetween, matchRule, objectName } from "./schema-parts.ts";
import { withRules } from "./schema-rules.ts";
import { commonStatus, count } from "./status-parts.ts";

/** More than a CRD's status and a WAF's list are made for. */
const entriesMax = 1_000_000;
const invalidLinesShownMax = 10;
/** Feeds give their name to labels and to their records. */
const nameLengthMax = 63;
const filtersMax = 32;

const secretKeyRef = (key: z.ZodType<string, string | undefined>) =>
  z.strictObject({
    name: objectName.describe("The name of the Secret, in the namespace of the feed."),
    key: key.describe("The entry of the Secret."),
  });

/** Those that the request itself depends on. */
const ownHeaders = ["host", "connection", "content-length", "transfer-encoding", "accept-encoding", "range"];

const headerName = withRules(z.string().min(1).max(63), [
  matchRule("^[a-zA-Z0-9][-a-zA-Z0-9_]*$", "write the name of a header: letters, digits, '-' and '_'"),
  {
    cel: `!(self.lowerAscii() in [${ownHeaders.map((name) => `'${name}'`).join(", ")}])`,
    message: `this header belongs to the request itself: wafsync sets ${ownHeaders.join(", ")}`,
    holds: (text) => !ownHeaders.includes(text.toLowerCase()),
  },
]);

const csv = withRules(
  z.strictObject({
    column: z
      .string()
      .min(1)
      .max(128)
      .describe("The column that has the addresses: its name in the header row, or its number from 1."),
    delimiter: z
      .string()
      .min(1)
      .max(1)
      .default(",")
      .describe("The character between two columns: `,`, `;`, `|` or a tab."),
    header: z
      .boolean()
      .default(true)
      .describe("Whether the first row names the columns. Comments with `#` may precede it."),
  }),
  [
    {
      cel: "!has(self.header) || self.header || self.column.matches('^[1-9][0-9]{0,2}$')",
      message: "write the number of the column, from 1, if the table has no header row",
      holds: ({ header, column }) => header || /^[1-9][0-9]{0,2}$/u.test(column),
    },
  ],
);

const json = z.strictObject({
  path: withRules(z.string().min(1).max(256), [
    matchRule("^[$]", "write a JSONPath (RFC 9535), for example $.prefixes[*].ip_prefix"),
  ]).describe(
    "A JSONPath (RFC 9535) that selects the addresses, for example `$.prefixes[*].ip_prefix`. Functions, parentheses, more than one `..` and more than one list in brackets are refused, because their work can grow without limit.",
  ),
});

const http = withRules(
  z.strictObject({
    url: webUrl.describe(
      "Where the list is. It must be https and lead to a public address, unless the operator is told otherwise. Up to three redirects are followed and checked in the same way.",
    ),
    headersFrom: z
      .array(
        z.strictObject({
          name: headerName.describe("The name of the header, for example `Authorization`."),
          secretKeyRef: secretKeyRef(dataKey).describe("The Secret that has the whole value of the header."),
        }),
      )
      .max(16)
      .default([])
      .meta({ "x-kubernetes-list-type": "atomic" })
      .describe("Headers of the request, with their values from Secrets. They are sent to the host of `url` only."),
    format: z
      .enum(["Plain", "Csv", "Json"])
      .default("Plain")
      .describe(
        "`Plain`: one entry on each line, in the first column; `#` and `;` start comments. `Csv`: a table, see `csv`. `Json`: see `json`.",
      ),
    csv: csv.optional().describe("With `format: Csv`: where the addresses are in the table."),
    json: json.optional().describe("With `format: Json`: where the addresses are in the document."),
  }),
  [
    {
      cel: "(has(self.format) && self.format == 'Csv') == has(self.csv)",
      message: "write csv together with format: Csv, and not otherwise",
      holds: ({ format, csv }) => (format === "Csv") === (csv !== undefined),
    },
    {
      cel: "(has(self.format) && self.format == 'Json') == has(self.json)",
      message: "write json together with format: Json, and not otherwise",
      holds: ({ format, json }) => (format === "Json") === (json !== undefined),
    },
  ],
);

const filter = (meaning: string) =>
  z
    .array(z.string().min(1).max(128))
    .max(filtersMax)
    .default([])
    .meta({ "x-kubernetes-list-type": "atomic" })
    .describe(meaning);

const crowdsec = z.strictObject({
  url: baseUrl.describe("The base URL of CrowdSec's local API, for example `https://crowdsec.example.com:8080`."),
  apiKeySecretRef: secretKeyRef(dataKey.default("apiKey")).describe(
    "The Secret that has the key of a bouncer: what `cscli bouncers add` prints.",
  ),
  origins: filter("Only decisions of these origins, for example `crowdsec`, `CAPI` or `lists`. None: of all."),
  scenariosContaining: filter("Only decisions whose scenario contains one of these texts. None: all."),
  scenariosNotContaining: filter("No decisions whose scenario contains one of these texts."),
  types: withRules(
    z.array(z.string().min(1).max(64)).max(filtersMax).default(["ban"]).meta({ "x-kubernetes-list-type": "atomic" }),
    [
      {
        cel: "size(self) > 0",
        message: "write at least one type of decision, for example ban",
        holds: (types) => !Array.isArray(types) || types.length > 0,
      },
    ],
  ).describe("The types of decisions that count. Only decisions about addresses and ranges are used."),
});

const percent = (value: number) => z.int().min(0).max(100).default(value).meta({ format: "int32" });

const guards = z.strictObject({
  minEntries: z
    .int()
    .min(0)
    .max(entriesMax)
    .optional()
    .meta({ format: "int32" })
    .describe("New content with fewer entries is put on hold. The default is 1, and 0 for `crowdsec`."),
  maxShrinkPercent: percent(30).describe(
    "New content that is smaller than the last good one by a larger share is put on hold. It counts for content of 10 entries and more.",
  ),
  maxInvalidPercent: percent(5).describe(
    "New content with a larger share of invalid lines is put on hold. It counts for 10 lines and more.",
  ),
  maxEntries: z
    .int()
    .min(1)
    .max(entriesMax)
    .default(200_000)
    .meta({ format: "int32" })
    .describe("New content with more entries is put on hold."),
});

export const wafFeedSpec = withRules(
  z.strictObject({
    http: http.optional().describe("A list on the web."),
    crowdsec: crowdsec.optional().describe("The decisions of a CrowdSec local API."),
    interval: durationBetween("1m", "7d")
      .optional()
      .describe("How often new content is asked for. The default is 1h, and 1m for `crowdsec`."),
    guards: guards.prefault({}).describe("What protects against content that is wrong by mistake."),
    staleAfter: durationBetween("1m", "365d")
      .default("1d")
      .describe(
        "The feed counts as stale if its source has not confirmed the content for so long. The content still counts.",
      ),
    suspend: z.boolean().default(false).describe("If true, nothing is fetched. The last good content still counts."),
    allowedNamespaces: allowedNamespaces
      .prefault({})
      .describe("The namespaces whose rules may take addresses from this feed."),
  }),
  [
    {
      cel: "has(self.http) != has(self.crowdsec)",
      message: "write exactly one of http and crowdsec",
      holds: ({ http, crowdsec }) => (http === undefined) !== (crowdsec === undefined),
    },
  ],
).describe("Where the list is, and which content of it counts.");

const feedEntries = z.object({
  total: count.describe("Lines, rows or values of the last good content that should be an entry."),
  valid: count.describe("Different valid entries among them."),
  invalid: count.describe("Those that are not valid entries."),
  duplicates: count.describe("Those that say the same as another one."),
  specialPurpose: count.describe(
    "Valid entries that overlap special-purpose networks, such as private addresses. Rules leave them out, unless their instance allows them.",
  ),
  used: count.describe("Entries that rules get from the feed now: those that have not ended."),
});

const heldContent = z.object({
  hash: z
    .string()
    .max(64)
    .describe("What the annotation `wafsync.dev/accept-feed` accepts: the hash of the entries, without their order."),
  reason: z.string().max(64).describe("The guard that put it on hold, as one word."),
  entries: count.describe("How many valid entries it has."),
  since: dateTime.describe("When it was first seen."),
});

const invalidLine = z.object({
  line: z.int().min(1).meta({ format: "int32" }).describe("The number of the line; of JSON: of the selected value."),
  text: z.string().max(128).describe("What it says, shortened if need be."),
  message: z.string().max(1024).describe("What is wrong with it."),
});

export const wafFeedStatus = z
  .object({
    ...commonStatus,
    entries: feedEntries.optional().describe("The last good content in numbers."),
    lastFetchTime: dateTime.optional().describe("When the source was last asked."),
    lastGoodTime: dateTime.optional().describe("When the source last gave or confirmed the content that counts."),
    lastChangeTime: dateTime.optional().describe("When the entries last changed."),
    nextFetchTime: dateTime.optional().describe("When the source is asked next."),
    etag: z.string().max(512).optional().describe("The ETag of the last good content."),
    sha256: z.string().max(64).optional().describe("The SHA-256 of the text of the last good content, unpacked."),
    held: heldContent.optional().describe("New content that a guard has put on hold."),
    invalidLines: z
      .array(invalidLine)
      .max(invalidLinesShownMax)
      .optional()
      .meta({ "x-kubernetes-list-type": "atomic" })
      .describe(`The first ${invalidLinesShownMax} invalid lines of the last good content.`),
  })
  .prefault({ observedGeneration: -1 })
  .describe("What came of the feed.");

export type WafFeedSpec = z.output<typeof wafFeedSpec>;
export type WafFeedStatus = z.output<typeof wafFeedStatus>;

export const wafFeedDefinition: KindDefinition<typeof wafFeedSpec, typeof wafFeedStatus> = {
  kind: "WafFeed",
  description: "A list of addresses that somebody else maintains. Rules refer to it in `spec.addressesFrom`.",
  spec: wafFeedSpec,
  status: wafFeedStatus,
  printerColumns: [
    {
      name: "Entries",
      type: "integer",
      jsonPath: ".status.entries.used",
      description: "Entries that rules get from it",
    },
    {
      name: "Invalid",
      type: "integer",
      jsonPath: ".status.entries.invalid",
      description: "Lines that are not valid entries",
      priority: 1,
    },
    {
      name: "Last Good",
      type: "date",
      jsonPath: ".status.lastGoodTime",
      description: "Time since the last good answer",
    },
    {
      name: "Changed",
      type: "date",
      jsonPath: ".status.lastChangeTime",
      description: "Time since the entries changed",
    },
    {
      name: "Held",
      type: "string",
      jsonPath: ".status.held.hash",
      description: "The hash of content on hold",
      priority: 1,
    },
    ...closingColumns,
  ],
  selectableFields: [],
  nameRules: [nameLengthRule("feed", nameLengthMax)],
};
