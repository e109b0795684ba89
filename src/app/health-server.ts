// Liveness, readiness and metrics for the cluster. Plain HTTP, GET only.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface HealthChecks {
  /** Undefined once the process has listed all objects; otherwise, what is missing. */
  readonly readiness: () => string | undefined;
  readonly metrics: () => Promise<string>;
  readonly metricsContentType: string;
}

export interface HealthServer {
  readonly healthPort: number;
  readonly metricsPort: number;
  close(): Promise<void>;
}

const requestTimeoutMs = 10_000;

/** Serves `/healthz` and `/readyz` on one port and `/metrics` on another. Port 0 means any free port; no host means all addresses. */
export async function startHealthServer(
  checks: HealthChecks,
  where: { readonly host: string | undefined; readonly healthPort: number; readonly metricsPort: number },
): Promise<HealthServer> {
  const health = listenOn((path, response) => {
    // A hung process cannot answer, so any answer means alive.
    if (path === "/healthz") answerCheck(response, undefined);
    else if (path === "/readyz") answerCheck(response, checks.readiness());
    else answer(response, 404, "Not found: this port serves /healthz and /readyz.\n");
  });
  const metrics = listenOn((path, response) => {
    if (path !== "/metrics") {
      answer(response, 404, "Not found: this port serves /metrics.\n");
      return;
    }
    checks.metrics().then(
      (text) => answer(response, 200, text, checks.metricsContentType),
      () => answer(response, 500, "The metrics can't be collected.\n"),
    );
  });
  const healthPort = await start(health, where.host, where.healthPort);
  try {
    const metricsPort = await start(metrics, where.host, where.metricsPort);
    const close = async (): Promise<void> => void (await Promise.all([stop(health), stop(metrics)]));
    return { healthPort, metricsPort, close };
  } catch (error) {
    // An open port would keep the process alive.
    await stop(health);
    throw error;
  }
}

function listenOn(handle: (path: string, response: ServerResponse) => void): Server {
  return createServer({ requestTimeout: requestTimeoutMs }, (request, response) => {
    if (request.method !== "GET" && request.method !== "HEAD") answer(response, 405, "Method not allowed: use GET.\n");
    else handle((request.url ?? "").split("?")[0] ?? "", response);
  });
}

function answerCheck(response: ServerResponse, problem: string | undefined): void {
  answer(response, problem === undefined ? 200 : 503, problem === undefined ? "ok\n" : `${problem}\n`);
}

function answer(response: ServerResponse, status: number, body: string, type = "text/plain; charset=utf-8"): void {
  response.writeHead(status, { "content-type": type }).end(body);
}

async function start(server: Server, host: string | undefined, port: number): Promise<number> {
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen({ port, ...(host === undefined ? {} : { host }) }, () => listening.resolve());
  await listening.promise;
  return (server.address() as AddressInfo).port;
}

async function stop(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
