// Decodes the body of a feed: decompresses it, counts its bytes and computes a checksum. gzip is also detected by its first bytes,
// because many lists are gzip files that the server does not declare as such.
import { createHash } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { withinBytes } from "../../net/http-connection.ts";

export const bodyTruncated = "BODY_TRUNCATED";

const gzipMark = Buffer.from([0x1f, 0x8b]);
const byteOrderMark = 0xef;
const lessThan = 0x3c;
const blanks = new Set([0x09, 0x0a, 0x0c, 0x0d, 0x20, byteOrderMark, 0xbb, 0xbf]);

export class DecodedBody {
  readonly #body: AsyncIterable<Buffer>;
  readonly #bytesMax: number;
  readonly #hash = createHash("sha256");
  bytes = 0;
  looksLikeMarkup = false;
  #isBlank = true;

  constructor(body: AsyncIterable<Buffer>, bytesMax: number) {
    this.#body = body;
    this.#bytesMax = bytesMax;
  }

  /** Can be read once. Throws the code `BODY_TRUNCATED`, or an `HttpFault`. */
  async *chunks(): AsyncGenerator<Buffer> {
    for await (const chunk of withinBytes(this.#unpacked(), this.#bytesMax)) {
      this.bytes += chunk.length;
      this.#hash.update(chunk);
      this.#lookAt(chunk);
      yield chunk;
    }
  }

  /** Reads the rest, so that the checksum covers the complete content. */
  async finish(rest: AsyncIterator<Buffer>): Promise<string> {
    while ((await rest.next()).done !== true);
    return this.#hash.digest("hex");
  }

  async *#unpacked(): AsyncGenerator<Buffer> {
    const source = withinBytes(this.#body, this.#bytesMax);
    const first = await firstBytes(source);
    const whole = joined(first, source);
    yield* first.subarray(0, 2).equals(gzipMark) ? unzipped(whole) : whole;
  }

  #lookAt(chunk: Buffer): void {
    if (!this.#isBlank) return;
    const mark = chunk.find((byte) => !blanks.has(byte));
    this.#isBlank = mark === undefined;
    this.looksLikeMarkup = mark === lessThan;
  }
}

/** At least two bytes, unless the body is shorter. */
async function firstBytes(source: AsyncGenerator<Buffer>): Promise<Buffer> {
  let first = Buffer.alloc(0);
  while (first.length < 2) {
    const next = await source.next();
    if (next.done === true) break;
    first = Buffer.concat([first, next.value]);
  }
  return first;
}

async function* unzipped(packed: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  // An error of the source becomes one of gunzip, which the reader sees.
  const feeding = pipeline(packed, gunzip).catch(() => undefined);
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    throw isZlibError(error) ? Object.assign(new Error("The body is truncated."), { code: bodyTruncated }) : error;
  } finally {
    gunzip.destroy();
    await feeding;
  }
}

async function* joined(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first;
  yield* rest;
}

function isZlibError(error: unknown): boolean {
  const code: unknown = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" && code.startsWith("Z_");
}
