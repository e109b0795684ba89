// WafRecord: the persistent records of an instance, a feed or a folder, in readable form. Only wafsync may write it, and no tenant
// role may: a record determines which entries are managed and which removals are approved.
import * as z from "zod";
import { ageColumn, column, type ServedDefinition } from "./kind-definition.ts";
import { recordKind } from "./kinds.ts";
import { int32, objectName } from "./schema-parts.ts";
import { withRules } from "./schema-rules.ts";

const digest = z.string().regex(/^[0-9a-f]{64}$/u);

const uid = (kind: string) =>
  z.string().max(64).optional().describe(`The UID of the ${kind} when this object was last written.`);

export const wafRecordSpec = withRules(
  z.strictObject({
    instance: z
      .strictObject({
        name: objectName.describe("The name of the WafInstance, in the namespace of this object."),
        uid: uid("WafInstance"),
      })
      .optional()
      .describe("The WafInstance that the record belongs to, unless it belongs to a feed or a folder."),
    feed: z
      .strictObject({
        name: objectName.describe("The name of the WafFeed, in the namespace of this object."),
        uid: uid("WafFeed"),
      })
      .optional()
      .describe("The WafFeed that the record belongs to, unless it belongs to an instance or a folder."),
    folder: z
      .strictObject({ name: objectName.describe("The name of the state, as in `--state kube:NAMESPACE/NAME`.") })
      .optional()
      .describe("The folder whose state the record is, unless it belongs to an instance or a feed."),
    type: z
      .enum(["Inventory", "LogForwarding", "History", "Feed", "State"])
      .describe(
        "The type of the record. `Inventory`: the managed entries and origins, their owners, and the approvals. `LogForwarding`: the forwarded log entries. `History`: the changes of entries and origins, for people. `Feed`: the last good content of a feed. `State`: the files of the state directory of a folder.",
      ),
    format: int32(1, 1_000_000).describe(
      "The version of the layout. wafsync rejects records with an unknown newer version.",
    ),
    text: z
      .string()
      .describe("The record, or its first line if it has parts, or one of these parts. It has one item per line."),
    digest: digest.describe("The SHA-256 digest of `text`, and of the digests of all parts."),
    parts: z
      .array(
        z.strictObject({
          name: z.string().max(253).describe("The name of the object with this part."),
          digest: digest.describe("The SHA-256 digest of its text."),
        }),
      )
      .max(10_000)
      .optional()
      .describe("The parts that follow the first line of a large record, in this order."),
  }),
  [
    {
      cel: "[has(self.instance), has(self.feed), has(self.folder)].exists_one(isSet, isSet)",
      message: "a record belongs either to an instance, a feed or a folder: wafsync writes it, so do not edit it",
      holds: "AdmissionOnly",
    },
  ],
).describe("A record, or a part of it.");

export type WafRecordSpec = z.output<typeof wafRecordSpec>;

export const wafRecordDefinition: ServedDefinition = {
  kind: recordKind,
  shortName: "wafrec",
  description: "A record of a WafInstance, a WafFeed or a folder, or a part of it. Written by wafsync; do not edit.",
  spec: wafRecordSpec,
  status: undefined,
  printerColumns: [
    column("Instance", "string", ".spec.instance.name", "The WafInstance that the record belongs to"),
    column("Feed", "string", ".spec.feed.name", "The WafFeed that the record belongs to", "Wide"),
    column("Type", "string", ".spec.type", "The type of the record"),
    ageColumn,
  ],
  selectableFields: [".spec.instance.name", ".spec.type"],
};
