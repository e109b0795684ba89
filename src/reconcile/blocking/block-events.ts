// Publishes what the log reader found out about WafAutoBlocks, and emits events about newly listed clients.
import { counted, listed } from "../../model/sentence.ts";
import type { BlockPublisher } from "../logs/forward-ports.ts";
import type { StatusPort } from "../ports.ts";
import type { BlockBook } from "./block-book.ts";

const entriesShownMax = 10;

/** Blocks emit their own events when the entries are on the list. */
export function autoBlockPublisher(
  book: Pick<BlockBook, "publish" | "report">,
  status: Pick<StatusPort, "event">,
  onPublished?: BlockPublisher["publish"],
): BlockPublisher {
  return {
    publish: (instance, judgements) => {
      book.publish(instance, judgements);
      onPublished?.(instance, judgements);
    },
    report: (instance, reading) => book.report(instance, reading),
    listed: ({ meta, mode }, clients) => {
      if (mode !== "Suggest") return;
      const entries = listed(
        clients.map(({ entry }) => entry),
        entriesShownMax,
      );
      const message = `Suggests to block ${counted(clients.length, "client", "clients")}: ${entries}. The status has the evidence.`;
      status.event(meta, { type: "Normal", reason: "BlockSuggested", message });
    },
  };
}
