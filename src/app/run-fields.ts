// The fields of every log line of a run.
import { randomUUID } from "node:crypto";
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import type { LogFields } from "../telemetry/log.ts";

export function runFields(instance: ObjectName, reasons: readonly string[]): LogFields {
  return { reconcileID: randomUUID(), instance: nameKey(instance), reasons };
}
