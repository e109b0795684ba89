// Requests to the API server for tests that make hundreds of them: with keep-alive, admin permissions and no retries.
import { readFile } from "node:fs/promises";
import { Pool } from "undici";
import { type ApiAnswer, type ApiRequest, requestApi } from "../control-plane/api-request.ts";
import type { ClusterDescription } from "../control-plane/cluster-access.ts";

export interface KubeRequests {
  /** Every HTTP status counts as a response; rejects if there is no response. */
  send(wanted: ApiRequest): Promise<ApiAnswer>;
  /** Like send, but returns the body, and rejects unless the status is 2xx. */
  expect(wanted: ApiRequest): Promise<unknown>;
  /** The objects of a JSON stream, one per line, until the server ends it or the signal aborts. Rejects on an HTTP error. */
  stream(path: string, signal: AbortSignal): AsyncGenerator;
  close(): Promise<void>;
}

const connections = 10;

export async function createKubeRequests({ url, caFile, adminToken }: ClusterDescription): Promise<KubeRequests> {
  const ca = await readFile(caFile, "utf8");
  const pool = new Pool(url, { connections, connect: { ca }, allowH2: false, bodyTimeout: 0 });
  const target = { url, token: adminToken, dispatcher: pool };
  const send: KubeRequests["send"] = async (wanted) => await requestApi(target, wanted);
  return {
    send,
    expect: async (wanted) => {
      const { status, body } = await send(wanted);
      if (status >= 300) throw new Error(`${wanted.method ?? "GET"} ${wanted.path}: ${status} ${JSON.stringify(body)}`);
      return body;
    },
    stream: async function* stream(path, signal) {
      const headers = { authorization: `Bearer ${adminToken}`, accept: "application/json" };
      const response = await pool.request({ method: "GET", path, headers, signal });
      if (response.statusCode !== 200) throw new Error(`${path}: HTTP ${response.statusCode}`);
      let rest = "";
      const decoder = new TextDecoder();
      for await (const chunk of response.body) {
        rest += decoder.decode(chunk as Uint8Array, { stream: true });
        const lines = rest.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield JSON.parse(line) as unknown;
      }
    },
    close: async () => await pool.destroy(),
  };
}

/** Calls the function for each item, several at a time. */
export async function eachInParallel<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items.values();
  const work = async (): Promise<void> => {
    for (const item of queue) await act(item);
  };
  await Promise.all(Array.from({ length: connections - 2 }, work));
}
