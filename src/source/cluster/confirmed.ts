// The result of a fresh read: the objects, or the reason for the failure.
import type { ApiFault } from "../../kube/api-result.ts";

export type Confirmed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export function failedRead(subject: string, fault: ApiFault): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem: `${subject} could not be reread: ${fault.message}` };
}
