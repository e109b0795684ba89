// Writes the status of one object: the next one follows from the one before. The port writes only what differs.
import { requestedAtAnnotation } from "../../api/kinds.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import type { StatusPort } from "../ports.ts";

/** As the schemas have it: a longer request is cut. */
const requestLengthMax = 1024;

export async function writeStatus(
  status: StatusPort,
  meta: ResourceMeta,
  next: (before: object) => object,
): Promise<void> {
  const before = status.read(meta) ?? {};
  await status.write(meta, withoutUndefined({ ...next(before), ...handledRequest(meta) }));
}

/** Acknowledges the annotation that asks for a reconcile now. */
export function handledRequest({ annotations }: ResourceMeta): { readonly lastHandledRequest?: string } {
  const value = annotations[requestedAtAnnotation];
  return value === undefined ? {} : { lastHandledRequest: value.slice(0, requestLengthMax) };
}

/** Fields without a value are left out where a status is stored. */
export function withoutUndefined(status: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
}
