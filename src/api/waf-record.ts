// WafRecord: what wafsync must remember of an instance or a feed, as text that people can read. The operator alone writes it, and no
// role for tenants may: whoever can change a record decides which entries count as managed and which removals as approved.
import * as z from "zod";
import { ageColumn, type ServedDefinition } from "./kind-definition.ts";
import { recordKind } from "./kinds.ts";
import { objectName } from "./schema-parts.ts";
import { withRules } from "./schema-rules.ts";

/** Objects of one record; each has less than 1 MiB. */
export const recordPartsMax = 1_000;

const part = z.int().min(1).max(recordPartsMax).meta({ format: "int32" });

const uid = (kind: string) =>
  z.string().max(64).optional().describe(`The UID of the ${kind} when this object was written last.`);

export const wafRecordSpec = withRules(
  z.strictObject({
    instance: z
      .strictObject({
        name: objectName.describe("The name of the WafInstance, which is in the namespace of this object."),
        uid: uid("WafInstance"),
      })
      .optional()
      .describe("The WafInstance that the record belongs to, unless it belongs to a feed."),
    feed: z
      .strictObject({
        name: objectName.describe("The name of the WafFeed, which is in the namespace of this object."),
        uid: uid("WafFeed"),
      })
      .optional()
      .describe("The WafFeed that the record belongs to, unless it belongs to an instance."),
    type: z
      .enum(["Inventory", "LogForwarding", "History", "Feed"])
      .describe(
        "What is recorded. `Inventory`: which entries and origins wafsync added, for whom, and what was approved. `LogForwarding`: which log entries were forwarded. `History`: what happened to entries and origins, for people. `Feed`: the last good content of a feed.",
      ),
    part: part.describe("The number of this object among those of its record."),
    parts: part.describe("How many objects the record has, as far as this object knows."),
    format: z
      .int()
      .min(1)
      .max(1_000_000)
      .meta({ format: "int32" })
      .describe("The version of the format of `data`. wafsync refuses a record of a newer one than it knows."),
    data: z
      .record(z.string().max(253), z.string())
      .describe("The sections of the record, each a list with one item a line."),
  }),
  [
    {
      cel: "has(self.instance) != has(self.feed)",
      message: "a record belongs either to an instance or to a feed: wafsync writes it, so do not edit it",
      holds: "AdmissionOnly",
    },
  ],
).describe("A record, or a part of it.");

export type WafRecordSpec = z.output<typeof wafRecordSpec>;
export type RecordType = WafRecordSpec["type"];

export const wafRecordDefinition: ServedDefinition = {
  kind: recordKind,
  description:
    "Written by wafsync; do not edit. A record of what wafsync must remember of a WafInstance or a WafFeed, or a part of it.",
  spec: wafRecordSpec,
  status: undefined,
  printerColumns: [
    {
      name: "Instance",
      type: "string",
      jsonPath: ".spec.instance.name",
      description: "The WafInstance that it belongs to",
    },
    {
      name: "Feed",
      type: "string",
      jsonPath: ".spec.feed.name",
      description: "The WafFeed that it belongs to",
      priority: 1,
    },
    { name: "Type", type: "string", jsonPath: ".spec.type", description: "What is recorded" },
    { name: "Part", type: "integer", jsonPath: ".spec.part", description: "The number of the part" },
    { name: "Parts", type: "integer", jsonPath: ".spec.parts", description: "How many parts there are", priority: 1 },
    ageColumn,
  ],
  selectableFields: [".spec.instance.name", ".spec.type"],
  nameRules: [],
};
