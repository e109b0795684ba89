// Sends one request to the WAF and returns the exchange, without an assessment. The whole exchange has one deadline, which starts
// when it is passed to the connection, and the size of bodies is checked while they arrive.
import { isUtf8 } from "node:buffer";
import { type Clock, startDeadline } from "../async/clock.ts";
import type { HttpConnection, HttpRequest, HttpResponse } from "../net/http-connection.ts";
import { HttpFault, abortedCode, codeOf, freeMemory, readBody } from "../net/http-connection.ts";

export interface RequestLimits {
  readonly timeoutMs: number;
  /** The limit for the body of a 2xx response. */
  readonly bodyBytesMax: number;
  readonly signal?: AbortSignal | undefined;
}

/** The limit for the body of any other response, which is only an explanation. */
export const failureBodyBytesMax = 65_536;

/** The code of a body that is not UTF-8. */
export const notTextCode = "NOT_TEXT";

/** A complete response. */
export interface Answered extends Pick<HttpResponse, "headers"> {
  readonly sent: true;
  readonly status: number;
  readonly text: string;
}

export interface Broken extends Pick<HttpResponse, "headers"> {
  /** False only if it is certain that no byte of the request was sent: then a write can't have taken effect. */
  readonly sent: boolean;
  /** The status of a response whose body did not arrive. */
  readonly status: number | undefined;
  readonly text?: undefined;
  /** `DEADLINE`, `ABORTED`, `BODY_TOO_LARGE`, `NOT_TEXT`, or the stable code of a network or protocol error, such as `ECONNREFUSED`. */
  readonly code: string;
}

export type Exchange = Answered | Broken;

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
    const { status, headers } = response;
    if (!isUtf8(body)) return { sent: true, status, headers, code: notTextCode };
    const text = body.toString("utf8");
    freeMemory(body);
    return { sent: true, status, headers, text };
  } catch (error) {
    const sent = !(error instanceof HttpFault) || error.sent;
    const code = signal?.aborted === true ? abortedCode : codeOf(error);
    return { sent, status: response?.status, headers: response?.headers ?? {}, code };
  } finally {
    deadline.end();
  }
}

export function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status <= 299;
}
