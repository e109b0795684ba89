// Reads whole request bodies, up to a limit.
import type { IncomingMessage } from "node:http";

/**
 * Keeps the connection open, so that a body that is too long can still be answered. @returns undefined if the body is longer than
 * the limit, or if the client disconnected while it was sending the body
 */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = chunk as Buffer;
      length += bytes.length;
      if (length > bytesMax) return undefined;
      chunks.push(bytes);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks).toString("utf8");
}
