// A request to the API server for tests that check its exact responses: no retries, no Kubernetes types.
import { request } from "node:https";

export interface ApiTarget {
  readonly url: string;
  /** The trusted certificates as PEM. */
  readonly ca: string;
  readonly token: string;
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
export async function requestApi(target: ApiTarget, wanted: ApiRequest): Promise<ApiAnswer> {
  const answered = Promise.withResolvers<ApiAnswer>();
  const sent = request(
    new URL(wanted.path, target.url),
    {
      method: wanted.method ?? "GET",
      ca: target.ca,
      agent: false,
      signal: AbortSignal.timeout(wanted.timeoutMs ?? timeoutMsDefault),
      headers: {
        accept: "application/json",
        authorization: `Bearer ${target.token}`,
        ...(wanted.body === undefined ? {} : { "content-type": wanted.contentType ?? "application/json" }),
      },
    },
    (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("error", answered.reject);
      response.on("end", () => {
        const isJson = (response.headers["content-type"] ?? "").startsWith("application/json");
        answered.resolve({ status: response.statusCode ?? 0, body: isJson ? (JSON.parse(text) as unknown) : text });
      });
    },
  );
  sent.on("error", answered.reject);
  sent.end(wanted.body === undefined ? undefined : JSON.stringify(wanted.body));
  return answered.promise;
}
