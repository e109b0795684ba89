// Liveness, readiness and metrics. Plain HTTP, GET only.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Answers the requests for one path after another. */
type Handle = (path: string, response: ServerResponse) => void;

export interface Service {
  readonly handle: Handle;
  /** 0 means any free port. */
  readonly port: number;
}

export interface Listening {
  /** Those of the services, in the same order. */
  readonly ports: readonly number[];
  close(): Promise<void>;
}

const requestTimeoutMs = 10_000;

/** Serves each service on its own port. Rejects with Node's error if one of them is in use. @param host all addresses if undefined */
export async function listen(host: string | undefined, services: readonly Service[]): Promise<Listening> {
  const started: Awaited<ReturnType<typeof startServer>>[] = [];
  const close = async (): Promise<void> => void (await Promise.all(started.map(async (one) => await one.close())));
  try {
    for (const { handle, port } of services) started.push(await startServer(serverOf(handle), host, port));
    return { ports: started.map(({ port }) => port), close };
  } catch (error) {
    // An open port would keep the process alive.
    await close();
    throw error;
  }
}

/** Answers `/healthz` and `/readyz`. @param readiness what is missing; undefined once the process has listed all objects */
export function healthOf(readiness: () => string | undefined): Handle {
  return (path, response) => {
    // A hung process cannot answer, so any answer means alive.
    const problem = path === "/readyz" ? readiness() : undefined;
    if (problem !== undefined) answer(response, 503, `${problem}\n`);
    else if (path === "/healthz" || path === "/readyz") answer(response, 200, "ok\n");
    else answer(response, 404, "Not found: this port serves /healthz and /readyz.\n");
  };
}

/** Answers `/metrics`. */
export function metricsOf(metrics: { readonly text: () => Promise<string>; readonly contentType: string }): Handle {
  return (path, response) => {
    if (path !== "/metrics") {
      answer(response, 404, "Not found: this port serves /metrics.\n");
      return;
    }
    metrics.text().then(
      (text) => answer(response, 200, text, metrics.contentType),
      () => answer(response, 500, "The metrics can't be collected.\n"),
    );
  };
}

function serverOf(handle: Handle): Server {
  return createServer({ requestTimeout: requestTimeoutMs }, (request, response) => {
    if (request.method !== "GET" && request.method !== "HEAD") answer(response, 405, "Method not allowed: use GET.\n");
    else handle((request.url ?? "").split("?")[0] ?? "", response);
  });
}

function answer(response: ServerResponse, status: number, body: string, type = "text/plain; charset=utf-8"): void {
  response.writeHead(status, { "content-type": type }).end(body);
}

/** Rejects with Node's error if the port is in use. @param host all addresses if undefined */
export async function startServer(server: Server, host: string | undefined, port: number) {
  server.listen({ port, ...(host === undefined ? {} : { host }) });
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close: async (): Promise<void> => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
