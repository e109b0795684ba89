// Writes the status of one object, derived from the current one. The port writes only differences, and says why it could not write.
import { requestedAtAnnotation } from "../../kinds/kinds.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import type { StatusPort } from "../ports.ts";

/** The limit in the schemas; longer requests are truncated. */
const requestLengthMax = 1024;

export async function writeStatus(
  status: StatusPort,
  meta: ResourceMeta,
  next: (before: object) => object,
): Promise<string | void> {
  const before = status.read(meta) ?? {};
  return await status.write(meta, withoutUndefined({ ...next(before), ...handledRequest(meta) }));
}

/** Acknowledges the annotation that requests a reconcile run. */
export function handledRequest({ annotations }: ResourceMeta): { readonly lastHandledRequest?: string } {
  const value = annotations[requestedAtAnnotation];
  return value === undefined ? {} : { lastHandledRequest: value.slice(0, requestLengthMax) };
}

/** Removes fields without a value, as in a stored status. */
function withoutUndefined(status: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
}
