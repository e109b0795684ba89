import { type AddressInfo, createServer } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { ApiKey } from "../../src/model/api-key.ts";
import { Redactor, excerptLengthMax } from "../../src/model/redactor.ts";
import type { WafResult } from "../../src/model/waf-result.ts";
import { measuredCalls } from "../../src/telemetry/metrics-waf.ts";
import { type CallRecord, type WafClient, writeBodyBytesMax, writeTimeoutMsMax } from "../../src/waf/client.ts";
import { type ExchangeContext, faultOf } from "../../src/waf/exchange-fault.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";
import { anEntry } from "../support/builders/log-entry.ts";
import { clientFor, startScriptedWaf, testKey } from "../support/fakes/scripted-waf.ts";
import { type Answer, json, raw, silent, text } from "../support/fakes/scripted-server.ts";
import { atTestEnd } from "../support/builders/at-test-end.ts";

const domain = "shop.example";
const accepted = json(200, { success: true, domain, message: "done" });

async function start(script: Answer, options: Parameters<typeof clientFor>[1] = {}) {
  const server = await startScriptedWaf(script);
  atTestEnd(async () => await server.stop());
  const client = clientFor(server.baseUrl, options);
  atTestEnd(async () => await client.lanes.close());
  return { server, ...client };
}

/** The code and status of a fault, after checking that it contains no part of the key. */
function faultIn(result: WafResult<unknown>) {
  const printed = JSON.stringify(result);
  for (const part of [testKey, encodeURIComponent(testKey), "7f3a9c0d"]) expect(printed).not.toContain(part);
  if (result.ok) return { code: "none" };
  expect(result.fault.message).not.toMatch(/\p{Cc}/u);
  return result.fault;
}

const read = async (waf: WafClient) => await waf.readList("blocklist");
const write = async (waf: WafClient) => await waf.addEntry("blocklist", "192.0.2.1");

describe("the requests", () => {
  test("are those of the documented contract", async () => {
    const calls: string[] = [];
    const onCall = ({ method, endpoint }: CallRecord) => calls.push(`${method} ${endpoint}`);
    const { server, waf } = await start(accepted, { onCall });
    await waf.readOrigins();
    await waf.addOrigin("a.example", "Alternate");
    await waf.addOrigin("b.example", "Backup");
    await waf.removeOrigin("a.example");
    await waf.readList("blocklist");
    await waf.addEntry("blocklist", "2001:db8::/32");
    await waf.removeEntry("blocklist", "192.0.2.1/32");
    await waf.readList("allowlist");
    await waf.addEntry("allowlist", "192.0.2.1");
    await waf.removeEntry("allowlist", "192.0.2.1");
    await waf.clearCache();
    await waf.queryLogs({ startDate: "2026-01-01", endDate: "2026-01-02", perPage: 10 });
    await waf.scrollLogs("a+b/c=");
    const keyField = new URLSearchParams({ api_key: testKey }).toString();
    const keySegment = encodeURIComponent(testKey);
    expect(server.requests.map(({ method, url, body }) => `${method} ${url} ${body}`.trim())).toStrictEqual([
      `GET /api/origins?${keyField}`,
      `POST /api/origins ${keyField}&origin=a.example&origin_type=alternate`,
      `POST /api/origins ${keyField}&origin=b.example&origin_type=backup`,
      `DELETE /api/origins ${keyField}&origin=a.example`,
      `GET /api/blocklist_ips?${keyField}`,
      `POST /api/blocklist_ip ${keyField}&ip=2001%3Adb8%3A%3A%2F32`,
      `DELETE /api/blocklist_ip ${keyField}&ip=192.0.2.1%2F32`,
      `GET /api/allowlist_ips?${keyField}`,
      `POST /api/allowlist_ip ${keyField}&ip=192.0.2.1`,
      `DELETE /api/allowlist_ip ${keyField}&ip=192.0.2.1`,
      `POST /clear/${keySegment}`,
      `GET /api/logs/query?${keyField}&start_date=2026-01-01&end_date=2026-01-02&per_page=10`,
      `GET /api/logs/scroll?${keyField}&scroll_id=a%2Bb%2Fc%3D`,
    ]);
    // Each of them is measured.
    expect(new Set(calls)).toStrictEqual(new Set(measuredCalls.map(({ method, endpoint }) => `${method} ${endpoint}`)));
    const form = server.requests.filter((request) => request.body !== "");
    for (const { headers } of form) expect(headers["content-type"]).toBe("application/x-www-form-urlencoded");
    for (const { url } of server.requests)
      expect(new URL(url, "http://h").searchParams.get("api_key") ?? testKey).toBe(testKey);
    expect(server.connections).toBe(1);
  });

  test("are below the path of the base URL", async () => {
    const { server, lane } = await start(accepted);
    const { waf } = clientFor(`${server.baseUrl}/waf/v1/`, { lane });
    await waf.clearCache();
    await waf.readOrigins();
    expect(server.requests.map(({ url }) => url.replace(/[?].*|%.*/, ""))).toStrictEqual([
      "/waf/v1/clear/K3y",
      "/waf/v1/api/origins",
    ]);
  });
});

