import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import type { FetchOutcome } from "../../src/feeds/feed-state.ts";
import { outcomeOf, bytesMax, fetchFeed, type FetchRequest } from "../../src/feeds/feed-fetcher.ts";
import { type FetchOptions, timeoutMs } from "../../src/feeds/feed-request.ts";
import { isPublicAddress, type ResolveHost } from "../../src/net/checked-lookup.ts";
import { ScriptedServer } from "../support/fakes/scripted-server.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

let server: ScriptedServer;

beforeEach(async () => {
  server = await ScriptedServer.start();
});

afterEach(async () => {
  await server.stop();
});

const open: FetchOptions = {
  clock: realClock,
  isAllowed: () => true,
  isPublicOnly: true,
  allowInsecureHttp: true,
  userAgent: "wafsync/0.0.0",
  redact: (text) => text,
  inTurn: async (read) => await read(),
};

async function get(change: Partial<FetchRequest> = {}, options: Partial<FetchOptions> = {}): Promise<FetchOutcome> {
  const plain: FetchRequest = {
    url: change.url ?? server.url(),
    headers: {},
    format: { type: "Plain" },
    validators: { etag: undefined, lastModified: undefined },
    entriesMax: 1000,
  };
  const used = { ...open, ...options };
  return await outcomeOf(async () => await fetchFeed({ ...plain, ...change }, used), used.redact);
}

function entriesOf(outcome: FetchOutcome): readonly string[] | string {
  if (outcome.kind === "Read") return outcome.reading.content.entries;
  return outcome.kind === "Failed" ? outcome.fault.message : outcome.kind;
}

const list = "192.0.2.1\n192.0.2.2\n";

describe("A fetch", () => {
  test("reads the text and records the server's metadata", async () => {
    server.serves(list, {
      etag: '"v1"',
      "last-modified": "Sat, 21 Nov 2026 12:00:00 GMT",
      "content-type": "Text/Plain; charset=utf-8",
    });
    expect(await get()).toStrictEqual({
      kind: "Read",
      reading: expect.objectContaining({ counts: { total: 2, valid: 2, invalid: 0, duplicates: 0 } }),
      facts: {
        etag: '"v1"',
        lastModified: "Sat, 21 Nov 2026 12:00:00 GMT",
        sha256: createHash("sha256").update(list).digest("hex"),
      },
    });
    expect(server.requests[0]?.headers).toMatchObject({ "accept-encoding": "gzip", "user-agent": "wafsync/0.0.0" });
  });

  test("sends the validators of the known text and accepts 304", async () => {
    server.fails(304);
    const validators = { etag: 'W/"v1"', lastModified: "Sat, 21 Nov 2026 12:00:00 GMT" };
    expect(await get({ validators })).toStrictEqual({ kind: "NotModified" });
    expect(server.requests[0]?.headers).toMatchObject({
      "if-none-match": 'W/"v1"',
      "if-modified-since": "Sat, 21 Nov 2026 12:00:00 GMT",
    });
    expect(entriesOf(await get())).toMatch(/status 304 to an unconditional request/);
  });

  test.each([
    ["declared by the server", { "content-encoding": "gzip" }],
    ["that the server does not declare", {}],
  ])("unpacks gzip %s", async (_, headers) => {
    server.serves(gzipSync(list), headers);
    expect(entriesOf(await get())).toStrictEqual(["192.0.2.1", "192.0.2.2"]);
  });

  test("fails for a web page instead of the list, whatever its type and the format", async () => {
    server.serves("\n <!doctype html><title>Just a moment…</title>", { "content-type": "text/plain" });
    expect(entriesOf(await get())).toMatch(/^The server returned a page/);
    expect(entriesOf(await get({ format: { type: "Json", path: "$[*]" } }))).toMatch(/^The server returned a page/);
  });

  test("fails for an empty response, but not for a list without entries", async () => {
    server.serves("");
    expect(entriesOf(await get())).toBe("The server returned an empty response.");
    server.serves("# none\n");
    expect(entriesOf(await get())).toStrictEqual([]);
  });
});

