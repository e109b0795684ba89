// Describes why a client was listed, for plans, `wafsync why` and reports.
import type { JudgedEntry } from "../../model/auto-block.ts";
import { inThousands } from "../../model/sentence.ts";
import { secondText } from "../../model/time-text.ts";
import { visibleText } from "../../model/visible-text.ts";

/** `63 requests from 2026-11-22T09:12:01Z to 2026-11-22T09:14:30Z: 60 SQL Injection, 3 Scanner`. */
export function evidenceOf({ requests, firstMs, lastMs, reasons, times }: JudgedEntry): string {
  const count = requests === 1 ? "1 request" : `${inThousands(requests)} requests`;
  const why = reasons.map(({ label, requests: of }) => `${inThousands(of)} ${visibleText(label)}`).join(", ");
  const again = times === 1 ? "" : `; listed ${times} times`;
  return `${count} from ${secondText(firstMs)} to ${secondText(lastMs)}${why === "" ? "" : `: ${why}`}${again}`;
}
