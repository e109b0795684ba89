// One planned write to the WAF. `reason` is a sentence that explains it to users in a plan.
import type { ListName, OriginType } from "./declared.ts";
import type { Entry } from "../address/entry.ts";
import type { ObjectName } from "./resource.ts";

export type Operation =
  | {
      readonly kind: "AddEntry";
      readonly list: ListName;
      readonly entry: Entry;
      /** `namespace/name` of the rules that want it; the first has the highest precedence. */
      readonly rules: readonly string[];
      readonly reason: string;
      /** What the first rule says about the entry: a comment, or the evidence of a log. */
      readonly note?: string;
    }
  | {
      readonly kind: "RemoveEntry";
      readonly list: ListName;
      readonly entry: Entry;
      /** As the list shows it: the API identifies the entry by this string. */
      readonly spelling: string;
      readonly reason: string;
    }
  | { readonly kind: "AddOrigin"; readonly host: string; readonly type: OriginType; readonly reason: string }
  | { readonly kind: "RemoveOrigin"; readonly host: string; readonly type: OriginType; readonly reason: string };

export const operationKinds: readonly Operation["kind"][] = ["AddEntry", "RemoveEntry", "AddOrigin", "RemoveOrigin"];

/** An entry that becomes managed without a call, because it is already on the list. */
export interface Adoption {
  readonly list: ListName;
  readonly entry: Entry;
  /** `namespace/name` of the rules that adopt it. */
  readonly rules: readonly string[];
}

/** Everything that a run does on behalf of a user who has reviewed it. */
export type Effect =
  | Operation
  | ({ readonly kind: "Adopt" } & Pick<Adoption, "list" | "entry">)
  | { readonly kind: "ClearCache"; readonly clear: ObjectName };

/** The part of the WAF that an operation changes. */
export function partOf(operation: Operation): ListName | "origins" {
  return operation.kind === "AddEntry" || operation.kind === "RemoveEntry" ? operation.list : "origins";
}

/** `blocklist +192.0.2.1`: identifies the effect of an operation, equal for equal effects. */
export function operationKey(operation: Operation): string {
  switch (operation.kind) {
    case "AddEntry":
      return `${operation.list} +${operation.entry}`;
    case "RemoveEntry":
      return `${operation.list} -${operation.spelling}`;
    case "AddOrigin":
      return `origins +${operation.host} ${operation.type}`;
    case "RemoveOrigin":
      return `origins -${operation.host} ${operation.type}`;
  }
}
