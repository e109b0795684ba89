// An HTTP server on 127.0.0.1 that acts as the API server with scripted responses: each request gets the next response. It has no
// Kubernetes semantics; the test defines the responses and their order, and checks the requests.
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TestCertificate } from "../builders/test-certificates.ts";

export interface ScriptedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** The time by the server's clock, if it has one. */
  readonly atMs: number;
}

export type Answer = (response: ServerResponse, request: ScriptedRequest) => void;

export interface ScriptedApiServer {
  readonly url: string;
  readonly requests: readonly ScriptedRequest[];
  /** The number of accepted connections. */
  readonly connectionCount: number;
  /** Appends responses to the script. If the script is empty, a request waits for the next response. */
  next(...answers: readonly Answer[]): void;
  /** Responds to requests when the script is empty. */
  otherwise(answer: Answer): void;
  /** Refuses new connections and closes the open ones, like a killed server. */
  stop(): Promise<void>;
  /** Listens again, on the same port. */
  start(certificate?: TestCertificate): Promise<void>;
  close(): Promise<void>;
}

export interface ScriptedApiServerOptions {
  readonly certificate?: TestCertificate;
  readonly nowMs?: () => number;
}

export async function startScriptedApiServer(options: ScriptedApiServerOptions = {}): Promise<ScriptedApiServer> {
  const { nowMs = () => 0 } = options;
  const requests: ScriptedRequest[] = [];
  const script: Answer[] = [];
  const waiting: ((answer: Answer) => void)[] = [];
  const sockets = new Set<Socket>();
  let fallback: Answer | undefined;
  let connectionCount = 0;
  let server: Server | undefined;
  let port = 0;

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of incoming) body += String(chunk);
    const url = new URL(incoming.url ?? "/", "http://server");
    const request = {
      method: incoming.method ?? "",
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: incoming.headers,
      body,
      atMs: nowMs(),
    };
    requests.push(request);
    const answer = script.shift() ?? fallback;
    if (answer === undefined) waiting.push((late) => late(response, request));
    else answer(response, request);
  }

  async function start(certificate = options.certificate): Promise<void> {
    const listener = (incoming: IncomingMessage, response: ServerResponse): void =>
      void handle(incoming, response).catch(() => undefined);
    const started =
      certificate === undefined ? createHttpServer(listener) : createHttpsServer({ ...certificate }, listener);
    started.keepAliveTimeout = 600_000;
    started.on("connection", (socket: Socket) => {
      connectionCount += 1;
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => undefined);
    });
    await new Promise<void>((resolve, reject) => {
      started.once("error", reject);
      started.listen(port, "127.0.0.1", resolve);
    });
    port = (started.address() as AddressInfo).port;
    server = started;
  }

  async function stop(): Promise<void> {
    const stopped = server;
    server = undefined;
    waiting.length = 0;
    if (stopped === undefined) return;
    const closed = new Promise((resolve) => stopped.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  await start();
  return {
    get url() {
      return `${options.certificate === undefined ? "http" : "https"}://127.0.0.1:${port}`;
    },
    requests,
    get connectionCount() {
      return connectionCount;
    },
    next(...answers) {
      for (const answer of answers) {
        const waiter = waiting.shift();
        if (waiter === undefined) script.push(answer);
        else waiter(answer);
      }
    },
    otherwise: (answer) => void (fallback = answer),
    stop,
    start,
    close: stop,
  };
}

/** Answers with JSON. */
export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
}

/** Responds with plain text, as the API server does for an unknown path. */
export function text(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => {
    response.writeHead(status, { "content-type": "text/plain", ...headers });
    response.end(body);
  };
}

/** Accepts the request and never responds. */
export const noAnswer: Answer = () => undefined;

/** Accepts the request and closes the connection. */
export const cutConnection: Answer = (response) => void response.socket?.destroy();

export function statusBody(code: number, reason: string, causes: readonly string[] = []): unknown {
  return {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code,
    reason,
    message: `${reason} (from the test)`,
    details: { causes: causes.map((cause) => ({ reason: cause, message: cause })) },
  };
}

/** A failure as a Status object. */
export function failure(status: number, reason: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return json(status, statusBody(status, reason), headers);
}

export interface TestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly managedFields?: readonly unknown[];
  };
  readonly spec: { readonly color: string };
}

/** An object of the test's kind. By default, its UID is its name. */
export function testObject(name: string, resourceVersion: number, uid = name, color = "red"): TestObject {
  return {
    apiVersion: "test.dev/v1",
    kind: "Widget",
    metadata: { name, namespace: "default", uid, resourceVersion: String(resourceVersion) },
    spec: { color },
  };
}

export function listBody(objects: readonly TestObject[], resourceVersion: number, continueToken = ""): unknown {
  const metadata = {
    resourceVersion: String(resourceVersion),
    ...(continueToken === "" ? {} : { continue: continueToken }),
  };
  return { kind: "WidgetList", apiVersion: "test.dev/v1", metadata, items: objects };
}

export interface ScriptedStream {
  readonly answer: Answer;
  event(type: "ADDED" | "MODIFIED" | "DELETED", object: TestObject): void;
  bookmark(resourceVersion: number): void;
  /** The bookmark that ends the initial events of a watch-list. */
  endInitialEvents(resourceVersion: number): void;
  error(status: unknown): void;
  raw(data: string | Uint8Array): void;
  end(): void;
  cut(): void;
}

/** A watch whose lines the test sends. Lines that are sent before the request arrives are buffered. */
export function scriptedStream(): ScriptedStream {
  const pending: ((response: ServerResponse) => void)[] = [];
  let open: ServerResponse | undefined;

  function act(action: (response: ServerResponse) => void): void {
    if (open === undefined) pending.push(action);
    else action(open);
  }
  function line(value: unknown): void {
    act((response) => void response.write(`${JSON.stringify(value)}\n`));
  }
  function bookmarkLine(resourceVersion: number, annotations?: Readonly<Record<string, string>>): void {
    line({
      type: "BOOKMARK",
      object: { kind: "Widget", metadata: { resourceVersion: String(resourceVersion), annotations } },
    });
  }

  return {
    answer(response) {
      response.writeHead(200, { "content-type": "application/json" });
      response.flushHeaders();
      open = response;
      for (const action of pending.splice(0)) action(response);
    },
    event: (type, object) => line({ type, object }),
    bookmark: (resourceVersion) => bookmarkLine(resourceVersion),
    endInitialEvents: (resourceVersion) => bookmarkLine(resourceVersion, { "k8s.io/initial-events-end": "true" }),
    error: (object) => line({ type: "ERROR", object }),
    raw: (data) => act((response) => void response.write(data)),
    end: () => act((response) => void response.end()),
    cut: () => act((response) => void response.socket?.destroy()),
  };
}

/** A watch-list stream that has already sent these objects and its closing bookmark. */
export function watchListOf(objects: readonly TestObject[], resourceVersion: number): ScriptedStream {
  const stream = scriptedStream();
  for (const object of objects) stream.event("ADDED", object);
  stream.endInitialEvents(resourceVersion);
  return stream;
}
