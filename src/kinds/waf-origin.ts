// WafOrigin: a host that the WAF can send requests to.
import * as z from "zod";
import { host } from "./host-rules.ts";
import { closingColumns, column, instanceColumn, type KindDefinition } from "./kind-definition.ts";
import { dateTime, deletionPolicy, instanceRef } from "./schema-parts.ts";
import { statusSchema } from "./conditions.ts";

export const wafOriginSpec = z
  .strictObject({
    instanceRef,
    host: host.describe("A DNS name or an IP address, without a scheme, port or path."),
    type: z
      .enum(["Alternate", "Backup"])
      .describe(
        "The WAF includes `Alternate` origins in its rotation, and uses `Backup` origins when the main origin is unreachable. Changing the type removes the origin and adds it again.",
      ),
    deletionPolicy: deletionPolicy.describe(
      "What happens when this object is deleted: `Delete` removes the origin if wafsync added it, `Retain` leaves it on the WAF.",
    ),
  })
  .describe("The host and its role.");

export const wafOriginStatus = statusSchema("The observed state of the origin.", {
  state: z
    .enum(["Pending", "Primary", "Added", "AddedUnconfirmed", "Rejected"])
    .optional()
    .describe(
      "What is known about the origin, because the API returns only the primary. `Pending`: not written yet. `Primary`: the current primary. `Added`: accepted by the API. `AddedUnconfirmed`: refused by the API, but an earlier call may have added it, or it is adopted. `Rejected`: rejected by the API.",
    ),
  addedTime: dateTime.optional().describe("When the API accepted the origin, or when it began to count as added."),
  message: z.string().max(1024).optional().describe("The API's error when it refused the origin."),
});

export type WafOriginStatus = z.output<typeof wafOriginStatus>;

export const wafOriginDefinition: KindDefinition<typeof wafOriginSpec, typeof wafOriginStatus> = {
  kind: "WafOrigin",
  shortName: "wafo",
  description: "A host that the WAF can send requests to, in addition to the primary origin.",
  spec: wafOriginSpec,
  status: wafOriginStatus,
  printerColumns: [
    instanceColumn,
    column("Host", "string", ".spec.host", "The host of the origin"),
    column("Type", "string", ".spec.type", "Alternate or Backup"),
    column("State", "string", ".status.state", "The state of the origin on the WAF"),
    ...closingColumns,
  ],
  selectableFields: [".spec.instanceRef.name", ".spec.host"],
};
