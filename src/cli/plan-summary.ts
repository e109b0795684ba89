// A plan in one sentence, and whether it is empty: `plan` exits with 1 if and only if it is not.
import { inThousands } from "../model/sentence.ts";
import type { InstanceView } from "./instance-view.ts";

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
