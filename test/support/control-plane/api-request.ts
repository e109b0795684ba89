// A request to the API server for tests that check its exact responses: no retries, no Kubernetes types.
import type { Dispatcher } from "undici";

export interface ApiTarget {
  readonly url: string;
  readonly token: string;
  /** Trusts the certificate of the server. */
  readonly dispatcher: Dispatcher;
}

export interface ApiRequest {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path with its query, for example "/api/v1/namespaces?limit=1". */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Required for PATCH; application/json by default. */
  readonly contentType?: string;
  readonly timeoutMs?: number;
}

export interface ApiAnswer {
  readonly status: number;
  /** The parsed JSON, or the text of a response that is not JSON. */
  readonly body: unknown;
}

/** Only for requests or processes that hang. */
const timeoutMsDefault = 120_000;

/** Rejects only if no response arrives; every HTTP status counts as a response. */
export async function requestApi(
  { url, token, dispatcher }: ApiTarget,
  { method = "GET", path, body, contentType = "application/json", timeoutMs = timeoutMsDefault }: ApiRequest,
): Promise<ApiAnswer> {
  const headers = { accept: "application/json", authorization: `Bearer ${token}` };
  const response = await dispatcher.request({
    origin: url,
    method,
    path,
    headers: body === undefined ? headers : { ...headers, "content-type": contentType },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = await response.body.text();
  const isJson = String(response.headers["content-type"]).startsWith("application/json");
  return { status: response.statusCode, body: isJson ? (JSON.parse(text) as unknown) : text };
}
