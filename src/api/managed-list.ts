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
  compaction: z
    .enum(["None", "Covered", "Exact"])
    .default("Covered")
    .describe(
      "Which declared entries wafsync sends. `None`: all entries. `Covered`: all except entries inside a wider entry of the same list and namespace that lasts at least as long. `Exact`: like `Covered`, but adjacent networks are also sent as one network if it has exactly the same addresses.",
    ),
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
