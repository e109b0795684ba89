// Reads the error that the API server reports: a Status object, or the response of a proxy or a starting server.
import type { ApiFault, ApiFaultCode } from "./api-result.ts";
import { isRecord } from "./kube-object.ts";

const messageCharactersMax = 2048;
const bodyCharactersMax = 200;
const causesMax = 20;
const retryAfterMsMax = 60 * 60_000;

const codesByStatus: Readonly<Record<number, ApiFaultCode>> = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Gone",
  429: "TooManyRequests",
  504: "TimedOut",
};

/** The fault of a response other than 2xx. The body may be anything; only a Status object is trusted. */
export function faultOfResponse(status: number, body: string, retryAfter: string | undefined): ApiFault {
  const parsed = parseJson(body);
  if (isRecord(parsed) && parsed["kind"] === "Status") return faultOfStatus(parsed, status, retryAfterMs(retryAfter));
  const text = beginning(body.trim(), bodyCharactersMax);
  const message = text === "" ? `HTTP ${status}` : `HTTP ${status}: ${text}`;
  return { code: codeOf(status, ""), status, message, causes: [], ...retryAfterMs(retryAfter) };
}

/** The fault that a Status object reports: the object of an ERROR event in a watch, or the body of a failed request. */
export function faultOfStatus(
  object: unknown,
  httpStatus?: number,
  headerDelay: { readonly retryAfterMs?: number } = {},
): ApiFault {
  const body = isRecord(object) ? object : {};
  const details = isRecord(body["details"]) ? body["details"] : {};
  const status = httpStatus ?? (typeof body["code"] === "number" ? body["code"] : 500);
  const reason = textOf(body["reason"]);
  const detailDelay = retryAfterMs(details["retryAfterSeconds"]);
  const message = beginning(textOf(body["message"]), messageCharactersMax);
  return {
    code: codeOf(status, reason),
    status,
    message: message === "" ? `HTTP ${status} ${reason}`.trim() : message,
    causes: causesOf(details["causes"]),
    ...detailDelay,
    ...headerDelay,
  };
}

/** Truncated between two words: a part of a secret would not be recognized by the redactor. */
function beginning(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : text.slice(0, lengthMax).replace(/\S*$/u, "…");
}

function codeOf(status: number, reason: string): ApiFaultCode {
  if (reason === "AlreadyExists") return "AlreadyExists";
  if (reason === "Expired" || reason === "Gone") return "Gone";
  const code = codesByStatus[status];
  if (code !== undefined) return code;
  if (status >= 500) return "Unavailable";
  return status >= 400 ? "Invalid" : "ContractBroken";
}

function causesOf(causes: unknown): string[] {
  if (!Array.isArray(causes)) return [];
  return causes.slice(0, causesMax).flatMap((cause: unknown) => (isRecord(cause) ? textOf(cause["reason"]) : []));
}

/** Kubernetes sends whole seconds, never a date. */
function retryAfterMs(seconds: unknown): { readonly retryAfterMs?: number } {
  if (!/^[0-9]{1,9}$/.test(String(seconds))) return {};
  return { retryAfterMs: Math.min(Number(seconds) * 1000, retryAfterMsMax) };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
