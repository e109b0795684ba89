// Building blocks shared by the statuses of several kinds. Statuses are parsed leniently (unknown fields are dropped), because a
// newer version may have written them.
import * as z from "zod";
import { conditions } from "./conditions.ts";

/** The first fields of every status. */
export const commonStatus = {
  observedGeneration: z
    .int()
    .default(-1)
    .meta({ format: "int64" })
    .describe("The `metadata.generation` that this status is based on, or -1 before the first reconcile run."),
  lastHandledRequest: z
    .string()
    .max(1024)
    .optional()
    .describe("The last value of the annotation `wafsync.dev/requested-at` that wafsync handled."),
  conditions,
};

export const count = z.int().min(0).meta({ format: "int32" });
