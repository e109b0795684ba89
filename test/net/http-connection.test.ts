import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Server } from "node:net";
import { createSecureContext } from "node:tls";
import { describe, expect, test } from "@jest/globals";
import { ApiKey } from "../../src/model/api-key.ts";
import type { WafFault, WafResult } from "../../src/model/waf-result.ts";
import { isPublicAddress, type ResolveHost } from "../../src/net/checked-lookup.ts";
import { openConnection, readBody } from "../../src/net/http-connection.ts";
import { createWafClient } from "../../src/waf/client.ts";
import { LaneRegistry, connectTo } from "../../src/waf/lane.ts";
import { firstCertificate } from "../support/builders/test-certificates.ts";
import { findFreePorts } from "../support/control-plane/free-ports.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";
import { startScriptedWaf, testKey } from "../support/fakes/scripted-waf.ts";
import { json, raw } from "../support/fakes/scripted-server.ts";
import { atTestEnd } from "../support/builders/at-test-end.ts";

async function aWaf(script = json(200, [])) {
  const server = await startScriptedWaf(script);
  atTestEnd(async () => await server.stop());
  return { server, port: Number(new URL(server.baseUrl).port) };
}

/** Resolves a name to these addresses, one response after another. */
function resolving(...answers: readonly string[]): ResolveHost {
  const left = [...answers];
  return (_, __, callback) => callback(null, [{ address: left.shift() ?? "", family: 4 }]);
}

const failing: ResolveHost = (_, __, callback) => {
  callback(Object.assign(new Error("unknown"), { code: "ENOTFOUND" }), []);
};

function clientFor(baseUrl: string, isAllowed: (address: string) => boolean, resolve?: ResolveHost) {
  const clock = createVirtualClock();
  const key = new ApiKey(testKey);
  const lanes = new LaneRegistry({ clock, open: connectTo({ isAllowed, ...(resolve && { resolve }) }) });
  atTestEnd(async () => await lanes.close());
  const lane = lanes.acquire({ baseUrl, key, minRequestIntervalMs: 0 });
  const permit = () => ({ permitted: true }) as const;
  return createWafClient({ baseUrl, key, requestTimeoutMs: 10_000, lane, permit, clock, hidesCause: true });
}

function faultIn(result: WafResult<unknown>): WafFault {
  if (result.ok) throw new Error("There is no fault.");
  return result.fault;
}

describe("A client that checks addresses", () => {
  test.each(["http://127.0.0.1", "http://[::1]", "http://2130706433", "http://0x7f.1", "http://[::ffff:127.0.0.1]"])(
    "does not connect to %s",
    async (host) => {
      const { server, port } = await aWaf();
      const waf = clientFor(`${host}:${port}`, isPublicAddress);
      expect(faultIn(await waf.readList("blocklist"))).toMatchObject({ code: "Unavailable", cause: "ADDRESS_REFUSED" });
      expect(faultIn(await waf.addEntry("blocklist", "192.0.2.1"))).toMatchObject({ code: "Unavailable" });
      expect(server.connections).toBe(0);
    },
  );

  test("does not connect to a name that resolves to an internal address", async () => {
    const { server, port } = await aWaf();
    const waf = clientFor(`http://waf.example:${port}`, isPublicAddress, resolving("127.0.0.1"));
    expect(faultIn(await waf.readList("blocklist"))).toMatchObject({ code: "Unavailable", cause: "ADDRESS_REFUSED" });
    expect(server.connections).toBe(0);
  });
});

test("A client that hides causes has one message for a rejected address, a closed port, an unknown name and another protocol", async () => {
  const { port } = await aWaf(raw("220 mail.example ESMTP\r\n"));
  const [closed] = await findFreePorts(1);
  const everything = () => true;
  const reads = [
    clientFor(`http://waf.example:${port}`, isPublicAddress, resolving("127.0.0.1")),
    clientFor(`http://waf.example:${closed}`, everything, resolving("127.0.0.1")),
    clientFor(`http://waf.example:${port}`, everything, failing),
    clientFor(`http://waf.example:${port}`, everything, resolving("127.0.0.1")),
    clientFor(`https://waf.example:${port}`, everything, resolving("127.0.0.1")),
  ].map(async (waf) => faultIn(await waf.readOrigins()));
  const faults = await Promise.all(reads);
  const sentences = faults.map(({ code, message }) => `${code} ${message.replaceAll(/https?:[^ ]*\w/g, "URL")}`);
  expect(new Set(sentences)).toStrictEqual(
    new Set([
      "Unavailable wafsync cannot connect to URL. Check the host, its certificate and the network; wafsync's log contains the cause. Internal addresses require --allowed-base-urls or --allow-private-networks.",
    ]),
  );
  expect(new Set(faults.map(({ cause }) => cause)).size).toBeGreaterThan(2);
});

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atTestEnd(async () => await new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

describe("A connection through a proxy", () => {
  test("opens a tunnel with the proxy's login, and verifies the server's certificate in it", async () => {
    const target = await portOf(createTlsServer(firstCertificate, (_, response) => response.end("hello")));
    const asked: unknown[] = [];
    const proxy = createServer().on("connect", ({ url = "", headers }, client) => {
      asked.push(url, headers["proxy-authorization"]);
      const server = connect(Number(url.split(":")[1]), "127.0.0.1", () => {
        client.write("HTTP/1.1 200 OK\r\n\r\n");
        server.pipe(client).pipe(server);
      });
    });
    const proxyUrl = `http://user:p%40ss@127.0.0.1:${await portOf(proxy)}`;
    const limits = { socketsMax: 1, keepAliveMs: 0, proxyUrl };
    const request = { method: "GET", path: "/", headers: {} } as const;
    const { signal } = new AbortController();
    const tls = { secureContext: createSecureContext({ ca: firstCertificate.cert }) };
    const trusting = openConnection(`https://127.0.0.1:${target}`, { ...limits, tls });
    const { body } = await trusting.send(request, signal);
    expect((await readBody(body, 100)).toString()).toBe("hello");
    const login = `Basic ${Buffer.from("user:p@ss").toString("base64")}`;
    expect(asked).toStrictEqual([`127.0.0.1:${target}`, login]);
    const other = openConnection(`https://127.0.0.1:${target}`, limits);
    await expect(other.send(request, signal)).rejects.toMatchObject({ code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  });

  test("fails if the proxy refuses the tunnel", async () => {
    const proxy = createServer().on("connect", (_, client) => client.end("HTTP/1.1 403 Forbidden\r\n\r\n"));
    const proxyUrl = `http://127.0.0.1:${await portOf(proxy)}`;
    const connection = openConnection("https://server.example", { socketsMax: 1, keepAliveMs: 0, proxyUrl });
    const sending = connection.send({ method: "GET", path: "/", headers: {} }, new AbortController().signal);
    await expect(sending).rejects.toMatchObject({ message: expect.stringContaining("403"), sent: false });
  });
});
