// How wafsync manages one list of a WAF: what it removes, what it sends, and how much the list accepts.
import * as z from "zod";

const listPolicy = z
  .enum(["Additive", "Exclusive", "Observe"])
  .default("Additive")
  .describe(
    "`Additive` removes only managed entries, which wafsync added or adopted. `Exclusive` makes the declared entries the complete list and removes all others. `Observe` plans and reports, but writes nothing.",
  );

export const managedList = z.strictObject({
  policy: listPolicy,
  maxEntries: z
    .int()
    .min(1)
    .max(10_000_000)
    .optional()
    .meta({ format: "int32" })
    .describe(
      "How many entries the WAF accepts on this list. If more are declared, wafsync leaves out those of the lowest priority first, then the most recently declared ones, and the condition `Synced` is False with the reason `CapacityExceeded`. Defaults to no limit.",
    ),
});
