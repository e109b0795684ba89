// Adds the clients that WafAutoBlocks listed, from the records of the log reader. These commands do not read logs for this.
import { realClock } from "../../async/clock.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { LoadedLogRecord } from "../../reconcile/logs/forward-ports.ts";

/** The same object if there is no WafAutoBlock. */
export async function withRecordedBlocks(
  gathered: Gathered,
  load: (instance: ObjectName) => Promise<LoadedLogRecord>,
): Promise<Gathered> {
  if (gathered.autoBlocks === undefined) return gathered;
  const { BlockBook } = await import("../../reconcile/blocking/block-book.ts");
  const { withJudged } = await import("../../reconcile/blocking/block-source.ts");
  const book = new BlockBook({ records: { load }, clock: realClock, onChange: () => undefined });
  return withJudged(gathered, await book.view(gathered.instance.meta));
}
