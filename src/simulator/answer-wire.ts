// The ways to send a response, or none. `onAnswer` is called before the first byte is sent, so that the client's next request
// does not count as overlapping.
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Answer } from "./answer.ts";

const hugeChunkBytes = 64 * 1024;

export interface AnswerWire {
  json(answer: Answer): void;
  text(status: number, headers: Readonly<Record<string, string>>, body: string): void;
  /** Announces the whole response, sends half of it and closes the connection. */
  truncated(answer: Answer): void;
  /** Sends JSON of this many bytes, as fast as the client reads it. */
  huge(bytes: number): Promise<void>;
  reset(): void;
  /** The request stays open until the client hangs up. */
  hang(): void;
  /** Resolves when the client has hung up. */
  hungUp(): Promise<void>;
}

/** @param onAnswer is called once, with the status that is about to be sent, or undefined for a reset connection */
export function makeAnswerWire(response: ServerResponse, onAnswer: (status: number | undefined) => void): AnswerWire {
  const sendText: AnswerWire["text"] = (status, headers, body) => {
    onAnswer(status);
    response.writeHead(status, { ...headers, "content-length": String(Buffer.byteLength(body)) });
    response.end(body);
  };
  return {
    json({ status, body, headers }) {
      sendText(status, { ...headers, "content-type": "application/json" }, JSON.stringify(body));
    },
    text: sendText,
    truncated({ status, body, headers }) {
      const bytes = Buffer.from(JSON.stringify(body));
      onAnswer(status);
      response.writeHead(status, {
        ...headers,
        "content-type": "application/json",
        "content-length": String(bytes.length),
      });
      response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.destroy());
    },
    async huge(bytes) {
      await sendHuge(response, bytes, onAnswer);
    },
    reset() {
      onAnswer(undefined);
      response.socket?.resetAndDestroy();
    },
    hang() {
      // Nothing to do: the server has no timeout for its own responses.
    },
    async hungUp() {
      if (!response.closed) await once(response, "close");
    },
  };
}

async function sendHuge(
  response: ServerResponse,
  bytes: number,
  onAnswer: (status: number | undefined) => void,
): Promise<void> {
  const start = '{"success":true,"message":"';
  const chunk = "x".repeat(hugeChunkBytes);
  response.writeHead(200, { "content-type": "application/json" });
  response.write(start);
  for (let sent = start.length; sent < bytes; sent += hugeChunkBytes) {
    if (response.destroyed) return;
    if (!response.write(chunk)) await Promise.race([once(response, "drain"), once(response, "close")]).catch(() => []);
  }
  onAnswer(200);
  response.end('"}');
}
