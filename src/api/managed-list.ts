// How wafsync manages one list of a WAF: what it removes, what it sends, and how much the list accepts.
import * as z from "zod";

const listPolicy = z
  .enum(["Additive", "Exclusive", "Observe"])
  .default("Additive")
  .describe(
    "`Additive` removes only what wafsync itself added. `Exclusive` makes the declared entries the complete list and removes all others. `Observe` plans and reports, but writes nothing.",
  );

export const managedList = z.strictObject({
  policy: listPolicy,
  compaction: z
    .enum(["None", "Covered", "Exact"])
    .default("Covered")
    .describe(
      "Which declared entries need no call of their own. `None`: every entry is sent. `Covered`: an entry inside a wider one of the same list and namespace, which lasts at least as long, is not sent. `Exact`: in addition, adjacent networks are sent as one network if it has exactly their addresses.",
    ),
  maxEntries: z
    .int()
    .min(1)
    .max(10_000_000)
    .optional()
    .meta({ format: "int32" })
    .describe(
      "How many entries the WAF accepts on this list. If more are declared, those of lower priority, and then those that were declared last, stay out, and the condition `Synced` is False with the reason `CapacityExceeded`. Defaults to no limit.",
    ),
});
