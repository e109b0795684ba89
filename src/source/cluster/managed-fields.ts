// Who set a field of an object, as `metadata.managedFields` records it: the program, not the person. Any client can name
// itself as it likes, so this is for people to read, and never for decisions.
import { isRecord } from "../../kube/kube-object.ts";
import type { FieldSetter } from "../../model/resource.ts";

const managerLengthMax = 128;

/** The last one that set the annotation; undefined if nothing is recorded of it. */
export function setterOfAnnotation(
  managedFields: readonly unknown[] | undefined,
  annotation: string,
): FieldSetter | undefined {
  return lastSetter(managedFields, (fields) => setsAnnotation(fields, annotation));
}

function lastSetter(
  managedFields: readonly unknown[] | undefined,
  sets: (fields: unknown) => boolean,
): FieldSetter | undefined {
  let last: FieldSetter | undefined;
  for (const entry of managedFields ?? []) {
    if (!isRecord(entry) || !sets(entry["fieldsV1"])) continue;
    const { manager, time } = entry;
    if (typeof manager !== "string" || manager === "" || typeof time !== "string") continue;
    if (last === undefined || last.time <= time) last = { manager: manager.slice(0, managerLengthMax), time };
  }
  return last;
}

/** Of an object in its stored form, which has no more than the setter itself. */
export function storedSetter(managedFields: readonly unknown[] | undefined): FieldSetter | undefined {
  const [setter] = managedFields ?? [];
  if (!isRecord(setter)) return undefined;
  const { manager, time } = setter;
  return typeof manager === "string" && typeof time === "string" ? { manager, time } : undefined;
}

function setsAnnotation(fields: unknown, annotation: string): boolean {
  const metadata = isRecord(fields) ? fields["f:metadata"] : undefined;
  const annotations = isRecord(metadata) ? metadata["f:annotations"] : undefined;
  return isRecord(annotations) && Object.hasOwn(annotations, `f:${annotation}`);
}

/** The last one that set anything of `spec`; undefined if nothing is recorded of it. */
export function setterOfSpec(managedFields: readonly unknown[] | undefined): FieldSetter | undefined {
  return lastSetter(managedFields, (fields) => isRecord(fields) && isRecord(fields["f:spec"]));
}
