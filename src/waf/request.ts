// Sends one request to the WAF and returns the exchange, without an assessment. The whole exchange has one deadline, which starts
// when it is passed to the connection, and the size of bodies is checked while they arrive.
import { isUtf8 } from "node:buffer";
import type { Clock } from "../async/clock.ts";
import { deadlineCode, startDeadline } from "../async/deadline.ts";
import type { HttpConnection, HttpRequest, HttpResponse } from "../net/http-connection.ts";
import { HttpFault, bodyTooLargeCode, freeMemory, readBody } from "../net/http-connection.ts";

export interface RequestLimits {
  readonly timeoutMs: number;
  /** The limit for the body of a 2xx response. */
  readonly bodyBytesMax: number;
  readonly signal?: AbortSignal | undefined;
}

/** The limit for the body of any other response, which is only an explanation. */
export const failureBodyBytesMax = 65_536;

export type BodyFault = "Deadline" | "Aborted" | "Network" | "TooLarge" | "NotText";

export type ReceivedBody =
  | { readonly state: "Whole"; readonly text: string }
  /** `errorCode` is the stable code of the network or protocol error, such as `ECONNREFUSED`. */
  | { readonly state: "Missing"; readonly fault: BodyFault; readonly errorCode: string | undefined };

export interface Exchange {
  /** False only if it is certain that no byte of the request was sent: then a write can't have taken effect. */
  readonly sent: boolean;
  /** The status of the final response, even if its body did not arrive. */
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  /** The `Date` header: the time of the server. */
  readonly date: string | undefined;
  readonly body: ReceivedBody;
}

const plainHeaders = { accept: "application/json", "user-agent": "wafsync" };
const formHeaders = { ...plainHeaders, "content-type": "application/x-www-form-urlencoded" };

/** Never rejects: the result contains every failure. */
export async function sendRequest(
  connection: HttpConnection,
  { method, path, form }: Pick<HttpRequest, "method" | "path"> & { readonly form: string },
  { timeoutMs, bodyBytesMax, signal }: RequestLimits,
  clock: Pick<Clock, "schedule">,
): Promise<Exchange> {
  const deadline = startDeadline({ clock, timeoutMs, signal });
  const request =
    form === "" ? { method, path, headers: plainHeaders } : { method, path, headers: formHeaders, body: form };
  let response: HttpResponse | undefined;
  try {
    response = await connection.send(request, deadline.signal);
    const body = await readBody(response.body, isSuccess(response.status) ? bodyBytesMax : failureBodyBytesMax);
    return exchangeOf(response, true, textOf(body));
  } catch (error) {
    const { code = "", sent = true } = error instanceof HttpFault ? error : {};
    const fault = bodyFaultOf(code, signal?.aborted === true);
    return exchangeOf(response, sent, { state: "Missing", fault, errorCode: fault === "Network" ? code : undefined });
  } finally {
    deadline.end();
  }
}

function exchangeOf(response: HttpResponse | undefined, sent: boolean, body: ReceivedBody): Exchange {
  const { status, headers } = response ?? {};
  return { sent, status, retryAfter: headers?.["retry-after"], date: headers?.date, body };
}

function textOf(body: Buffer): ReceivedBody {
  if (!isUtf8(body)) return { state: "Missing", fault: "NotText", errorCode: undefined };
  const text = body.toString("utf8");
  freeMemory(body);
  return { state: "Whole", text };
}

function bodyFaultOf(code: string, isAborted: boolean): BodyFault {
  if (code === deadlineCode) return "Deadline";
  if (code === bodyTooLargeCode) return "TooLarge";
  return isAborted ? "Aborted" : "Network";
}

export function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status <= 299;
}
