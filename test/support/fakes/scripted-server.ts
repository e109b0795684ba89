// A real HTTP server on loopback with scripted responses, including raw bytes. It records the requests.
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TestCertificate } from "../builders/test-certificates.ts";

export interface ScriptedRequest {
  readonly method: string;
  /** The path with the query. */
  readonly url: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** The time by the server's clock, if it has one. */
  readonly atMs: number;
}

export type Answer = (request: ScriptedRequest, response: ServerResponse) => unknown;

export interface ScriptedServerOptions {
  readonly host?: string;
  readonly certificate?: TestCertificate;
  readonly nowMs?: () => number;
}

export class ScriptedServer implements AsyncDisposable {
  readonly #options: ScriptedServerOptions;
  readonly #sockets = new Set<Socket>();
  readonly #script: Answer[] = [];
  readonly #waiting: ((answer: Answer) => void)[] = [];
  readonly #awaited: { readonly count: number; resolve(): void }[] = [];
  #answer: Answer | undefined = (_, response) => response.end();
  #server: Server | undefined;
  #open = 0;
  readonly requests: ScriptedRequest[] = [];
  port = 0;
  /** The number of accepted connections. */
  connections = 0;
  /** The maximum number of simultaneous requests. */
  overlap = 0;

  private constructor(options: ScriptedServerOptions) {
    this.#options = options;
  }

  static async start(options: ScriptedServerOptions = {}): Promise<ScriptedServer> {
    const started = new ScriptedServer(options);
    await started.restart();
    return started;
  }

  get baseUrl(): string {
    return `${this.#options.certificate === undefined ? "http" : "https"}://127.0.0.1:${this.port}`;
  }

  url(path = "/list", host = "127.0.0.1"): string {
    return `http://${host}:${this.port}${path}`;
  }

  /** Responds to requests when the script is empty. Without an answer, a request waits for the next one of the script. */
  answers(answer: Answer | undefined): void {
    this.#answer = answer;
  }

  serves(text: string | Buffer, headers: Readonly<Record<string, string>> = {}): void {
    this.answers((_, response) => response.writeHead(200, headers).end(text));
  }

  fails(status: number, headers: Readonly<Record<string, string>> = {}): void {
    this.answers((_, response) => response.writeHead(status, headers).end("no"));
  }

  /** Appends responses to the script: each request gets the next one. */
  next(...answers: readonly Answer[]): void {
    for (const answer of answers) {
      const waiter = this.#waiting.shift();
      if (waiter === undefined) this.#script.push(answer);
      else waiter(answer);
    }
  }

  /** Resolves when this number of requests has arrived in total. */
  async received(count: number): Promise<void> {
    if (this.requests.length < count) await new Promise<void>((resolve) => this.#awaited.push({ count, resolve }));
  }

  /** Listens, on the same port if it has listened before. */
  async restart(certificate = this.#options.certificate): Promise<void> {
    const listener = (incoming: IncomingMessage, response: ServerResponse): void =>
      void this.#handle(incoming, response).catch(() => undefined);
    const server =
      certificate === undefined ? createHttpServer(listener) : createHttpsServer({ ...certificate }, listener);
    server.keepAliveTimeout = 600_000;
    server.on("connection", (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket)).on("error", () => undefined);
    });
    server.listen(this.port, this.#options.host ?? "127.0.0.1");
    await once(server, "listening");
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Refuses new connections and closes the open ones, like a killed server. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#waiting.length = 0;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#open += 1;
    this.overlap = Math.max(this.overlap, this.#open);
    response.once("close", () => (this.#open -= 1));
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { method = "", url = "", headers } = incoming;
    const { pathname: path, searchParams } = new URL(url, "http://server");
    const body = Buffer.concat(chunks).toString("utf8");
    const atMs = this.#options.nowMs?.() ?? 0;
    const request = { method, url, path, query: Object.fromEntries(searchParams), headers, body, atMs };
    this.requests.push(request);
    for (const waiter of this.#awaited) if (this.requests.length >= waiter.count) waiter.resolve();
    const answer = this.#script.shift() ?? this.#answer;
    if (answer === undefined) this.#waiting.push((late) => late(request, response));
    else answer(request, response);
  }
}

export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return text(status, JSON.stringify(body), { "content-type": "application/json", ...headers });
}

export function text(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_, response) => response.writeHead(status, headers).end(body);
}

/** Writes these bytes to the socket and closes it, unless it should stay open. */
export function raw(bytes: string, { stayOpen = false } = {}): Answer {
  return (_, { socket }) => (stayOpen ? socket?.write(bytes) : socket?.end(bytes));
}

/** Accepts the request and never responds. */
export const silent: Answer = () => undefined;

/** Accepts the request and closes the connection. */
export const cutConnection: Answer = (_, { socket }) => socket?.destroy();
