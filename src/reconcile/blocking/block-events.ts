// Publishes the log reader's results for WafAutoBlocks, and emits events about newly listed clients.
import { counted, listed } from "../../model/sentence.ts";
import type { BlockPublisher } from "../logs/forward-ports.ts";
import type { StatusPort } from "../ports.ts";
import type { BlockBook } from "./block-book.ts";

const entriesShownMax = 10;

/** Emits events only for suggestions: enforced blocks have their own events when their entries are on the list. */
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
      const message = `Suggests blocking ${counted(clients.length, "client", "clients")}: ${entries}. See the status for the evidence.`;
      status.event(meta, { type: "Normal", reason: "BlockSuggested", message });
    },
  };
}
