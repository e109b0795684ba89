// The operator's clients, according to its policy for base URLs and its known keys.
import { expect, test } from "@jest/globals";
import { type BaseUrlPolicy, connectionsOf } from "../../src/app/base-url-policy.ts";
import { WafClients } from "../../src/app/waf-clients.ts";
import { ApiKey } from "../../src/model/api-key.ts";
import { Redactor, excerptLengthMax } from "../../src/model/redactor.ts";
import { aMeta, anInstance } from "../support/builders/declare.ts";
import { startScriptedWaf } from "../support/fakes/scripted-waf.ts";
import { json } from "../support/fakes/scripted-server.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";
import { atTestEnd } from "../support/builders/at-test-end.ts";

const key = new ApiKey("the-key-of-today-0123456789");

function clientsOf(policy: BaseUrlPolicy, redactor = new Redactor()): WafClients {
  const permit = () => ({ permitted: true }) as const;
  const clients = new WafClients({ clock: createVirtualClock(), redactor, permit, ...connectionsOf(policy) });
  atTestEnd(async () => await clients.close());
  return clients;
}

async function aWaf(body: unknown, status = 200) {
  const server = await startScriptedWaf(json(status, body));
  atTestEnd(async () => await server.stop());
  return { server, baseUrl: server.baseUrl.replace("127.0.0.1", "localhost") };
}

const strict = { allowInsecureHttp: true, allowedBaseUrls: undefined, allowPrivateNetworks: false };

test("Without an allowed URL, wafsync does not connect to a name with an internal address, and the fault hides the cause", async () => {
  const { server, baseUrl } = await aWaf([]);
  const client = clientsOf(strict).open(anInstance({ baseUrl }), key);
  const read = await client.readList("blocklist");
  expect(read).toMatchObject({ ok: false, fault: { cause: "ADDRESS_REFUSED" } });
  expect(JSON.stringify(read)).toContain("wafsync cannot connect to");
  expect(server.connections).toBe(0);
});

test("An allowed URL may have any address, and its fault names the cause", async () => {
  const { baseUrl } = await aWaf([]);
  const allowed = clientsOf({ ...strict, allowedBaseUrls: [baseUrl] });
  expect(await allowed.open(anInstance({ baseUrl }), key).readList("blocklist")).toStrictEqual({ ok: true, value: [] });
  const closed = "http://127.0.0.1:1";
  const read = await allowed.open(anInstance({ baseUrl: closed }), key).readList("blocklist");
  expect(JSON.stringify(read)).toContain("(ECONNREFUSED)");
});

test("After a key was rotated, a response with the former key is rejected", async () => {
  const former = "a-former-key-0123456789";
  const { baseUrl } = await aWaf([`192.0.2.1`, `${former}.example`]);
  const clients = clientsOf({ ...strict, allowPrivateNetworks: true });
  const instance = anInstance({ baseUrl });
  clients.open(instance, new ApiKey(former));
  for (const current of [key, new ApiKey("the-key-of-tomorrow-01234")]) {
    const read = await clients.open(instance, current).readList("blocklist");
    expect(read).toMatchObject({ ok: false, fault: { code: "ContractBroken" } });
  }
  expect(await clients.open(instance, new ApiKey(former)).readList("allowlist")).toMatchObject({ ok: false });
});

test("After a key was rotated, the first call with the new one waits for the call in flight with the former one", async () => {
  const { server, baseUrl } = await aWaf([]);
  const elsewhere = await aWaf([]);
  const clients = clientsOf({ ...strict, allowPrivateNetworks: true });
  const instance = anInstance({ baseUrl });
  const { promise: whenReleased, resolve: release } = Promise.withResolvers<void>();
  server.answers((request, response) => {
    void whenReleased.then(() => json(200, [])(request, response));
  });
  const former = clients.open(instance, key).readList("blocklist");
  await server.received(1);
  const current = clients.open(instance, new ApiKey("the-key-of-tomorrow-01234")).readList("blocklist");
  // Other instances do not wait: after several of their calls, this one would have started.
  const other = clients.open(
    anInstance({ meta: aMeta("WafInstance", "other"), baseUrl: elsewhere.baseUrl }),
    new ApiKey("another-key-0123456789"),
  );
  for (let call = 0; call < 5; call += 1) expect(await other.readList("blocklist")).toMatchObject({ ok: true });
  expect(server.requests.length).toBe(1);
  release();
  expect(await Promise.all([former, current])).toMatchObject([{ ok: true }, { ok: true }]);
  expect(server.overlap).toBe(1);
});

test("Only the beginning of a message is searched for the keys of all instances", async () => {
  const lengths: number[] = [];
  class MeasuredRedactor extends Redactor {
    override redact(text: string): string {
      lengths.push(text.length);
      return super.redact(text);
    }
  }
  const redactor = new MeasuredRedactor();
  redactor.add(new ApiKey("a-key-of-another-team-7"));
  const message = `No: a-key-of-another-team-7 ${"%41 ".repeat(15_000)}`;
  const { baseUrl } = await aWaf({ success: false, domain: "shop.example", message }, 400);
  const client = clientsOf({ ...strict, allowPrivateNetworks: true }, redactor).open(anInstance({ baseUrl }), key);
  expect(JSON.stringify(await client.addEntry("blocklist", "192.0.2.1"))).toContain("No: [api key]");
  expect(Math.max(...lengths)).toBeGreaterThan(100);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(excerptLengthMax + 1);
});