test("The time limit of a fetch does not include the wait for its turn to read", async () => {
  server.serves(list);
  const clock = createVirtualClock();
  const inTurn: FetchOptions["inTurn"] = async (read) => {
    await clock.advance(2 * timeoutMs);
    return await read();
  };
  expect(entriesOf(await get({}, { clock, inTurn }))).toStrictEqual(["192.0.2.1", "192.0.2.2"]);
});

describe("A fetch fails without treating the response as a list", () => {
  test.each([404, 403, 500, 204, 206])("if the status is %s", async (status) => {
    server.fails(status);
    expect(entriesOf(await get())).toBe(`${server.url()} responded with status ${status}.`);
  });

  test("if the server requests more than an hour, which counts up to a day", async () => {
    for (const [header, hours] of [
      ["28800", 8],
      ["8640000", 24],
    ] as const) {
      server.fails(503, { "retry-after": header });
      expect(await get()).toMatchObject({ fault: { retryAfterMs: hours * 3_600_000 } });
    }
  });

  test("if the server requests a delay", async () => {
    server.fails(429, { "retry-after": "120" });
    expect(await get()).toStrictEqual({
      kind: "Failed",
      fault: { message: `${server.url()} responded with status 429.`, retryAfterMs: 120_000 },
    });
  });

  test.each([
    ["the connection ends before the declared length", { "content-length": "1000" }],
    ["the last chunk is missing", {}],
  ])("if %s", async (_, headers) => {
    server.answers((_request, response) => {
      response.writeHead(200, headers);
      response.write(list, () => response.destroy());
    });
    expect(entriesOf(await get())).toMatch(/is incomplete/);
  });

  test("if the connection is reset while a body without a length is sent", async () => {
    server.answers((_, { socket }) => {
      socket?.write(`HTTP/1.1 200 OK\r\n\r\n${list}192.0.2.12`, () => setImmediate(() => socket.resetAndDestroy()));
    });
    expect(entriesOf(await get())).toMatch(/is incomplete/);
    server.answers((_, { socket }) => void socket?.end(`HTTP/1.1 200 OK\r\n\r\n${list}`));
    expect(entriesOf(await get())).toStrictEqual(["192.0.2.1", "192.0.2.2"]);
  });

  test.each([{ "content-encoding": "gzip" }, {}])("if gzip data is truncated: %j", async (headers) => {
    const packed = gzipSync("192.0.2.1\n".repeat(1000));
    server.serves(packed.subarray(0, packed.length - 12), headers);
    expect(entriesOf(await get())).toMatch(/is incomplete/);
  });

  test("if the text is too large, compressed or not", async () => {
    server.serves(Buffer.alloc(bytesMax + 1, "#"));
    expect(entriesOf(await get())).toMatch(/larger than 16 MiB/);
    server.serves(gzipSync(Buffer.alloc(bytesMax + 1, "\n")));
    expect(entriesOf(await get())).toMatch(/larger than 16 MiB/);
  });

  test("if there is no complete response within 30 s", async () => {
    const clock = createVirtualClock();
    const asked = Promise.withResolvers<void>();
    server.answers((_, response) => {
      response.writeHead(200);
      response.write(list, () => asked.resolve());
    });
    const fetching = get({}, { clock });
    await asked.promise;
    await clock.advance(timeoutMs);
    expect(entriesOf(await fetching)).toMatch(/within 30 s/);
  });

  test("if no server responds", async () => {
    const url = server.url();
    await server.stop();
    expect(entriesOf(await get({ url }))).toMatch(/^Cannot connect to .* \(ECONNREFUSED\)/);
    expect(entriesOf(await get({ url }, { isPublicOnly: false }))).toBe(
      `Cannot connect to ${new URL(url).origin}: check the URL, the certificate and the network.`,
    );
  });
});