describe("a response beyond the limits of the process", () => {
  const limits = { listEntriesMax: 3, bodyBytesMax: 2 * 1_048_576 };

  test("is a list with too many entries", async () => {
    const { server, waf } = await start(json(200, ["192.0.2.1", "192.0.2.2", "192.0.2.3"]), { limits });
    expect(await read(waf)).toMatchObject({ ok: true });
    server.answers(json(200, ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]));
    expect(faultIn(await read(waf))).toMatchObject({
      code: "TooLarge",
      message: "The blocklist has more entries than the limit of 3 (--max-list-entries).",
    });
  });

  test("is a body with too many bytes, whose download is aborted", async () => {
    const { waf } = await start(text(200, `["${"x".repeat(3 * 1_048_576)}"]`), { limits });
    expect(faultIn(await read(waf))).toMatchObject({
      code: "TooLarge",
      message: "The response is larger than the limit of 2 MiB (--max-response-mib).",
    });
  });
});

describe("a former key that the API returns", () => {
  test("is rejected in data, and redacted in log rows", async () => {
    const former = "the-former-key-0123456789-abcdefghij";
    const formerKeys = [new ApiKey("another-former-key-0"), new ApiKey(former)];
    const host = `${former}.example`;
    const elsewhere = json(200, { success: true, domain: host, origin: "a.example" });
    const { server, waf } = await start(elsewhere, { formerKeys });
    expect(faultIn(await waf.readOrigins())).toMatchObject({ code: "ContractBroken" });
    server.answers(json(200, { success: true, domain, origin: host }));
    expect(faultIn(await waf.readOrigins())).toMatchObject({ code: "ContractBroken" });
    server.answers(json(200, ["192.0.2.1", former]));
    expect(faultIn(await read(waf))).toMatchObject({ code: "ContractBroken" });
    const row = anEntry({ request_path: `/?api_key=${encodeURIComponent(former)}` });
    server.answers(
      json(200, { _scroll_id: null, hits: { total: { value: 1 }, hits: [{ ...row, [former]: former }] } }),
    );
    const page = await waf.scrollLogs("x");
    const rows = page.ok && page.value.rows();
    expect(JSON.stringify(rows)).not.toContain("the-former");
    expect(rows).toMatchObject({ entries: [{ request_path: "/?api_key=[api key]" }] });
  });

  test("of digits is redacted in a log row that has it as a number", async () => {
    const { server, waf } = await start(accepted, { formerKeys: [new ApiKey("1234567890123")] });
    const row = { ...anEntry({ request_path: "/" }), id: 1_234_567_890_123 };
    server.answers(json(200, { _scroll_id: null, hits: { total: { value: 1 }, hits: [row] } }));
    const page = await waf.scrollLogs("x");
    expect(page.ok && page.value.rows()).toMatchObject({ entries: [{ id: "[api key]" }] });
  });

  test("is in no message, and no part of it remains where a message is truncated", async () => {
    const former = "the-former-key-0123456789-abcdefghij";
    const redactor = new Redactor();
    redactor.add(new ApiKey(former));
    const redact = (text: string) => redactor.redact(text);
    const long = `${"x".repeat(excerptLengthMax - 10)}${former}`;
    for (const said of [`Not ${former}`, encodeURIComponent(`Not ${former}`), long]) {
      const { server, waf } = await start(json(400, { success: false, domain, message: said }), { redact });
      expect(JSON.stringify(await write(waf))).not.toContain("the-former");
      server.answers(json(200, { success: true, domain, message: said }));
      expect(JSON.stringify(await write(waf))).not.toContain("the-former");
      server.answers(json(500, { success: false, message: said }));
      expect(JSON.stringify(await read(waf))).not.toContain("the-former");
    }
  });
});

