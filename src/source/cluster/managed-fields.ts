// The field manager of an object's field, from `metadata.managedFields`: the program, not the user. Clients can choose any
// name, so this is only informational, never for decisions.
import { isRecord } from "../../kube/kube-object.ts";
import type { FieldSetter } from "../../model/resource.ts";

const managerLengthMax = 128;

/** The last one that set the annotation; undefined if not recorded. */
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

/** For an object in its cached form, which contains only the manager itself. */
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

/** The last one that set a field of `spec`; undefined if not recorded. */
export function setterOfSpec(managedFields: readonly unknown[] | undefined): FieldSetter | undefined {
  return lastSetter(managedFields, (fields) => isRecord(fields) && isRecord(fields["f:spec"]));
}