describe("Redirects", () => {
  test("send headers only to the first host, and not after a redirect back to it", async () => {
    const other = await ScriptedServer.start();
    server.answers(({ url }, response) => {
      if (url === "/list") response.writeHead(307, { location: "/next" }).end();
      else if (url === "/next") response.writeHead(307, { location: other.url("/away") }).end();
      else response.end(list);
    });
    other.answers((_, response) => response.writeHead(308, { location: server.url("/back") }).end());
    expect(entriesOf(await get({ headers: { authorization: "Bearer s3cret" } }))).toStrictEqual([
      "192.0.2.1",
      "192.0.2.2",
    ]);
    expect(server.requests.map(({ url, headers }) => [url, headers.authorization])).toStrictEqual([
      ["/list", "Bearer s3cret"],
      ["/next", "Bearer s3cret"],
      ["/back", undefined],
    ]);
    expect(other.requests[0]?.headers.authorization).toBeUndefined();
    await other.stop();
  });

  test.each([
    ["http://user:password@example.com/", "a user name or a password"],
    ["ftp://example.com/", "not an https URL"],
    ["file:///etc/passwd", "not an https URL"],
  ])("to %s are refused", async (location, problem) => {
    server.fails(302, { location });
    const outcome = entriesOf(await get());
    expect(outcome).toMatch(/redirects to a URL that /);
    expect(outcome).toContain(problem);
    expect(outcome).not.toContain("password@");
  });

  test("to http are refused if https is required", async () => {
    expect(entriesOf(await get({}, { allowInsecureHttp: false }))).toMatch(/^spec.http.url is not https/);
  });
});

function answering(...answers: readonly string[]): ResolveHost & { asked: number } {
  const counted = Object.assign(
    ((_, __, callback) => {
      const address = answers[Math.min(counted.asked, answers.length - 1)] ?? "";
      counted.asked += 1;
      callback(null, [{ address, family: address.includes(":") ? 6 : 4 }]);
    }) as ResolveHost,
    { asked: 0 },
  );
  return counted;
}

describe("Internal addresses", () => {
  const guarded = { isAllowed: isPublicAddress };

  test.each(["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::ffff:7f00:1]", "[fd00::1]"])(
    "are not connected to, written as %s",
    async (host) => {
      server.serves(list);
      const url = `http://${host}:${server.port}/list`;
      expect(entriesOf(await get({ url }, guarded))).toMatch(/^Cannot connect to .* not on the public Internet/);
      expect(server.requests).toStrictEqual([]);
    },
  );

  test("are not connected to if DNS changes after the check", async () => {
    server.serves(list);
    const resolve = answering("192.0.9.9", "127.0.0.1");
    const seen: string[] = [];
    // The first response is allowed and leads to the server; another query would get the second one.
    const isAllowed = (address: string): boolean => {
      seen.push(address);
      return address === "127.0.0.1" ? false : isPublicAddress(address);
    };
    const stop = new AbortController();
    const fetching = get({ url: server.url("/list", "feed.example") }, { isAllowed, resolve, signal: stop.signal });
    setImmediate(() => stop.abort());
    await fetching;
    expect(seen).toStrictEqual(["192.0.9.9"]);
    expect(resolve.asked).toBe(1);
    expect(server.requests).toStrictEqual([]);
  });

  test("can't be reached by a redirect", async () => {
    const inner = await ScriptedServer.start();
    server.fails(302, { location: `http://169.254.169.254:${inner.port}/latest/meta-data` });
    const isAllowed = (address: string): boolean => address === "127.0.0.1" || isPublicAddress(address);
    expect(entriesOf(await get({}, { isAllowed }))).toMatch(/^Cannot connect to .*169\.254\.169\.254/);
    expect(inner.requests).toStrictEqual([]);
    await inner.stop();
  });
});
