// A web server on loopback with scripted responses. It records the requests.
import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export class FeedServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #host: string;
  #port = 0;
  readonly requests: { readonly url: string; readonly headers: IncomingMessage["headers"]; readonly body: string }[] =
    [];
  #answer: Answer = (_, response) => response.end();

  private constructor(server: Server, host: string) {
    this.#server = server;
    this.#host = host;
  }

  static async start(host = "127.0.0.1"): Promise<FeedServer> {
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        started.requests.push({ url: request.url ?? "", headers: request.headers, body });
        started.#answer(request, response);
      });
    });
    const started = new FeedServer(server, host);
    await started.restart();
    return started;
  }

  get port(): number {
    return this.#port;
  }

  url(path = "/list", host = "127.0.0.1"): string {
    return `http://${host}:${this.port}${path}`;
  }

  answers(answer: Answer): void {
    this.#answer = answer;
  }

  serves(text: string | Buffer, headers: Readonly<Record<string, string>> = {}): void {
    this.#answer = (_, response) => response.writeHead(200, headers).end(text);
  }

  fails(status: number, headers: Readonly<Record<string, string>> = {}): void {
    this.#answer = (_, response) => response.writeHead(status, headers).end("no");
  }

  /** Listens on the previous port again. */
  async restart(): Promise<void> {
    this.#server.listen(this.#port, this.#host);
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close").catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
