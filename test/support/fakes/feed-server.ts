// A web server on loopback whose answers a test writes, and what was asked of it.
import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export class FeedServer {
  readonly #server: Server;
  readonly requests: { readonly url: string; readonly headers: IncomingMessage["headers"]; readonly body: string }[] =
    [];
  #answer: Answer = (_, response) => response.end();

  private constructor(server: Server) {
    this.#server = server;
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
    const started = new FeedServer(server);
    server.listen(0, host);
    await once(server, "listening");
    return started;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
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

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close").catch(() => undefined);
  }
}
