// WafOrigin: a host that the WAF may send requests to.
import * as z from "zod";
import { host } from "./host-rules.ts";
import { closingColumns, instanceColumn, type KindDefinition } from "./kind-definition.ts";
import { dateTime, deletionPolicy, instanceRef } from "./schema-parts.ts";
import { commonStatus } from "./status-parts.ts";

export const wafOriginSpec = z
  .strictObject({
    instanceRef,
    host: host.describe("A DNS name or an IP address, without scheme, port and path."),
    type: z
      .enum(["Alternate", "Backup"])
      .describe(
        "`Alternate` is rotated in, `Backup` is used when the main one can't be reached. A change removes the origin and adds it again.",
      ),
    deletionPolicy: deletionPolicy.describe(
      "What happens when this object is deleted: `Delete` removes the origin if wafsync added it, `Retain` leaves it on the WAF.",
    ),
  })
  .describe("Which host, and in which role.");

export const wafOriginStatus = z
  .object({
    ...commonStatus,
    state: z
      .enum(["Pending", "Primary", "Added", "Rejected"])
      .optional()
      .describe(
        "What can be known, since the API shows the primary alone. `Pending`: not yet written. `Primary`: seen as the current primary. `Added`: the API accepted it. `Rejected`: the API refused it.",
      ),
    addedTime: dateTime.optional().describe("When the API accepted the origin."),
    message: z.string().max(1024).optional().describe("What the API said when it refused the origin."),
  })
  .prefault({ observedGeneration: -1 })
  .describe("What came of the origin.");

export type WafOriginSpec = z.output<typeof wafOriginSpec>;
export type WafOriginStatus = z.output<typeof wafOriginStatus>;

export const wafOriginDefinition: KindDefinition<typeof wafOriginSpec, typeof wafOriginStatus> = {
  kind: "WafOrigin",
  description: "A host that the WAF may send requests to, beside the primary origin.",
  spec: wafOriginSpec,
  status: wafOriginStatus,
  printerColumns: [
    instanceColumn,
    { name: "Host", type: "string", jsonPath: ".spec.host", description: "The host" },
    { name: "Type", type: "string", jsonPath: ".spec.type", description: "Alternate or Backup" },
    { name: "State", type: "string", jsonPath: ".status.state", description: "What is known of it at the WAF" },
    ...closingColumns,
  ],
  selectableFields: [".spec.instanceRef.name", ".spec.host"],
  nameRules: [],
};
