// The pieces that the statuses of several kinds are made of. Statuses are read leniently (unknown fields are dropped),
// because a newer version may have written them.
import * as z from "zod";
import { conditions } from "./conditions.ts";

/** What the status of every kind begins with. */
export const commonStatus = {
  observedGeneration: z
    .int()
    .default(-1)
    .meta({ format: "int64" })
    .describe("The `metadata.generation` that this status speaks of; -1 before the first look."),
  lastHandledRequest: z
    .string()
    .max(1024)
    .optional()
    .describe("The value of the annotation `wafsync.dev/requested-at` that was heard last."),
  conditions,
};

/** A number of things. */
export const count = z.int().min(0).meta({ format: "int32" });