describe("documented responses", () => {
  test("for origins contain the primary, which is the first host if there is a list", async () => {
    const { server, waf } = await start(json(200, { success: true, domain, origin: "a.example", more: { of: "it" } }));
    const value = { domain, primary: "a.example" };
    expect(await waf.readOrigins()).toStrictEqual({ ok: true, value });
    server.answers(json(200, { success: true, domain, origin: ["a.example", "b.example"] }));
    expect(await waf.readOrigins()).toMatchObject({ value });
  });

  test("for lists contain the API's spelling", async () => {
    const { server, waf } = await start(json(200, ["192.0.2.1/32", "2001:DB8::/32"]));
    expect(await read(waf)).toStrictEqual({ ok: true, value: ["192.0.2.1/32", "2001:DB8::/32"] });
    server.answers(json(200, []));
    expect(await read(waf)).toStrictEqual({ ok: true, value: [] });
  });

  test("for writes contain the domain and the API's message, which is missing for origins", async () => {
    const { server, waf } = await start(accepted);
    expect(await write(waf)).toStrictEqual({ ok: true, value: { domain, message: "done" } });
    server.answers(json(200, { success: true, domain }));
    expect(await waf.removeOrigin("a.example")).toStrictEqual({ ok: true, value: { domain, message: "" } });
  });
});

const html = "<!doctype html><html><body>Bad gateway</body></html>";
const failure = (message: string) => ({ success: false, domain, message });

describe("the meaning of a response for a read and for a write", () => {
  const missing = json(403, { success: false, message: "Missing parameter api_key" });
  const notUtf8: Answer = (_, response) => response.end(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]));
  const cutBody = raw('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n["192.');
  const cutChunks = raw('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n["19\r\n');
  const cases: readonly (readonly [string, Answer, string, string])[] = [
    ["403 for a wrong key", json(403, { success: false, message: "Bad API Key Value" }), "BadApiKey", "BadApiKey"],
    ["403 for a missing key", missing, "ContractBroken", "OutcomeUnknown"],
    ["403 from something else", text(403, html), "ContractBroken", "OutcomeUnknown"],
    ["400 with the API's message", json(400, failure("IP already on the list")), "Rejected", "Rejected"],
    ["400 from something else", text(400, html), "ContractBroken", "OutcomeUnknown"],
    ["404 of the API", json(404, failure("No WAF configured for this account")), "NotFound", "NotFound"],
    ["404 from something else", text(404, html), "ContractBroken", "OutcomeUnknown"],
    ["429", text(429, "slow down"), "RateLimited", "RateLimited"],
    ["401", json(401, failure("who are you")), "ContractBroken", "OutcomeUnknown"],
    ["500", json(500, failure("internal")), "Unavailable", "OutcomeUnknown"],
    ["502 with HTML", text(502, html), "Unavailable", "OutcomeUnknown"],
    ["200 with success false", json(200, failure("no")), "ContractBroken", "OutcomeUnknown"],
    ["200 with HTML", text(200, html), "ContractBroken", "OutcomeUnknown"],
    ["200 with nothing", text(200, ""), "ContractBroken", "OutcomeUnknown"],
    ["200 with null", json(200, null), "ContractBroken", "OutcomeUnknown"],
    ["200 with an object that is something else", json(200, { items: [] }), "ContractBroken", "OutcomeUnknown"],
    ["200 with items that are no strings", json(200, ["192.0.2.1", 7]), "ContractBroken", "OutcomeUnknown"],
    ["200 with no UTF-8", notUtf8, "ContractBroken", "OutcomeUnknown"],
    ["200 cut off by the connection", cutBody, "Unavailable", "OutcomeUnknown"],
    ["200 cut off at its own end", text(200, `["192.0.2.1"`), "ContractBroken", "OutcomeUnknown"],
    ["chunks cut off", cutChunks, "Unavailable", "OutcomeUnknown"],
    ["a reset before any answer", (_, { socket }) => socket?.resetAndDestroy(), "Unavailable", "OutcomeUnknown"],
    ["an end before any answer", (_, { socket }) => socket?.end(), "Unavailable", "OutcomeUnknown"],
    ["something that is not HTTP", raw("SSH-2.0-OpenSSH\r\n\r\n"), "ContractBroken", "OutcomeUnknown"],
    ["301", text(301, "", { location: "/elsewhere" }), "ContractBroken", "OutcomeUnknown"],
  ];

  test.each(cases)("%s", async (_, script, codeOfRead, codeOfWrite) => {
    const { server, waf } = await start(script);
    expect([faultIn(await read(waf)).code, faultIn(await write(waf)).code]).toStrictEqual([codeOfRead, codeOfWrite]);
    // Redirects are not followed, and there are no retries.
    expect(server.requests).toHaveLength(2);
    expect(server.overlap).toBe(1);
    // The lane continues normally.
    server.answers(accepted);
    expect(await write(waf)).toMatchObject({ ok: true });
  });

  test.each([401, 500, 503])(
    "a message of a failure %i that ends with a full stop gets no second one",
    async (status) => {
      const { waf } = await start(json(status, failure("The API key is invalid.")));
      const quoted = `The WAF answered ${status}: The API key is invalid`;
      expect(faultIn(await read(waf))).toMatchObject({ message: `${quoted}.` });
      const message = `${quoted}: it is unknown whether the write took effect.`;
      expect(faultIn(await write(waf))).toMatchObject({ message });
    },
  );

  test("the message of a rejection is returned in one line", async () => {
    const { server, waf } = await start(json(400, failure("Invalid\nIP \u001B[31maddress")));
    const rejected = { code: "Rejected", status: 400, message: "Invalid IP [31maddress" };
    expect(faultIn(await write(waf))).toStrictEqual(rejected);
    server.answers(json(400, failure("sorry ".repeat(1_000))));
    expect(faultIn(await write(waf))).toMatchObject({ message: `${"sorry ".repeat(excerptLengthMax / 6)}…` });
  });

  test("failures of logs may be plain sentences", async () => {
    const { server, waf } = await start(text(400, "Invalid scroll_id"));
    const rejected = { code: "Rejected", status: 400, message: "Invalid scroll_id" };
    expect(faultIn(await waf.scrollLogs("x"))).toStrictEqual(rejected);
    const message = "No WAF configured for this account";
    server.answers(json(404, message));
    expect(faultIn(await waf.scrollLogs("x"))).toMatchObject({ code: "NotFound", message });
    server.answers(text(400, html));
    expect(faultIn(await waf.scrollLogs("x"))).toMatchObject({ code: "ContractBroken" });
  });
});

