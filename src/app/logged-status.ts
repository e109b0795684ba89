// Writes statuses and events to the cluster, and logs every event as a line and every failed status write as a warning.
import type { ResourceMeta, ResourceRef } from "../model/resource.ts";
import { resourceKey } from "../model/resource.ts";
import type { LogStatusPort } from "../reconcile/logs/forward-ports.ts";
import { keepLogPart } from "../reconcile/logs/forward-status.ts";
import type { StatusPort } from "../reconcile/ports.ts";
import type { ClusterStatus } from "../source/cluster/cluster-status.ts";
import type { LogFields, Logger } from "../telemetry/log.ts";
import type { SafeText } from "./status-texts.ts";
import { safeEvent, safeStatus } from "./status-texts.ts";
import type { ThrottledLog } from "./throttled-log.ts";

export interface LoggedStatusOptions {
  readonly status: ClusterStatus;
  readonly log: Logger;
  readonly throttledLog: ThrottledLog;
  readonly safe: SafeText;
  /** Called when a status could not be written. */
  readonly onUnwritten: (object: ResourceRef) => void;
}

export interface LoggedStatus extends StatusPort, LogStatusPort {}

/** @param fields the fields of the reconcile run, which are added to every line */
export function loggedStatus(options: LoggedStatusOptions, fields: LogFields): LoggedStatus {
  const { status, throttledLog, onUnwritten, safe } = options;
  const log = options.log.child(fields);
  const report = (object: ResourceMeta, problem: string | undefined): void => {
    if (problem === undefined) return;
    throttledLog.warn("status write failed", { ...fields, subject: resourceKey(object), code: "", problem });
    onUnwritten(object);
  };
  return {
    read: (meta) => status.read(meta),
    write: async (meta, next) => {
      // `status.logs` belongs to the log forwarder; keep the stored value.
      const texts = safeStatus(next, safe);
      const written =
        meta.kind === "WafInstance"
          ? status.update(meta, (current) => keepLogPart(texts, current))
          : status.write(meta, texts);
      report(meta, await written);
    },
    update: async (meta, change) => {
      const changed = (current: Readonly<Record<string, unknown>>) => {
        const next = change(current);
        return next && safeStatus(next, safe);
      };
      report(meta, await status.update(meta, changed));
    },
    event: (meta, given) => {
      const event = safeEvent(given, safe);
      const { type, reason, message, details, isRepeated } = event;
      const fields = { object: resourceKey(meta), reason, message, ...details };
      if (isRepeated !== true) log[type === "Warning" ? "warn" : "info"]("event", fields);
      status.event(meta, event);
    },
  };
}
