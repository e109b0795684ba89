// Automatic blocks in a cluster: judged by the leader, across crashes, and for guests only as far as the owner grants this.
// Long: `npm run test:deploy` runs it.
import { beforeAll, expect, test } from "@jest/globals";
import { anEntry } from "../support/builders/log-entry.ts";
import { apiVersion, type Manifest, rule } from "../support/builders/manifests.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf, type TestWaf } from "../support/worlds/operator-world.ts";

const logs = { interval: "10s" };
const attacker = "203.0.113.66";

function autoBlock(namespace: string, spec: object = {}): Manifest {
  const metadata = { name: "attackers", namespace };
  return {
    apiVersion,
    kind: "WafAutoBlock",
    metadata,
    spec: { instanceRef: { name: "waf" }, mode: "Enforce", threshold: 20, ...spec },
  };
}

function attack({ view }: TestWaf, client: string, count: number): void {
  for (let index = 0; index < count; index += 1) {
    const timeMs = Date.now() - index * 1_000;
    const entry = anEntry({ timestamp: new Date(timeMs).toISOString(), client_ip: client, request_path: `/${index}` });
    view.logs.add({ ...entry, user_agent: "curl/8.5.0", country: "NL" }, timeMs);
  }
}

await describeOperator("automatic blocks", (world) => {
  beforeAll(async () => {
    await world().startOperator();
  });

  async function statusOf(namespace: string) {
    const object = await world().read("WafAutoBlock", namespace, "attackers");
    return { status: object?.status ?? {}, of: (type: string) => conditionOf(object, type) };
  }

  test("a guest needs a grant, and blocks neither addresses that the owner allows nor more or longer than granted", async () => {
    const guest = await world().newNamespace("auto-guest");
    const access = (kinds: readonly string[]) => [
      { namespaces: { names: [guest] }, kinds, maxEntries: 1, maxTtl: "10m" },
    ];
    const { namespace, waf } = await world().newInstance("auto-owner", { logs, access: access(["WafIpRule"]) });
    await world().apply(rule(namespace, "partners", ["198.51.100.0/24"], { action: "Allow" }));
    const mine = autoBlock(guest, { instanceRef: { name: "waf", namespace }, ttl: "2h" });
    await world().apply(mine);
    await world().eventually(
      "the missing grant",
      async () => (await statusOf(guest)).of("Accepted")?.reason === "NotAllowed",
    );
    for (const client of ["198.51.100.7", attacker, "203.0.113.67"]) attack(waf, client, 30);
    await world().apply({
      apiVersion,
      kind: "WafInstance",
      metadata: { name: "waf", namespace },
      spec: {
        baseUrl: world().simulator.baseUrl,
        apiKeySecretRef: { name: "waf-key" },
        logs,
        access: access(["WafIpRule", "WafAutoBlock"]),
      },
    });
    await world().eventually("one block", () => waf.view.blocklist.length === 1);
    await world().eventually(
      "the quota in the status",
      async () => (await statusOf(guest)).of("Accepted")?.reason === "InvalidEntries",
    );
    expect(waf.view.blocklist).toStrictEqual([attacker]);
    const { clients = [] } = (await statusOf(guest)).status as {
      clients?: readonly { readonly entry: string; readonly since: string; readonly until: string }[];
    };
    expect(clients.map(({ entry }) => entry)).not.toContain("198.51.100.7");
    for (const { since, until } of clients) expect(Date.parse(until) - Date.parse(since)).toBe(600_000);
  });
});
