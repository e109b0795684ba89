// Sanitizes the messages of statuses and events in one place: redacts every API key that the process has ever known, and escapes
// invisible characters. Other strings in a status are data, which is compared with the declarations, and stay unchanged.
import type { Redactor } from "../model/redactor.ts";
import { visibleText } from "../model/visible-text.ts";
import type { StatusPort } from "../run/ports.ts";

type Status = Readonly<Record<string, unknown>>;

/** The names of fields with messages, anywhere in a status. */
const fieldsForPeople: ReadonlySet<string> = new Set(["message", "entry", "source"]);

/** Sanitizes a message. */
export type SafeText = (text: string) => string;

export function safeTexts(redactor: Redactor): SafeText {
  return (text) => visibleText(redactor.redact(text));
}

/** The status with sanitized messages. */
export function safeStatus(status: Status, safe: SafeText): Status {
  return safeValue(status, "", safe) as Status;
}

export function safeEvent<Event extends { readonly message: string }>(event: Event, safe: SafeText): Event {
  return { ...event, message: safe(event.message) };
}

/** @param onEvent called for every event as well */
export function safeStatusPort(status: StatusPort, redactor: Redactor, onEvent?: StatusPort["event"]): StatusPort {
  const safe = safeTexts(redactor);
  return {
    read: (meta) => status.read(meta),
    write: async (meta, next) => await status.write(meta, safeStatus(next, safe)),
    event: (meta, given) => {
      const event = safeEvent(given, safe);
      status.event(meta, event);
      onEvent?.(meta, event);
    },
  };
}

function safeValue(value: unknown, name: string, safe: SafeText): unknown {
  if (typeof value === "string") return fieldsForPeople.has(name) ? safe(value) : value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => safeValue(item, name, safe));
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, safeValue(inner, field, safe)]));
}
