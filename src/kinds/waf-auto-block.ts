// WafAutoBlock: suggests or enforces blocks of clients that send too many blocked requests.
import * as z from "zod";
import { closingColumns, column, instanceColumn, type KindDefinition } from "./kind-definition.ts";
import {
  atomicList,
  checkedNetwork,
  count,
  dateTime,
  durationBetween,
  instanceRef,
  int32,
  matchRule,
  prefixLengths,
} from "./schema-parts.ts";
import { withRules } from "./schema-rules.ts";
import { statusSchema } from "./conditions.ts";

const matchesMax = 64;
const exemptMax = 1_000;
/** The status must stay readable. */
export const entriesShownMax = 20;
const reasonsShownMax = 3;

const matchList = (item: z.ZodString) => atomicList(item, matchesMax).default([]);

const match = z.strictObject({
  reasons: matchList(z.string().min(1).max(128)).describe(
    "Substrings of the block reason, ignoring case, for example `SQL`.",
  ),
  countries: matchList(
    withRules(z.string().max(2), [matchRule("^[A-Za-z]{2}$", "write two letters, for example NL")]),
  ).describe("Two-letter country codes, for example `NL`."),
  paths: matchList(z.string().min(1).max(256)).describe(
    "Substrings of the path, for example `/wp-login`. An item with `*`, which stands for any characters, must match the whole path.",
  ),
  statuses: matchList(
    withRules(z.string().max(3), [
      matchRule("^[1-5]([0-9][0-9]|xx)$", "write an HTTP status, for example '403' or 4xx"),
    ]),
  ).describe("HTTP statuses, for example `'403'` or `4xx`."),
});

export const wafAutoBlockSpec = z
  .strictObject({
    instanceRef,
    mode: z
      .enum(["Suggest", "Enforce"])
      .default("Suggest")
      .describe(
        "`Suggest` lists clients in the status without blocking them. `Enforce` also puts them on the blocklist until their listing expires.",
      ),
    match: match
      .prefault({})
      .describe(
        "Which blocked requests count. A request must match at least one item of each list that is not empty. If all lists are empty, every blocked request counts.",
      ),
    threshold: int32(2, 1_000_000)
      .default(100)
      .describe("A client is listed when it sends this many matching requests within `window`."),
    window: durationBetween("1m", "1d")
      .default("10m")
      .describe(
        "The length of the sliding window, measured by the times of the requests. It is divided into 12 steps: requests within 11 of them are always counted together, and requests further apart than the window never are.",
      ),
    groupBy: z
      .enum(["Address", "Network"])
      .default("Address")
      .describe(
        "`Address` counts each address. `Network` also counts networks, and lists a network that reaches the threshold if at least 3 of its addresses sent matching requests. Otherwise, only addresses that reach the threshold themselves are listed.",
      ),
    networkPrefixLength: prefixLengths("prefix length", [24, 64], [8, 16]).describe(
      "The prefix lengths of the networks that `groupBy: Network` counts.",
    ),
    ttl: durationBetween("1m", "30d").default("1h").describe("How long a client stays listed the first time."),
    repeatFactor: int32(1, 10)
      .default(2)
      .describe("Each further time, the client stays listed this many times as long."),
    maxTtl: durationBetween("1m", "30d")
      .default("7d")
      .describe(
        "The longest time that a client stays listed. A client that was not listed for this long counts as new again.",
      ),
    maxEntries: int32(1, 1_000)
      .default(100)
      .describe("The maximum number of listed clients. Further clients are counted but not listed."),
    exempt: atomicList(checkedNetwork, exemptMax)
      .default([])
      .describe(
        "Addresses and networks that are never listed. Allow entries, `spec.guards.neverBlock` of the instance, declared origins and special-purpose networks are always exempt.",
      ),
    suspend: z
      .boolean()
      .default(false)
      .describe("If true, no further requests are counted. Listed clients stay until their listing expires."),
  })
  .describe("Which clients to list, and for how long.");

const listedClient = z.object({
  entry: z.string().max(64).describe("The address or network."),
  since: dateTime.describe("When the client was listed."),
  until: dateTime.describe("When the listing expires."),
  times: count.describe("How often the client has been listed, including this time."),
  requests: count.describe("The number of its matching requests."),
  firstRequest: dateTime.describe("The time of the first matching request."),
  lastRequest: dateTime.describe("The time of the last matching request."),
  reasons: atomicList(z.string().max(128), reasonsShownMax).describe(
    "The most frequent block reasons with the number of requests, for example `SQL Injection: 63`.",
  ),
});

export const wafAutoBlockStatus = statusSchema("The observed state, and the listed clients.", {
  listed: count.optional().describe("The number of listed clients: suggested with `Suggest`, blocked with `Enforce`."),
  synced: z
    .string()
    .max(32)
    .optional()
    .describe("With `Enforce`: how many listed clients are on the blocklist, for example `3/3`."),
  rows: z
    .object({
      matched: count.describe("Matching requests."),
      late: count.describe("Matching requests that the API returned too late to count."),
      unreadable: count.describe("Matching requests without a valid address or time."),
    })
    .optional()
    .describe("How many rows of the log have been judged so far."),
  leftOut: count
    .optional()
    .describe("How often a client reached the threshold without being listed, because of `maxEntries`."),
  lastRequestTime: dateTime.optional().describe("The time of the newest matching request."),
  clients: atomicList(listedClient, entriesShownMax)
    .optional()
    .describe(`The listed clients with the evidence, newest first. At most ${entriesShownMax} are shown.`),
});

export type WafAutoBlockStatus = z.output<typeof wafAutoBlockStatus>;

export const wafAutoBlockDefinition: KindDefinition<typeof wafAutoBlockSpec, typeof wafAutoBlockStatus> = {
  kind: "WafAutoBlock",
  shortName: "wafab",
  description: "Suggests or enforces blocks of clients, based on the log of blocked requests.",
  spec: wafAutoBlockSpec,
  status: wafAutoBlockStatus,
  printerColumns: [
    instanceColumn,
    column("Mode", "string", ".spec.mode", "Suggest or Enforce"),
    column("Listed", "integer", ".status.listed", "Listed clients"),
    column("Synced", "string", ".status.synced", "Listed clients on the blocklist"),
    column("Last", "date", ".status.lastRequestTime", "Time since the newest matching request"),
    column("Left Out", "integer", ".status.leftOut", "Clients not listed because of maxEntries", "Wide"),
    ...closingColumns,
  ],
  selectableFields: [".spec.instanceRef.name", ".spec.mode"],
};
