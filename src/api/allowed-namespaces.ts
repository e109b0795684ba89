// Which namespaces may use a feed.
import * as z from "zod";
import { labelSelector } from "./schema-parts.ts";
import { withRules } from "./schema-rules.ts";

export const allowedNamespaces = withRules(
  z.strictObject({
    from: z
      .enum(["Same", "All", "Selector"])
      .default("Same")
      .describe(
        "`Same`: the namespace of the feed. `All`: every namespace. `Selector`: the namespaces that `selector` matches.",
      ),
    selector: labelSelector.optional().describe("With `from: Selector`: the labels that a namespace must have."),
  }),
  [
    {
      cel: "(has(self.from) && self.from == 'Selector') == has(self.selector)",
      message: "write selector only together with from: Selector",
      holds: ({ from, selector }) => (from === "Selector") === (selector !== undefined),
    },
  ],
);
