import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import { type ApiResult, createApiServer, type ApiServer, type ApiServerOptions } from "../../src/kube/api-server.ts";
import type { Credentials } from "../../src/kube/credentials.ts";
import { clusterCredentials } from "../support/builders/cluster-credentials.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";
import { failure, scriptedStream, startScriptedApiServer } from "../support/fakes/scripted-api-server.ts";
import {
  type Answer,
  cutConnection,
  json,
  type ScriptedServer,
  silent,
  text,
} from "../support/fakes/scripted-server.ts";
import { firstCertificate, secondCertificate } from "../support/builders/test-certificates.ts";
import { atTestEnd } from "../support/builders/at-test-end.ts";

async function startServer(...options: Parameters<typeof startScriptedApiServer>): Promise<ScriptedServer> {
  const server = await startScriptedApiServer(...options);
  atTestEnd(() => server.stop());
  return server;
}

function connectTo(server: ScriptedServer, options: Partial<ApiServerOptions> = {}): ApiServer {
  const credentials = clusterCredentials({ server: server.baseUrl, token: "first" });
  const api = createApiServer({ credentials, clock: realClock, ...options });
  atTestEnd(async () => api.close());
  return api;
}

async function temporaryFile(name: string, content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "wafsync-kube-"));
  atTestEnd(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

async function get(api: ApiServer): Promise<ApiResult<unknown>> {
  return await api.request({ method: "GET", path: "/x" });
}

function codeOf(result: ApiResult<unknown>): string {
  return result.ok ? "ok" : result.fault.code;
}

describe("requests", () => {
  test("carry method, query, body, content type and token, and return JSON with its status", async () => {
    const server = await startServer();
    server.next(json(201, { hello: "world" }));
    const result = await connectTo(server, { userAgent: "wafsync/1.2.3" }).request({
      method: "PATCH",
      path: "/api/v1/namespaces/a/configmaps/b",
      query: { dryRun: "All", limit: 5, left: undefined },
      body: { data: { x: "ü" } },
      contentType: "application/merge-patch+json",
    });
    expect(result).toStrictEqual({ ok: true, status: 201, value: { hello: "world" } });
    expect(server.requests[0]).toMatchObject({
      method: "PATCH",
      path: "/api/v1/namespaces/a/configmaps/b",
      query: { dryRun: "All", limit: "5" },
      body: '{"data":{"x":"ü"}}',
      headers: {
        "content-type": "application/merge-patch+json",
        authorization: "Bearer first",
        "user-agent": "wafsync/1.2.3",
      },
    });
  });

  test("a path in the server's address precedes the path of the request", async () => {
    const server = await startServer();
    server.answers(json(200, {}));
    const credentials = clusterCredentials({ server: `${server.baseUrl}/k8s/clusters/c-1/` });
    await connectTo(server, { credentials }).request({ method: "GET", path: "/version" });
    expect(server.requests[0]?.path).toBe("/k8s/clusters/c-1/version");
  });

  test("a thousand requests need no more than four connections", async () => {
    const server = await startServer();
    server.answers(json(200, {}));
    const api = connectTo(server);
    const results = await Promise.all(
      Array.from({ length: 1000 }, () => api.request({ method: "GET", path: "/version" })),
    );
    expect(results.every((result) => result.ok)).toBe(true);
    expect(server.connections).toBeLessThanOrEqual(4);
  });

  test("streams use no connections of requests", async () => {
    const server = await startServer();
    const api = connectTo(server, { connectionsMax: 1 });
    for (let count = 0; count < 6; count += 1) {
      server.next(scriptedStream().answer);
      expect(codeOf(await api.openStream({ path: "/watch" }))).toBe("ok");
    }
    server.next(json(200, {}));
    expect(codeOf(await get(api))).toBe("ok");
  });

  test("calls to a server that accepts connections but never responds end at their deadlines", async () => {
    const clock = createVirtualClock();
    const server = await startServer();
    server.answers(silent);
    const api = connectTo(server, { clock });
    const outcomes: string[] = [];
    const note = (name: string) => (result: ApiResult<unknown>) => void outcomes.push(`${name} ${codeOf(result)}`);
    const calls = [
      api.request({ method: "GET", path: "/default" }).then(note("default")),
      api.request({ method: "PUT", path: "/short", body: {}, timeoutMs: 5000 }).then(note("short")),
      api.openStream({ path: "/watch", timeoutMs: 7000 }).then(note("watch")),
    ];
    await clock.advance(4999);
    expect(outcomes).toStrictEqual([]);
    await clock.advance(2001);
    expect(outcomes).toStrictEqual(["short TimedOut", "watch TimedOut"]);
    await clock.advance(23_000);
    await Promise.all(calls);
    expect(outcomes).toStrictEqual(["short TimedOut", "watch TimedOut", "default TimedOut"]);
    expect(clock.sleeperCount()).toBe(0);
  });

  test("the caller's signal ends a request immediately", async () => {
    const server = await startServer();
    const stop = new AbortController();
    server.next(() => stop.abort());
    const api = connectTo(server);
    expect(codeOf(await api.request({ method: "GET", path: "/version", signal: stop.signal }))).toBe("Aborted");
    expect(codeOf(await api.request({ method: "GET", path: "/version", signal: stop.signal }))).toBe("Aborted");
    expect(server.requests).toHaveLength(1);
  });

  test("a lost connection and a stopped server are reported as Unavailable, and later requests succeed", async () => {
    const server = await startServer();
    const api = connectTo(server);
    server.next(cutConnection);
    expect(codeOf(await get(api))).toBe("Unavailable");
    await server.stop();
    expect(codeOf(await get(api))).toBe("Unavailable");
    await server.restart();
    server.next(json(200, {}));
    expect(codeOf(await get(api))).toBe("ok");
  });

  test("bodies that are not JSON cause no exception", async () => {
    const server = await startServer();
    const api = connectTo(server);
    server.next(text(404, "404 page not found\n"), text(200, "<html>"), text(502, "<html>"), failure(409, "Conflict"));
    const codes: string[] = [];
    for (let call = 0; call < 4; call += 1) codes.push(codeOf(await get(api)));
    expect(codes).toStrictEqual(["NotFound", "ContractBroken", "Unavailable", "Conflict"]);
  });

  test("a response that is longer than allowed is abandoned", async () => {
    const server = await startServer();
    server.next(json(200, { text: "x".repeat(2000) }));
    const api = connectTo(server, { bodyBytesMax: 1000 });
    expect(codeOf(await get(api))).toBe("BodyTooLarge");
  });

  test("redirects are not followed", async () => {
    const server = await startServer();
    server.next((_, response) => response.writeHead(302, { location: `${server.baseUrl}/other` }).end());
    expect(codeOf(await connectTo(server).request({ method: "GET", path: "/x" }))).toBe("ContractBroken");
    expect(server.requests).toHaveLength(1);
  });
});

describe("credentials", () => {
  const onlyForSecond: Answer = (request, response) => {
    const isNew = request.headers["authorization"] === "Bearer second";
    (isNew ? json(200, {}) : failure(401, "Unauthorized"))(request, response);
  };

  test("a token that was rotated is read immediately when the server refuses the old one", async () => {
    const server = await startServer();
    server.answers(onlyForSecond);
    const tokenFile = await temporaryFile("token", "first\n");
    const credentials = clusterCredentials({ server: server.baseUrl, tokenFile });
    const api = connectTo(server, { credentials });
    expect(codeOf(await get(api))).toBe("Unauthorized");
    await writeFile(tokenFile, "second\n");
    expect(codeOf(await get(api))).toBe("ok");
    expect(codeOf(await api.openStream({ path: "/watch" }))).toBe("ok");
    const sent = server.requests.map((request) => request.headers["authorization"]?.replace("Bearer ", ""));
    expect(sent).toStrictEqual(["first", "first", "first", "second", "second"]);
  });

  test("many requests that are refused at the same time renew the credentials once", async () => {
    const server = await startServer();
    server.answers(onlyForSecond);
    let renewals = 0;
    const credentials: Credentials = {
      async resolve({ renew }) {
        if (renew) renewals += 1;
        const headers = { authorization: renewals > 0 ? "Bearer second" : "Bearer first" };
        return { server: server.baseUrl, headers, tls: {} };
      },
    };
    const api = connectTo(server, { credentials });
    await Promise.all(Array.from({ length: 4 }, () => api.request({ method: "GET", path: "/x" })));
    expect(renewals).toBe(1);
  });

  test("a CA that was replaced is used within seconds, and running streams continue", async () => {
    const clock = createVirtualClock();
    const server = await startServer({ certificate: firstCertificate });
    const caFile = await temporaryFile("ca.crt", firstCertificate.cert);
    const api = connectTo(server, { clock, credentials: clusterCredentials({ server: server.baseUrl, caFile }) });
    server.answers(json(200, {}));
    expect(codeOf(await get(api))).toBe("ok");
    await server.stop();
    await server.restart(secondCertificate);
    expect(codeOf(await get(api))).toBe("Unavailable");
    await writeFile(caFile, secondCertificate.cert);
    await clock.advance(10_000);
    expect(codeOf(await get(api))).toBe("ok");
    const stream = scriptedStream();
    server.next(stream.answer);
    const opened = await api.openStream({ path: "/watch" });
    await writeFile(caFile, `${secondCertificate.cert}\n${firstCertificate.cert}`);
    await clock.advance(10_000);
    expect(codeOf(await get(api))).toBe("ok");
    stream.raw("still here\n");
    if (!opened.ok) throw new Error("the stream did not open");
    for await (const chunk of opened.value.chunks) {
      expect(Buffer.from(chunk).toString()).toBe("still here\n");
      break;
    }
  });

  test("credentials that can't be read are a fault of every call, and no call waits for them", async () => {
    const clock = createVirtualClock();
    const server = await startServer();
    const tokenFile = "/does/not/exist";
    const api = connectTo(server, { credentials: clusterCredentials({ server: server.baseUrl, tokenFile }) });
    expect(codeOf(await get(api))).toBe("NoCredentials");
    const stuck = connectTo(server, { clock, credentials: { resolve: () => new Promise(() => undefined) } });
    const results = ["/x", "/y"].map((path) => stuck.request({ method: "GET", path }));
    await clock.advance(30_000);
    expect((await Promise.all(results)).map(codeOf)).toStrictEqual(["NoCredentials", "NoCredentials"]);
  });

  test("the token is in no fault", async () => {
    const server = await startServer();
    const token = "very-secret\u0000";
    const api = connectTo(server, { credentials: clusterCredentials({ server: server.baseUrl, token }) });
    const result = await get(api);
    expect(result.ok).toBe(false);
    expect(JSON.stringify(result)).not.toContain("very-secret");
  });
});
