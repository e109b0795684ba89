// What runs report on objects, in a cluster and in a folder. Sanitizes all messages in one place: redacts every API key that the process
// has ever known, and escapes invisible characters. Other strings in a status are data, which is compared with the declarations, and stay
// unchanged.
import { type LogStatusPort, keepLogPart } from "../logs/forward-ports.ts";
import type { Redactor } from "../model/redactor.ts";
import type { ResourceMeta } from "../model/resource.ts";
import { visibleText } from "../model/texts.ts";
import type { StatusPort } from "../run/ports.ts";

type Status = Readonly<Record<string, unknown>>;

export interface ReportedStatus extends StatusPort, LogStatusPort {}

/** Where statuses and events are stored. `update` is absent if one process writes all parts of a status, and reports nothing about logs. */
export type StatusStore = StatusPort & Partial<Pick<LogStatusPort, "update">>;

export interface ReportOptions {
  readonly status: StatusStore;
  readonly redactor: Redactor;
  /** Called for every event as well. */
  readonly onEvent?: StatusPort["event"] | undefined;
  /** Called when a status could not be written. */
  readonly onUnwritten?: (object: ResourceMeta, problem: string) => void;
}

export function reportedStatus({ status, redactor, onEvent, onUnwritten }: ReportOptions): ReportedStatus {
  const safe = (text: string): string => visibleText(redactor.redact(text));
  const noted = (object: ResourceMeta, problem: string | void): string | void => {
    if (typeof problem === "string") onUnwritten?.(object, problem);
    return problem;
  };
  const update: LogStatusPort["update"] = async (meta, change) => {
    const changed = (current: Status): Status | undefined => {
      const next = change(current);
      return next && safeStatus(next, safe);
    };
    return noted(meta, await status.update?.(meta, changed));
  };
  return {
    read: (meta) => status.read(meta),
    write: async (meta, next) => {
      // `status.logs` belongs to the log forwarder; keep the stored value.
      if (meta.kind === "WafInstance" && status.update !== undefined) {
        return await update(meta, (current) => keepLogPart(next, current));
      }
      return noted(meta, await status.write(meta, safeStatus(next, safe)));
    },
    update,
    event: (meta, given) => {
      const event = { ...given, message: safe(given.message) };
      onEvent?.(meta, event);
      status.event(meta, event);
    },
  };
}

/** The names of fields with messages, anywhere in a status. */
const fieldsForPeople: ReadonlySet<string> = new Set(["message", "entry", "source"]);

function safeStatus(status: Status, safe: (text: string) => string): Status {
  const safeValue = (value: unknown, name: string): unknown => {
    if (typeof value === "string") return fieldsForPeople.has(name) ? safe(value) : value;
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => safeValue(item, name));
    return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, safeValue(inner, field)]));
  };
  return safeValue(status, "") as Status;
}
