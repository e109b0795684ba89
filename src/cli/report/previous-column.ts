// The column that compares a row with the previous period.
import { inThousands } from "../../model/sentence.ts";
import type { Cell, Column } from "./data-table.ts";
import type { ComparedKind } from "./previous-period.ts";
import type { ReportData } from "./report-data.ts";

/** No column if there is no previous period to compare with. */
export function previousColumns(before: ReportData["before"]): Column[] {
  return before === undefined ? [] : [{ title: "Previous", kind: "number" }];
}

export function previousCells(before: ReportData["before"], kind: ComparedKind, key: string): Cell[] {
  if (before === undefined) return [];
  const count = before.counts.countOf(kind, key) ?? 0;
  return [{ shown: count === 0 ? "new" : inThousands(count), value: count }];
}
