// The life of a WAF over weeks: namespaces with and without access, rules that expire, people who change the lists manually, rotated
// keys, and teams that leave.
// Long: `npm run test:deploy` runs it.
import { join } from "node:path";
import { beforeAll, expect, test } from "@jest/globals";
import { addresses, cacheClear, instance, keySecret, origin, rule } from "../support/builders/manifests.ts";
import { slow } from "../support/processes/slowness.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf } from "../support/worlds/operator-world.ts";

const namespacedOverlay = join(import.meta.dirname, "../../deploy/kustomize/overlays/namespaced");

await describeOperator("the life of a WAF", (world) => {
  beforeAll(async () => {
    await world().startOperator();
  });

  async function reasonsOfEvents(namespace: string): Promise<string[]> {
    return (await world().events(namespace)).map(({ reason }) => reason);
  }

  test("a rule of a namespace without access waits, and attaches as soon as its namespace has the required label", async () => {
    const namespaces = { from: "Selector", selector: { matchLabels: { team: "shop" } } };
    const { namespace, waf } = await world().newInstance("allowed", { access: [{ namespaces }] });
    const elsewhere = await world().newNamespace("elsewhere");
    await world().apply(
      rule(elsewhere, "guest", ["203.0.113.1"], { instanceRef: { name: "waf", namespace } }),
      rule(namespace, "own", ["203.0.113.2"]),
    );
    await world().becomes("WafIpRule", elsewhere, "guest", "Accepted", "False NotAllowed");
    const guest = conditionOf(await world().read("WafIpRule", elsewhere, "guest"), "Ready");
    expect(guest?.message).toContain(namespace);
    expect(await world().condition("WafIpRule", elsewhere, "guest", "Ready")).toBe("False NotAllowed");

    await world().cluster.expectKubectl(["label", "namespace", elsewhere, "team=shop"]);
    await world().allReady(elsewhere);
    expect(waf.view.has("blocklist", "203.0.113.1")).toBe(true);

    await world().cluster.expectKubectl(["label", "namespace", elsewhere, "team-"]);
    await world().eventually("the guest is refused again, and its entry removed", async () => {
      const accepted = await world().condition("WafIpRule", elsewhere, "guest", "Accepted");
      return accepted === "False NotAllowed" && !waf.view.has("blocklist", "203.0.113.1");
    });
  });

  test("an expired rule is removed on time, and not at the next resync", async () => {
    const { namespace, waf } = await world().newInstance("expiry", { resyncInterval: "1h" });
    const [untilMs, ttlMs] = [slow(5_000), slow(4_000)];
    const expiresAt = `${new Date(Date.now() + untilMs).toISOString().slice(0, 19)}Z`;
    await world().apply(rule(namespace, "until", ["203.0.113.4"], { expiresAt }));
    await world().apply(
      rule(namespace, "for", ["203.0.113.5"], { ttl: `${ttlMs}ms` }),
      rule(namespace, "stays", ["203.0.113.6"]),
    );
    const lastEndMs = Math.max(Date.parse(expiresAt), Date.now() + ttlMs);
    await world().eventually("all are added", () => waf.view.blocklist.length === 3);
    const patienceMs = untilMs + ttlMs + 60_000;
    await world().eventually("two of them are gone", () => waf.view.blocklist.length === 1, patienceMs);
    const goneMs = Date.now();
    expect(goneMs).toBeGreaterThanOrEqual(Date.parse(expiresAt));
    expect(goneMs - lastEndMs).toBeLessThan(slow(3_000));
    await world().becomes("WafIpRule", namespace, "until", "Synced", "True Expired");
    expect((await world().read("WafIpRule", namespace, "until"))?.status).toMatchObject({ expiresAt });
    await world().eventually("an event says so", async () => (await reasonsOfEvents(namespace)).includes("Expired"));
  });

  test("a rotated key is used without a restart", async () => {
    const { namespace, waf } = await world().newInstance("rotation", { resyncInterval: "1h" });
    await world().apply(rule(namespace, "before", ["203.0.113.7"]));
    await world().allReady(namespace);
    const newKey = "made+up/key=new%one";
    world().simulator.replaceKey(waf.key, newKey);
    await world().apply(keySecret(namespace, newKey));
    await world().apply(rule(namespace, "after", ["203.0.113.8"]));
    await world().eventually("both are blocked", () => waf.view.blocklist.length === 2);
    await world().allReady(namespace);
  });

  test("on SIGTERM, the call in flight is completed and recorded, and no other call starts", async () => {
    const { namespace, waf } = await world().newInstance("stop");
    const posts = (): number => waf.view.counters.byEndpoint["POST /api/blocklist_ip"] ?? 0;
    const { settings } = world().simulator;
    await world().allReady(namespace);
    settings.latencyMs = slow(1_000);
    await world().apply(rule(namespace, "list", addresses(50)));
    await world().eventually("the first address", () => waf.view.blocklist.length === 1);
    const before = posts();
    expect(await world().operator.end("SIGTERM")).toMatchObject({ code: 0, signal: undefined });
    expect(posts() - before).toBeLessThanOrEqual(1);
    expect(waf.view.blocklist).toHaveLength(posts());
    settings.latencyMs = 0;
    await world().startOperator();
    await world().eventually("the rest", () => waf.view.blocklist.length === 50);
    // Each address was posted once, regardless of the process.
    expect(posts()).toBe(50);
  });

  test("at the end, a namespace can be deleted as a whole: and its entries leave the WAF", async () => {
    const { namespace, waf } = await world().newInstance("leaving", { deletionPolicy: "Delete" });
    await world().apply(
      rule(namespace, "block", addresses(50)),
      rule(namespace, "allow", ["203.0.113.9"], { action: "Allow" }),
    );
    await world().allReady(namespace);
    expect(waf.view.blocklist).toHaveLength(50);
    await world().cluster.expectKubectl(["delete", "namespace", namespace, `--timeout=${slow(80)}s`]);
    expect([waf.view.blocklist, waf.view.allowlist]).toStrictEqual([[], []]);
  });

  test("an operator of one namespace needs only Roles, and ignores other namespaces", async () => {
    await world().operator.end();
    const { cluster } = world();
    const team = await world().newNamespace("team");
    const manifests = await cluster.expectKubectl(["kustomize", namespacedOverlay]);
    const input = manifests.replaceAll("wafsync-system", team);
    await cluster.expectKubectl(["apply", "--server-side", "-f", "-"], { input });
    const waf = world().newWaf();
    const other = await world().newInstance("other");
    await world().apply(rule(other.namespace, "block", ["203.0.113.20"]));
    await world().startOperator({
      kubeconfig: await cluster.kubeconfigFor(team, "wafsync"),
      parameters: ["--namespace", team, "--leader-elect", "--lease-namespace", team],
    });
    await world().apply(
      keySecret(team, waf.key),
      instance(team, world().simulator.baseUrl),
      rule(team, "block", addresses(5)),
      origin(team, "standby", "standby.example.com"),
      cacheClear(team, "clear"),
    );
    await world().allReady(team);
    expect(waf.view.blocklist).toHaveLength(5);
    await world().remove(rule(team, "block", []));
    await world().eventually("the removal is confirmed and done", () => waf.view.blocklist.length === 0);
    expect((await world().operator.health("/readyz")).status).toBe(200);
    expect(other.waf.view.counters.requests).toBe(0);
  });
});
