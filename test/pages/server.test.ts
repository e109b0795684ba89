// The page server over real sockets: which requests it rejects, and which headers it sends.
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { PageRequest } from "../../src/pages/server.ts";
import { isLoopback, isOwnHost, parseBindAddress, startPageServer, urlOf } from "../../src/pages/server.ts";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

let server: Awaited<ReturnType<typeof startPageServer>>;
const problems: unknown[] = [];
const seen: PageRequest[] = [];

beforeAll(async () => {
  const handle = async (asked: PageRequest) => {
    seen.push(asked);
    if (asked.path === "/broken") throw new TypeError("it is broken");
    return { status: 200, type: "text/html; charset=utf-8", body: "<p>ü</p>" };
  };
  server = await startPageServer({ host: "127.0.0.1", port: 0 }, handle, (error) => problems.push(error));
});

afterAll(async () => await server.close());

async function ask(
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET",
  url = server.url,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const sent = request(new URL(url), { path, method, headers, agent: false }, (response) => {
    let body = "";
    response.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
  });
  sent.on("error", reject).end();
  return await promise;
}

describe("The page server", () => {
  test("asks nothing for rejected requests", async () => {
    expect([(await ask("/", {}, "POST")).status, (await ask("/", { host: "evil.example" })).status]).toStrictEqual([
      405, 421,
    ]);
    expect(seen).toStrictEqual([]);
    await ask("/why?address=1");
    expect(seen.at(-1)?.query.get("address")).toBe("1");
  });

  test.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])("rejects %s", async (method) => {
    const { status, headers } = await ask("/", {}, method);
    expect([status, headers["allow"]]).toStrictEqual([405, "GET, HEAD"]);
  });

  test("answers HEAD without a body", async () => {
    const { status, headers, body } = await ask("/", {}, "HEAD");
    expect([status, headers["content-length"], body]).toStrictEqual([200, "9", ""]);
  });

  test("lets browsers load only its own files, show it in no frame, and store nothing", async () => {
    const { headers } = await ask("/");
    const policy = String(headers["content-security-policy"]);
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|data:|\*|http/);
    expect(headers).toMatchObject({
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
    });
    expect(headers["access-control-allow-origin"]).toBeUndefined();
  });

  test.each([
    ["/why?address=192.0.2.1", "cross-site", "no-cors", 403],
    ["/why?address=192.0.2.1", "same-site", "navigate", 403],
    ["/", "cross-site", "cors", 403],
    ["/", "cross-site", "navigate", 200],
    ["/why?address=192.0.2.1", "same-origin", "navigate", 200],
    ["/why?address=192.0.2.1", "none", "navigate", 200],
  ])("answers %s from a %s page in mode %s with %i", async (path, site, mode, status) => {
    expect((await ask(path, { "sec-fetch-site": site, "sec-fetch-mode": mode })).status).toBe(status);
  });

  test("answers long and unusual paths, and never passes an invalid path on", async () => {
    expect((await ask(`/${"a".repeat(2_100)}`)).status).toBe(414);
    expect((await ask("//evil.example/x")).status).toBe(200);
    expect(seen.at(-1)?.path).not.toContain("evil.example/x/");
  });

  test("logs an unexpected error, and hides its details from the browser", async () => {
    const { status, body } = await ask("/broken");
    expect([status, body]).toStrictEqual([500, expect.stringContaining("This is a bug in wafsync")]);
    expect(body).not.toContain("it is broken");
    expect(problems).toHaveLength(1);
  });
});

describe("An address to serve a page at", () => {
  test.each([
    ["127.0.0.1:8082", "http://127.0.0.1:8082/"],
    ["localhost:0", "http://127.0.0.1:0/"],
    ["[::1]:65535", "http://[::1]:65535/"],
  ])("%s is accepted", (text, url) => {
    expect(urlOf(parseBindAddress(text))).toBe(url);
  });

  test.each([
    "0",
    "8082",
    ":8082",
    "::1:8082",
    "127.0.0.1",
    "127.0.0.1:65536",
    "example.com:80",
    "[127.0.0.1]:1",
    "",
    "1.2.3:4",
  ])("%j is rejected", (text) => {
    expect(() => parseBindAddress(text)).toThrow("is not an address with a port");
  });
});

test.each([
  ["127.0.0.1:80", true],
  ["[::1]:80", true],
  ["0.0.0.0:80", false],
  ["[::]:80", false],
  ["192.0.2.1:80", false],
])("whether only this machine can reach %s: %s", (text, expected) => {
  expect(isLoopback(parseBindAddress(text))).toBe(expected);
});

describe("The host of a request", () => {
  test.each(["127.0.0.1:8082", "localhost", "LOCALHOST:1", "wafsync.localhost:80", "[::1]:8082", "192.0.2.1"])(
    "may be %s",
    (host) => {
      expect(isOwnHost(host)).toBe(true);
    },
  );

  test.each([
    undefined,
    "",
    "evil.example:8082",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "notlocalhost",
    "2130706433",
    "0x7f.1",
    "127.0.0.1:80:80",
    "::1",
    "[evil.example]",
    "localhost@evil.example",
  ])("must not be %j, which another website could use", (host) => {
    expect(isOwnHost(host)).toBe(false);
  });
});