describe("the limits of a response", () => {
  test("stop a response to a write that is too large", async () => {
    const { waf } = await start(json(200, { success: true, domain, message: "x".repeat(writeBodyBytesMax) }));
    expect(faultIn(await write(waf))).toMatchObject({
      code: "OutcomeUnknown",
      message: expect.stringContaining("larger"),
    });
  });

  test("stop a body that never ends, regardless of the status", async () => {
    const endless: Answer = (_, response) => {
      response.writeHead(500);
      const more = (): void => void (!response.destroyed && response.write("x".repeat(65_536), more));
      more();
    };
    const { server, waf } = await start(endless);
    expect(faultIn(await read(waf))).toMatchObject({ code: "Unavailable", status: 500 });
    server.answers(json(200, ["192.0.2.1"]));
    expect(await read(waf)).toMatchObject({ ok: true });
  });

  test("stop headers that never end", async () => {
    const { waf } = await start(raw(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}\r\n\r\n[]`));
    expect(faultIn(await read(waf))).toMatchObject({ code: "ContractBroken" });
  });
});

describe("deadlines", () => {
  const slow: readonly (readonly [string, Answer])[] = [
    ["no answer", silent],
    ["no body", raw("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", { stayOpen: true })],
    ["half a body", raw('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n["', { stayOpen: true })],
  ];

  test.each(slow)(
    "end a read at its timeout, and a write after at most ten seconds, when there is %s",
    async (_, script) => {
      const clock = createVirtualClock();
      const { server, waf, lanes } = await start(script, { clock, requestTimeoutMs: 25_000 });
      const result = read(waf);
      await server.received(1);
      await clock.advance(24_999);
      expect(clock.sleeperCount()).toBe(1);
      await clock.advance(1);
      expect(faultIn(await result)).toMatchObject({ code: "TimedOut" });
      const written = write(waf);
      await server.received(2);
      await clock.advance(writeTimeoutMsMax);
      expect(faultIn(await written)).toMatchObject({ code: "OutcomeUnknown" });
      server.answers(json(200, []));
      expect(await read(waf)).toStrictEqual({ ok: true, value: [] });
      await lanes.close();
      expect(clock.sleeperCount()).toBe(0);
    },
  );

  test("count from the start of the request, so a slow body does not extend them", async () => {
    const clock = createVirtualClock();
    let drip = (): void => undefined;
    const dripping: Answer = (_, response) => {
      response.writeHead(200);
      drip = () => void response.write(" ");
    };
    const { server, waf } = await start(dripping, { clock, requestTimeoutMs: 5_000 });
    const result = read(waf);
    await server.received(1);
    for (let second = 0; second < 5; second += 1) {
      drip();
      await clock.advance(1_000);
    }
    expect(faultIn(await result)).toMatchObject({ code: "TimedOut" });
  });

  test("do not include the time that a call waits for its turn", async () => {
    const clock = createVirtualClock();
    const { server, waf, lane } = await start(accepted, { clock, requestTimeoutMs: 1_000 });
    lane.pauseUntil(clock.monotonicMs() + 60_000);
    const result = write(waf);
    await clock.advance(59_999);
    expect(server.requests).toHaveLength(0);
    await clock.advance(1);
    expect(await result).toMatchObject({ ok: true });
  });
});

describe("when nothing can have been sent", () => {
  test("a refused connection makes a write unavailable, not unknown", async () => {
    const { server, waf } = await start(accepted);
    await server.stop();
    expect(faultIn(await write(waf))).toMatchObject({
      code: "Unavailable",
      message: expect.stringContaining("ECONNREFUSED"),
    });
    expect(faultIn(await read(waf))).toMatchObject({ code: "Unavailable" });
  });

  test.each([
    ["ENOTFOUND", "Check the host in the base URL, and DNS."],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "Check the WAF's certificate and the CAs that this machine trusts."],
    ["EHOSTUNREACH", "Check the base URL and the network."],
  ])("the message about %s says what to check, unless the cause is hidden", (code, hint) => {
    const context: ExchangeContext = {
      effect: "Write",
      takesPlainFailures: false,
      redact: (given) => given,
      origin: "https://waf.example",
      hidesCause: false,
      bodyBytesMax: 1,
      timeoutMs: 1,
      nowMs: 0,
      problem: undefined,
    };
    const broken = { sent: false, status: undefined, headers: {}, code };
    expect(faultOf(broken, context).message).toMatch(new RegExp(`\\(${code}\\): nothing was sent\\. ${hint}$`));
    const { message, cause } = faultOf(broken, { ...context, hidesCause: true });
    expect([message, cause]).toStrictEqual([expect.not.stringContaining(code), code]);
  });

  test("so does a TLS handshake that never ends, and the dropped request is never sent later", async () => {
    let received = "";
    const tcp = createServer((socket) => {
      socket.on("data", (chunk) => (received += chunk.toString("latin1")));
      socket.on("error", () => undefined);
    });
    await new Promise<void>((resolve) => tcp.listen(0, "127.0.0.1", resolve));
    const clock = createVirtualClock();
    const { waf, lanes } = clientFor(`https://127.0.0.1:${(tcp.address() as AddressInfo).port}`, { clock });
    const connected = new Promise((resolve) => tcp.once("connection", resolve));
    const result = write(waf);
    await connected;
    await clock.advance(10_000);
    expect(faultIn(await result)).toMatchObject({ code: "Unavailable", message: expect.stringContaining("10000 ms") });
    const controller = new AbortController();
    const again = waf.addEntry("blocklist", "192.0.2.1", { signal: controller.signal });
    await clock.settle();
    controller.abort();
    expect(faultIn(await again)).toMatchObject({ code: "Aborted" });
    await lanes.close();
    await new Promise((resolve) => tcp.close(resolve));
    expect(received).not.toContain("HTTP/1.1");
  });
});

test("A write on an open connection that breaks before the response has an unknown outcome", async () => {
  const { server, waf } = await start(accepted);
  expect(await write(waf)).toMatchObject({ ok: true });
  server.answers((_, { socket }) => socket?.resetAndDestroy());
  expect(faultIn(await write(waf))).toMatchObject({ code: "OutcomeUnknown" });
  expect(server.connections).toBe(1);
});

describe("a signal", () => {
  test("that aborts while a write is in flight leaves its outcome unknown, cancels a read, and closes the connection", async () => {
    const { server, waf } = await start(silent);
    const aborting = async (act: (signal: AbortSignal) => Promise<WafResult<unknown>>) => {
      const controller = new AbortController();
      const result = act(controller.signal);
      await server.received(server.requests.length + 1);
      controller.abort();
      return faultIn(await result).code;
    };
    expect(await aborting((signal) => waf.addEntry("blocklist", "192.0.2.1", { signal }))).toBe("OutcomeUnknown");
    expect(await aborting((signal) => waf.readList("blocklist", { signal }))).toBe("Aborted");
    server.answers(accepted);
    expect(await write(waf)).toMatchObject({ ok: true });
    expect(server.connections).toBe(3);
  });

  test("that aborts while the call waits, or before, means that nothing is sent", async () => {
    const { server, waf } = await start(silent);
    const running = new AbortController();
    const waiting = new AbortController();
    const first = waf.addEntry("blocklist", "192.0.2.1", { signal: running.signal });
    const second = waf.addEntry("blocklist", "192.0.2.2", { signal: waiting.signal });
    await server.received(1);
    waiting.abort();
    expect(faultIn(await second)).toMatchObject({ code: "Aborted" });
    const third = waf.addEntry("blocklist", "192.0.2.3", { signal: waiting.signal });
    expect(faultIn(await third)).toMatchObject({ code: "Aborted" });
    running.abort();
    await first;
    expect(server.requests).toHaveLength(1);
  });
});

describe("the permit", () => {
  test("is requested for each call, and stops a write before anything is sent", async () => {
    const asked: string[] = [];
    const permit = (effect: "Read" | "Write") => {
      asked.push(effect);
      return effect === "Read"
        ? ({ permitted: true } as const)
        : ({ permitted: false, reason: "This is a dry run." } as const);
    };
    const { server, waf } = await start(json(200, []), { permit });
    const writes = [
      write,
      (client: WafClient) => client.removeEntry("allowlist", "192.0.2.1"),
      (client: WafClient) => client.clearCache(),
      (client: WafClient) => client.addOrigin("a.example", "Backup"),
      (client: WafClient) => client.removeOrigin("a.example"),
    ];
    for (const act of writes)
      expect(faultIn(await act(waf))).toStrictEqual({ code: "NotPermitted", message: "This is a dry run." });
    expect(asked).toStrictEqual(["Write", "Write", "Write", "Write", "Write"]);
    expect(server.requests).toHaveLength(0);
    expect(await read(waf)).toStrictEqual({ ok: true, value: [] });
    expect(asked).toHaveLength(6);
  });

  test("also stops the reads of a process that has lost its lock", async () => {
    let isHeld = false;
    const permit = () =>
      isHeld ? ({ permitted: true } as const) : ({ permitted: false, reason: "Another process works on it." } as const);
    const { server, waf } = await start(json(200, []), { permit });
    expect(faultIn(await read(waf))).toStrictEqual({ code: "Aborted", message: "Another process works on it." });
    expect(server.requests).toHaveLength(0);
    isHeld = true;
    expect(await read(waf)).toStrictEqual({ ok: true, value: [] });
  });

  test("is requested when the turn starts, and not when the call is made", async () => {
    let isLeader = true;
    const permit = () =>
      isLeader ? ({ permitted: true } as const) : ({ permitted: false, reason: "The lease is lost." } as const);
    const { server, waf } = await start(silent, { permit });
    const controller = new AbortController();
    const first = waf.addEntry("blocklist", "192.0.2.1", { signal: controller.signal });
    const second = write(waf);
    await server.received(1);
    isLeader = false;
    controller.abort();
    await first;
    expect(faultIn(await second)).toMatchObject({ code: "NotPermitted" });
    expect(server.requests).toHaveLength(1);
  });
});

describe("429", () => {
  test("pauses all users of the lane for as long as the API asks", async () => {
    const clock = createVirtualClock();
    const { server, waf, lane } = await start(text(429, "", { "retry-after": "7" }), { clock });
    const { waf: other } = clientFor(server.baseUrl, { clock, lane });
    expect(faultIn(await write(waf))).toStrictEqual({
      code: "RateLimited",
      status: 429,
      retryAfterMs: 7_000,
      message: "The WAF asks to wait for 7 s (429).",
    });
    server.answers(accepted);
    const next = write(other);
    await clock.advance(6_999);
    expect(server.requests).toHaveLength(1);
    await clock.advance(1);
    expect(await next).toMatchObject({ ok: true });
  });

  test("without a valid delay pauses nothing", async () => {
    const { server, waf } = await start(text(429, "", { "retry-after": "soon" }));
    expect(faultIn(await read(waf))).toStrictEqual({
      code: "RateLimited",
      status: 429,
      message: "The WAF asks to wait without saying for how long (429).",
    });
    server.answers(json(200, []));
    expect(await read(waf)).toMatchObject({ ok: true });
  });

  test("counts as rate limiting even if its body does not arrive, and 503 passes on its delay", async () => {
    const { server, waf } = await start(raw("HTTP/1.1 429 Too Many\r\nretry-after: 0\r\ncontent-length: 9\r\n\r\nx"));
    expect(faultIn(await write(waf))).toMatchObject({ code: "RateLimited", retryAfterMs: 0 });
    server.answers(text(503, "", { "retry-after": "3" }));
    expect(faultIn(await read(waf))).toMatchObject({ code: "Unavailable", retryAfterMs: 3_000 });
  });
});

describe("a key that the API echoes", () => {
  const spellings = [
    testKey,
    encodeURIComponent(testKey),
    encodeURIComponent(testKey).toLowerCase(),
    JSON.stringify(testKey),
    Buffer.from(testKey).toString("base64"),
  ];

  test.each(spellings)("as %s is in no result", async (spelled) => {
    const { server, waf } = await start(accepted);
    const bodies = [
      failure(`Key ${spelled} is bad`),
      { success: true, domain, message: `Hello ${spelled}` },
      { success: true, domain: spelled, origin: spelled },
      [spelled],
      spelled,
      { [spelled]: 1 },
    ];
    for (const status of [200, 302, 400, 403, 404, 409, 429, 500]) {
      for (const body of bodies) {
        server.answers(json(status, body, { "retry-after": "0", location: `/x?${encodeURIComponent(spelled)}` }));
        faultIn(await read(waf));
        faultIn(await write(waf));
        faultIn(await waf.readOrigins());
        faultIn(await waf.scrollLogs("x"));
      }
    }
    server.answers(text(500, `${"x".repeat(290)}${spelled}`));
    faultIn(await read(waf));
    server.answers(raw(`HTTP/1.1 200 ${encodeURIComponent(spelled)}\r\nbroken ${encodeURIComponent(spelled)}\r\n\r\n`));
    faultIn(await write(waf));
  });

  test("is redacted in messages, and rejected in data", async () => {
    const { server, waf } = await start(json(200, { success: true, domain, message: `Key ${testKey}` }));
    expect(await write(waf)).toStrictEqual({ ok: true, value: { domain, message: "Key [api key]" } });
    server.answers(json(200, ["192.0.2.1", testKey]));
    expect(faultIn(await read(waf))).toMatchObject({ code: "ContractBroken" });
    server.answers(json(200, { success: true, domain: testKey }));
    expect(faultIn(await write(waf))).toMatchObject({ code: "OutcomeUnknown" });
  });

  test("is ignored in data if it is so short that it may occur by chance", async () => {
    const { waf } = await start(json(200, ["2001:db8::/32"]), { key: new ApiKey("2001") });
    expect(await read(waf)).toStrictEqual({ ok: true, value: ["2001:db8::/32"] });
  });
});

test("the record of each call contains what metrics need, without key, host or address", async () => {
  const calls: CallRecord[] = [];
  const { server, waf } = await start(accepted, { onCall: (call) => calls.push(call) });
  await write(waf);
  await waf.clearCache();
  server.answers(text(500, ""));
  await read(waf);
  await waf.readList("allowlist", { signal: AbortSignal.abort() });
  const told = calls.map(({ method, endpoint, status, faultCode }) => `${method} ${endpoint} ${status} ${faultCode}`);
  expect(told).toStrictEqual([
    "POST /api/blocklist_ip 200 undefined",
    "POST /clear/{api_key} 200 undefined",
    "GET /api/blocklist_ips 500 Unavailable",
  ]);
});
