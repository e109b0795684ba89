// The one place where an operation of a plan becomes a call of the WAF.
import type { Operation } from "../../model/operation.ts";
import type { WafResult, WriteAccepted } from "../../model/waf-result.ts";
import type { CallOptions, WafPort } from "../ports.ts";

export function performOperation(
  waf: WafPort,
  operation: Operation,
  options: CallOptions,
): Promise<WafResult<WriteAccepted>> {
  switch (operation.kind) {
    case "AddEntry":
      return waf.addEntry(operation.list, operation.entry, options);
    case "RemoveEntry":
      return waf.removeEntry(operation.list, operation.spelling, options);
    case "AddOrigin":
      return waf.addOrigin(operation.host, operation.type, options);
    case "RemoveOrigin":
      return waf.removeOrigin(operation.host, options);
  }
}
