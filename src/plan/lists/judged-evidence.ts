// Why a client was listed, in words, for plans, `wafsync why` and reports.
import type { JudgedEntry } from "../../model/auto-block.ts";
import { inThousands } from "../../model/sentence.ts";
import { visibleText } from "../../model/visible-text.ts";

/** `63 requests from 2026-11-22T09:12:01Z to 2026-11-22T09:14:30Z: 60 SQL Injection, 3 Scanner`. */
export function evidenceOf({ requests, firstMs, lastMs, reasons, times }: JudgedEntry): string {
  const count = requests === 1 ? "1 request" : `${inThousands(requests)} requests`;
  const why = reasons.map(({ label, requests: of }) => `${inThousands(of)} ${visibleText(label)}`).join(", ");
  const again = times === 1 ? "" : `; listed ${times} times`;
  return `${count} from ${timeInWords(firstMs)} to ${timeInWords(lastMs)}${why === "" ? "" : `: ${why}`}${again}`;
}

function timeInWords(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d+Z$/u, "Z");
}
