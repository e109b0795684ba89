// Reads whole request bodies, up to a limit.
import type { IncomingMessage } from "node:http";

export type RequestBody = { readonly ok: true; readonly text: string } | { readonly ok: false };

/**
 * Keeps the connection open, so that a body that is too long can still be answered. @returns not ok if the body is longer than
 * the limit, or if the client disconnected while it was sending the body
 */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<RequestBody> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = chunk as Buffer;
      length += bytes.length;
      if (length > bytesMax) return { ok: false };
      chunks.push(bytes);
    }
  } catch {
    return { ok: false };
  }
  return { ok: true, text: Buffer.concat(chunks).toString("utf8") };
}
