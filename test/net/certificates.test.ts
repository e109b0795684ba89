// Every client checks the certificate of its server before it sends anything: a WAF's client sends the key with each request.
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import { CrowdsecSource } from "../../src/feeds/crowdsec.ts";
import type { FetchOptions } from "../../src/feeds/feed-request.ts";
import { fetchFeed } from "../../src/feeds/feed-fetcher.ts";
import { ApiKey } from "../../src/model/api-key.ts";
import type { CrowdsecFeed } from "../../src/model/declared.ts";
import { crowdsecFeed } from "../support/builders/declare-feed.ts";
import { createWafClient } from "../../src/waf/client.ts";
import type { OpenConnection } from "../../src/net/http-connection.ts";
import { LaneRegistry, connectTo } from "../../src/waf/lane.ts";
import { firstCertificate } from "../support/builders/test-certificates.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import { instanceDocument, secretDocument, testKey } from "../support/worlds/waf-folder.ts";

interface HttpsServer {
  readonly url: string;
  readonly requests: string[];
  close(): Promise<void>;
}

/** A WAF without entries. Its certificate is valid for 127.0.0.1, and no client trusts its issuer by default. */
async function startServer(host: string): Promise<HttpsServer> {
  const requests: string[] = [];
  const server = createServer(firstCertificate, (request, response) => {
    requests.push(request.url ?? "");
    const isList = request.url?.includes("list_ips") === true;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(isList ? [] : { success: true, domain: "shop.example", origin: "origin.example" }));
  });
  server.on("tlsClientError", () => undefined);
  server.listen(0, host);
  await once(server, "listening");
  return {
    url: `https://${host}:${(server.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

let server: HttpsServer;

beforeEach(async () => {
  server = await startServer("127.0.0.1");
});

afterEach(async () => {
  await server.close();
});

const network: FetchOptions = {
  clock: realClock,
  isAllowed: () => true,
  isPublicOnly: false,
  allowInsecureHttp: false,
  userAgent: "wafsync/0.0.0",
  redact: (text) => text,
  inTurn: async (read) => await read(),
};
const key = new ApiKey(testKey);

describe("A server with a certificate of an unknown issuer gets no request", () => {
  test.each<[string, OpenConnection]>([
    ["any address", connectTo()],
    ["checked addresses", connectTo({ isAllowed: () => true })],
  ])("from the client of a WAF that connects to %s", async (_, open) => {
    const lanes = new LaneRegistry({ clock: realClock, open });
    const lane = lanes.acquire({ baseUrl: server.url, key, minRequestIntervalMs: 0 });
    const permit = () => ({ permitted: true }) as const;
    const common = { baseUrl: server.url, key, requestTimeoutMs: 10_000, clock: realClock };
    const waf = createWafClient({ ...common, lane, permit, hidesCause: false });
    const message = expect.stringContaining("DEPTH_ZERO_SELF_SIGNED_CERT");
    const fault = { code: "Unavailable", message };
    expect(await waf.readList("blocklist")).toMatchObject({ ok: false, fault });
    expect(await waf.addEntry("blocklist", "192.0.2.1")).toMatchObject({ ok: false, fault });
    await lanes.close();
    expect(server.requests).toStrictEqual([]);
  });

  test("from the client of a feed", async () => {
    const validators = { etag: undefined, lastModified: undefined };
    const request = { url: server.url, headers: {}, format: { type: "Plain" }, validators, entriesMax: 10 } as const;
    await expect(fetchFeed(request, network)).rejects.toThrow("check the URL, the certificate");
    expect(server.requests).toStrictEqual([]);
  });

  test("from the client of CrowdSec", async () => {
    const source = crowdsecFeed({}, server.url).source as CrowdsecFeed;
    const pull = { source, key, isCurrent: false };
    await expect(new CrowdsecSource().pull(pull, network)).rejects.toThrow("check the URL, the certificate");
    expect(server.requests).toStrictEqual([]);
  });
});

describe("A program that trusts the issuer", () => {
  async function plan(baseUrl: string) {
    await using folder = await scratchDirectory({
      "main.yaml": instanceDocument(baseUrl),
      "key.yaml": secretDocument(),
    });
    const authority = join(folder.path, "authority.pem");
    await writeFile(authority, firstCertificate.cert);
    return await runWafsync(["plan", "-f", folder.path], { environment: { NODE_EXTRA_CA_CERTS: authority } });
  }

  test("calls the WAF", async () => {
    expect(await plan(server.url)).toMatchObject({ code: 0, stdout: expect.stringContaining("shop.example") });
    expect(server.requests).not.toStrictEqual([]);
  });

  test("sends nothing to a server whose certificate is for another address", async () => {
    const other = await startServer("127.0.0.2");
    const { code, stdout, stderr } = await plan(other.url);
    await other.close();
    expect([code, stdout + stderr]).toStrictEqual([2, expect.stringContaining("ERR_TLS_CERT_ALTNAME_INVALID")]);
    expect(other.requests).toStrictEqual([]);
  });
});

describe("A command for a cluster", () => {
  async function askStatus(cluster: object, environment: Readonly<Record<string, string>>) {
    const kubeconfig = {
      clusters: [{ name: "test", cluster: { server: server.url, ...cluster } }],
      users: [{ name: "test", user: { token: "a-token" } }],
      contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
      "current-context": "test",
    };
    await using folder = await scratchDirectory({ config: JSON.stringify(kubeconfig) });
    await runWafsync(["status", "--kubeconfig", join(folder.path, "config")], { environment });
  }

  test("asks an API server with a valid certificate", async () => {
    await askStatus({ "certificate-authority-data": Buffer.from(firstCertificate.cert).toString("base64") }, {});
    expect(server.requests).not.toStrictEqual([]);
  });

  test("sends no token to any server, even if a variable makes Node.js accept every certificate", async () => {
    await askStatus({}, {});
    await askStatus({}, { NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    expect(server.requests).toStrictEqual([]);
  });
});
