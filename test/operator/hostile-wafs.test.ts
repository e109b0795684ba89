// WAFs that attack the operator with their responses, one attack at a time, on a real API server. During each attack, an urgent
// address of another team's instance is blocked soon, and the status of the attacker's own instance must report the problem. How soon
// is measured by hostile-guests.test.ts, which runs alone.
// Long: `npm run test:deploy` runs it.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { instance, keySecret, rule } from "../support/builders/manifests.ts";
import { type HostileAnswers, type HostileWafs, startHostileWafs } from "./hostile-wafs.ts";
import { text } from "../support/fakes/scripted-server.ts";
import { anEntry } from "../support/builders/log-entry.ts";
import { readImage } from "../support/fleet/measured-operator.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf, type TestWaf } from "../support/worlds/operator-world.ts";

const urgentMsMax = 15_000;
const memoryMax = 512 * 1024 * 1024;
/** Instead of a million. */
const rowsMax = 20_000;
/** Log forwarding has more workers. */
const silentCount = 12;
const logs = { enabled: true, interval: "10s", lookback: "1d" };

await describeOperator("a hostile WAF", (world) => {
  let hostile: HostileWafs;
  let owner: { readonly namespace: string; readonly waf: TestWaf };
  let urgent = 0;

  beforeAll(async () => {
    hostile = await startHostileWafs();
    await world().startOperator({
      nodeParameters: (await readImage()).nodeParameters,
      parameters: [`--max-log-rows=${rowsMax}`],
    });
    owner = await world().newInstance("owner", { logs });
    await world().apply(rule(owner.namespace, "kept", ["192.0.2.1"]));
    await world().allReady(owner.namespace);
  });
  afterAll(async () => await hostile.server.stop());

  /** An attacker's instance. */
  async function attack(
    key: string,
    answers: HostileAnswers,
    spec: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    hostile.play(key, answers);
    const namespace = await world().newNamespace("attacker");
    await world().apply(keySecret(namespace, key));
    await world().apply(instance(namespace, hostile.server.baseUrl, spec));
    return namespace;
  }

  async function ownerIsServed(): Promise<void> {
    urgent += 1;
    const address = `203.0.113.${urgent}`;
    await world().apply(rule(owner.namespace, `urgent-${urgent}`, [address], { priority: 100 }));
    await world().eventually("the urgent address", () => owner.waf.view.has("blocklist", address), urgentMsMax);
  }

  async function ready(namespace: string): Promise<string> {
    const found = conditionOf(await world().read("WafInstance", namespace, "waf"), "Ready");
    return `${found?.status} ${found?.reason}: ${found?.message}`;
  }

  async function becomes(namespace: string, expected: RegExp): Promise<void> {
    const look = async (): Promise<boolean> => expected.test(await ready(namespace));
    await world().eventually(`Ready of ${namespace} is ${expected}`, look);
  }

  async function memory(): Promise<number> {
    return (await world().operator.metric("process_resident_memory_bytes")) ?? Number.NaN;
  }

  test.each([
    ["an escape", `${"-".repeat(1000)}b`, String.raw`\\\-`],
    ["a reference of HTML", `${"&".repeat(1000)}b`, "&amp;"],
    ["percent signs", `${"a".repeat(1000)}b`, "%61"],
  ])("can't freeze the operator with a key and a body that are slow to search: %s", async (_, key, piece) => {
    const body = piece.repeat(Math.floor(60_000 / piece.length));
    const namespace = await attack(key, { origins: text(500, body), list: text(500, body) });
    await world().eventually("the answer came", () => hostile.requests(key) > 0);
    await ownerIsServed();
    expect((await world().operator.health("/healthz")).status).toBe(200);
    await becomes(namespace, /^False ApiUnavailable: /);
  });

  test("can't fill the memory with two lists of a million entries", async () => {
    const list = Array.from(
      { length: 1_000_000 },
      (_, place) => `11.${place >> 16}.${(place >> 8) & 255}.${place & 255}`,
    );
    const namespace = await attack("a-key-of-long-lists-1", { list: text(200, JSON.stringify(list)) });
    await becomes(namespace, /^False ApiUnavailable: /);
    await ownerIsServed();
    expect(await memory()).toBeLessThan(memoryMax);
  });

  async function forwardedOf(namespace: string): Promise<number> {
    const series = `wafsync_log_rows_forwarded_total{waf_instance="${namespace}/waf",output="Stdout"}`;
    return (await world().operator.metric(series)) ?? 0;
  }

  async function ownersLogsAreForwarded(): Promise<void> {
    const before = await forwardedOf(owner.namespace);
    const entry = anEntry({ timestamp: new Date().toISOString(), request_path: "/of-the-owner" });
    owner.waf.view.logs.add({ ...entry, user_agent: "curl/8.5.0", country: "NL" }, Date.now());
    await world().eventually("the row of the owner", async () => (await forwardedOf(owner.namespace)) > before);
  }

  test("can't keep the log forwarding of others waiting, or fill the memory, with logs that never come or never end", async () => {
    const asked = new Set<number>();
    const silent = Array.from({ length: silentCount }, (_, index) => index);
    const never = (index: number) => () => void asked.add(index);
    await Promise.all(
      silent.map(async (index) => {
        return await attack(`a-key-of-silent-logs-${index}`, { logs: never(index) }, { logs, requestTimeout: "30s" });
      }),
    );
    await world().eventually("the silent WAFs are asked", () => asked.size === silentCount);
    let page = 0;
    const endless = await attack(
      "a-key-of-endless-logs",
      { logs: (_, response) => response.end(pageText((page += 1))) },
      { logs },
    );
    await ownersLogsAreForwarded();
    const condition = async () => conditionOf(await world().read("WafInstance", endless, "waf"), "LogsForwarded");
    await world().eventually("the limit", async () => (await condition())?.reason === "TooLarge");
    expect((await condition())?.message).toMatch(/^Forwarding continues at 20\S+Z: [\d,]+ log rows were forwarded/);
    expect(await forwardedOf(endless)).toBe(rowsMax);
    expect(await memory()).toBeLessThan(memoryMax);
  });

  test("is not sent a key whose Secret was deleted before its base URL was changed", async () => {
    const key = "a-key-that-was-revoked-1";
    const namespace = await attack(key, {});
    await becomes(namespace, /^True/);
    await world().remove(keySecret(namespace, key));
    const other = await startHostileWafs();
    await world().patch(instance(namespace, ""), { spec: { baseUrl: other.server.baseUrl } });
    await becomes(namespace, /^False BadApiKey/);
    await world().remove(instance(namespace, ""));
    const isGone = async () => (await world().read("WafInstance", namespace, "waf")) === undefined;
    await world().eventually("the instance is gone", isGone);
    expect(other.requests(key)).toBe(0);
    await other.server.stop();
  });
});

/** Every row and every scroll ID is new. */
function pageText(page: number): string {
  const timestamp = new Date().toISOString();
  const hits = Array.from({ length: 10_000 }, (_, row) => anEntry({ timestamp, request_path: `/${page}/${row}` }));
  return JSON.stringify({ _scroll_id: `scroll-${page}`, hits: { total: { value: 1_000_000_000 }, hits } });
}
