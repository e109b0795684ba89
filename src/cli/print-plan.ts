// Formats a plan for people: writes, and all other differences from the declared state.
import { inThousands } from "../model/sentence.ts";
import { visibleText } from "../model/visible-text.ts";
import type { InstanceView } from "./instance-view.ts";
import type { DifferenceView, OperationView } from "./operation-view.ts";
import { feedLines, problemLines } from "./print-instance.ts";
import type { Paint } from "./terminal.ts";

/** Further lines of operations are only counted; `-o json` prints all of them. */
const operationsShownMax = 40;
/** How many operations with the same reason are shown. */
const operationsPerReasonMax = 5;

/**
 * The planned changes: one line each, with its reason. Nothing for an instance that cannot be reconciled.
 * @param isFaulty Whether some files, or parts of them, are not in the plan.
 */
export function planLines(view: InstanceView, paint: Paint, isFaulty: boolean): string[] {
  if (view.trouble !== undefined) return [];
  const lines = [headline(view, paint)];
  const problems = [...feedLines(view, paint), ...problemLines(view, paint)];
  if (!differsFromDeclared(view)) {
    const hasFaults = isFaulty || isPartial(view);
    const nothing = hasFaults
      ? "Nothing to do for the other objects."
      : "Nothing to do: the WAF matches the declared state.";
    return [...lines, ...problems, paint(hasFaults ? "bold" : "green", `  ${nothing}`)];
  }
  lines.push(
    ...groupLines(view.operations, paint),
    ...groupLines(view.held, paint, { mark: "!", style: "yellow" }),
    ...groupLines(view.waiting, paint, { mark: "?", style: "yellow" }),
    ...groupLines(view.unmanaged, paint, { mark: "*", style: "cyan" }),
  );
  return [...lines, ...problems, paint("bold", `  Plan: ${planSummary(view)}`)];
}

function headline(view: InstanceView, paint: Paint): string {
  const where = view.domain === undefined ? "" : ` → ${view.domain}`;
  const primary = view.primaryOrigin === undefined ? "" : paint("dim", `  (primary origin ${view.primaryOrigin})`);
  return `${paint("bold", `${view.namespace}/${view.name}`)}${where}${primary}`;
}

type Item = DifferenceView & { readonly operation?: OperationView["operation"] };

interface Mark {
  readonly mark: string;
  readonly style: Parameters<Paint>[0];
}

const marks: Readonly<Record<OperationView["operation"], Mark>> = {
  AddEntry: { mark: "+", style: "green" },
  AddOrigin: { mark: "+", style: "green" },
  RemoveEntry: { mark: "-", style: "red" },
  RemoveOrigin: { mark: "-", style: "red" },
  Adopt: { mark: "=", style: "cyan" },
  ClearCache: { mark: "~", style: "cyan" },
};

/** One line per item, in columns; long series with the same reason and long plans are shortened. */
function groupLines(items: readonly Item[], paint: Paint, fixed?: Mark): string[] {
  const groups = groupByReason(items, operationsPerReasonMax);
  // Entries are shown as the WAF's list spells them, which may include line breaks.
  const visible = groups.map((group) => ({ ...group, shown: group.shown.map(visibleItem) }));
  const shown = visible.flatMap((group) => group.shown);
  const targetWidth = Math.max(...shown.map(({ target }) => target.length));
  const valueWidth = Math.max(...shown.map(({ value }) => value.length));
  const lines = visible.flatMap((group) => {
    const texts = group.shown.map(({ operation, target, value, reason }) => {
      const { mark, style } = fixed ?? marks[operation ?? "AddEntry"];
      const text = `  ${mark} ${target.padEnd(targetWidth)}  ${value.padEnd(valueWidth)}`;
      return `${paint(style, text)}  ${paint("dim", reason)}`;
    });
    const summedUp = group.count - group.shown.length;
    const more = `    ${" ".repeat(targetWidth)}  … and ${inThousands(summedUp)} more like ${group.shown.length === 1 ? "this" : "these"}`;
    return summedUp > 0 ? [...texts, paint("dim", more)] : texts;
  });
  if (lines.length <= operationsShownMax) return lines;
  const left = inThousands(lines.length - operationsShownMax);
  return [...lines.slice(0, operationsShownMax), paint("dim", `  … and ${left} more lines (-o json shows all)`)];
}

function visibleItem(item: Item): Item {
  return { ...item, value: visibleText(item.value), reason: visibleText(item.reason) };
}

export interface ItemGroup<T> {
  readonly shown: T[];
  count: number;
}

/** Consecutive items that differ only in their value. At most `shownMax` of each group are kept; all are counted. */
export function groupByReason<T extends Item>(items: readonly T[], shownMax: number): ItemGroup<T>[] {
  const groups: ItemGroup<T>[] = [];
  for (const item of items) {
    const last = groups.at(-1);
    const first = last?.shown[0];
    const isAlike =
      first !== undefined &&
      first.operation === item.operation &&
      first.target === item.target &&
      first.reason === item.reason;
    if (last === undefined || !isAlike) {
      groups.push({ shown: [item], count: 1 });
      continue;
    }
    last.count += 1;
    if (last.shown.length < shownMax) last.shown.push(item);
  }
  return groups;
}

/** True if the WAF differs from the declared state. Errors in the files do not count here: they make a plan partial. */
export function differsFromDeclared(view: InstanceView): boolean {
  const { operations, held, refused, waiting, unmanaged } = view;
  return operations.length + held.length + refused.length + waiting.length + unmanaged.length > 0;
}

/** Parts of the declared state are invalid, and therefore not in the plan. */
export function isPartial({ objects }: InstanceView): boolean {
  return objects.some(({ isAccepted }) => !isAccepted);
}

/** `3 to add, 0 to remove, one call each.` */
export function planSummary(view: InstanceView): string {
  const { operations } = view;
  const count = (start: string): number => operations.filter(({ operation }) => operation.startsWith(start)).length;
  const [added, removed, adopted] = [count("Add"), count("Remove"), count("Adopt")];
  const parts = [
    `${inThousands(added)} to add${driftPart(view, added)}`,
    `${inThousands(removed)} to remove`,
    ...differenceParts(view, adopted),
  ];
  const each = adopted > 0 ? "one call for each other change" : "one call each";
  const calls = added + removed > 0 || operations.length > adopted ? [each] : [];
  const clear = count("ClearCache") === 0 ? "" : ", and one that clears the cache";
  return `${[...parts, ...calls].join(", ")}${clear}.`;
}

function driftPart({ driftCount }: InstanceView, added: number): string {
  return driftCount === 0 ? "" : ` (${inThousands(Math.min(driftCount, added))} removed by another writer)`;
}

function differenceParts(view: InstanceView, adopted: number): string[] {
  const { held, rejectedCount, waiting, unmanaged } = view;
  const counts: readonly (readonly [number, string])[] = [
    [adopted, "to adopt without a call"],
    [held.length, "on hold"],
    [rejectedCount, "rejected"],
    [waiting.length, "waiting"],
    [unmanaged.length, "already on the WAF and unmanaged"],
  ];
  return counts.flatMap(([count, what]) => (count === 0 ? [] : [`${inThousands(count)} ${what}`]));
}
