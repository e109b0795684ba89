// Writes statuses and events to the cluster, and logs every event as a line and every failed status write as a warning.
import type { Clock } from "../async/clock.ts";
import { LruMap } from "../async/lru-map.ts";
import { resourceKey, type ResourceMeta, type ResourceRef } from "../model/resource.ts";
import type { LogStatusPort } from "../logs/forward-ports.ts";
import { keepLogPart } from "../logs/forward-status.ts";
import type { StatusPort } from "../run/ports.ts";
import type { ClusterStatus } from "../source/cluster/cluster-status.ts";
import type { LogFields, Logger } from "../telemetry/log.ts";
import { safeEvent, safeStatus, type SafeText } from "./status-texts.ts";

export interface LoggedStatusOptions {
  readonly status: Pick<ClusterStatus, "read" | "write" | "update" | "event">;
  /** With the fields of the reconcile run. */
  readonly log: Logger;
  readonly throttledLog: ThrottledLog;
  readonly safe: SafeText;
  /** Called when a status could not be written. */
  readonly onUnwritten: (object: ResourceRef) => void;
}

export interface LoggedStatus extends StatusPort, LogStatusPort {}

export function loggedStatus({ status, log, throttledLog, onUnwritten, safe }: LoggedStatusOptions): LoggedStatus {
  const report = (object: ResourceMeta, problem: string | undefined): void => {
    if (problem === undefined) return;
    throttledLog.warn("status write failed", { subject: resourceKey(object), code: "", problem }, log);
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

const repeatMs = 300_000;
const subjectsMax = 1_000;

/** Logs a recurring problem as a warning at most every 5 minutes, and every further occurrence at debug level. */
export class ThrottledLog {
  readonly #log: Logger;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #warned = new LruMap<string, number>(subjectsMax);

  constructor(log: Logger, clock: Pick<Clock, "monotonicMs">) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Problems with the same message, `subject` and `code` count as one. The message is constant. */
  warn(
    message: string,
    details: LogFields & { readonly subject: string; readonly code: string },
    log: Logger = this.#log,
  ): void {
    const key = `${message} ${details.subject} ${details.code}`;
    const nowMs = this.#clock.monotonicMs();
    const warnedMs = this.#warned.get(key);
    if (warnedMs !== undefined && nowMs - warnedMs < repeatMs) {
      log.debug(message, details);
      return;
    }
    this.#warned.set(key, nowMs);
    log.warn(message, details);
  }
}
