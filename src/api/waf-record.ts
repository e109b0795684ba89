// WafRecord: what wafsync must remember of an instance, as text that people can read. The operator alone writes it, and no
// role for tenants may: whoever can change a record decides which entries count as managed and which removals as approved.
import * as z from "zod";
import { ageColumn, type ServedDefinition } from "./kind-definition.ts";
import { recordKind } from "./kinds.ts";
import { objectName } from "./schema-parts.ts";

/** Objects of one record; each has less than 1 MiB. */
export const recordPartsMax = 1_000;

const part = z.int().min(1).max(recordPartsMax).meta({ format: "int32" });

export const wafRecordSpec = z
  .strictObject({
    instance: z
      .strictObject({
        name: objectName.describe("The name of the WafInstance, which is in the namespace of this object."),
        uid: z.string().max(64).optional().describe("The UID of the WafInstance when this object was written last."),
      })
      .describe("The WafInstance that the record belongs to."),
    type: z
      .enum(["Inventory", "LogForwarding"])
      .describe(
        "What is recorded. `Inventory`: which entries and origins wafsync added, for whom, and what was approved. `LogForwarding`: which log entries were forwarded.",
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
  })
  .describe("A record, or a part of it.");

export type WafRecordSpec = z.output<typeof wafRecordSpec>;
export type RecordType = WafRecordSpec["type"];

export const wafRecordDefinition: ServedDefinition = {
  kind: recordKind,
  description:
    "Written by wafsync; do not edit. A record of what wafsync must remember of a WafInstance, or a part of one.",
  spec: wafRecordSpec,
  status: undefined,
  printerColumns: [
    {
      name: "Instance",
      type: "string",
      jsonPath: ".spec.instance.name",
      description: "The WafInstance that it belongs to",
    },
    { name: "Type", type: "string", jsonPath: ".spec.type", description: "What is recorded" },
    { name: "Part", type: "integer", jsonPath: ".spec.part", description: "The number of the part" },
    { name: "Parts", type: "integer", jsonPath: ".spec.parts", description: "How many parts there are", priority: 1 },
    ageColumn,
  ],
  selectableFields: [".spec.instance.name", ".spec.type"],
  nameRules: [],
};
