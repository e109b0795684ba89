// WAFs whose logs never end or never arrive, next to the WAF of an honest team. `WAFSYNC_HOSTILE=large` uses the default limit of a
// million rows, and prints the operator's resource usage.
// Long: `npm run test:deploy` runs it.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { instance, keySecret } from "../support/builders/manifests.ts";
import { type HostileWafs, startHostileWafs } from "./hostile-wafs.ts";
import { anEntry } from "../support/builders/log-entry.ts";
import { readImage } from "../support/fleet/measured-operator.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf } from "../support/worlds/operator-world.ts";

const isLarge = process.env["WAFSYNC_HOSTILE"] === "large";
const rowsMax = isLarge ? 1_000_000 : 20_000;
const endlessCount = isLarge ? 1 : 3;
/** Log forwarding has more workers. */
const silentCount = 12;
const rowsOfOwner = 1_200;
const rowsOfPage = 10_000;
const rowsOfEndless = 1_000_000_000;
const timeMsMax = isLarge ? 300_000 : 60_000;
const memoryMax = 512 * 1024 * 1024;
const browser = { user_agent: "curl/8.5.0", country: "NL" };
const logs = { enabled: true, interval: "10s", lookback: "1d" };

await describeOperator("logs without end", (world) => {
  let hostile: HostileWafs;
  /** The number of pages that were requested with each key. */
  const pages = new Map<string, number>();

  beforeAll(async () => {
    hostile = await startHostileWafs();
  });
  afterAll(async () => await hostile.server.stop());

  test("result in a condition, with bounded output and memory, and the logs of others are forwarded", async () => {
    const { namespace: owner, waf } = await world().newInstance("owner", { logs });
    const operator = await world().startOperator({
      nodeParameters: (await readImage()).nodeParameters,
      parameters: [`--max-log-rows=${rowsMax}`],
    });
    const silentKeys = Array.from({ length: silentCount }, (_, index) => `silent-key-of-a-team-${index}`);
    const endlessKeys = Array.from({ length: endlessCount }, (_, index) => `endless-key-of-a-team-${index}`);
    for (const key of silentKeys) hostile.play(key, { logs: () => void nextPage(key) });
    for (const key of endlessKeys) hostile.play(key, { logs: (_, response) => response.end(pageText(nextPage(key))) });
    await Promise.all(silentKeys.map(async (key) => await hostileInstance(key, { requestTimeout: "30s" })));
    await world().eventually("the silent WAFs are asked", () => silentKeys.every((key) => pages.has(key)));
    const attackers = await Promise.all(endlessKeys.map(async (key) => await hostileInstance(key)));

    const startMs = Date.now();
    for (let index = 0; index < rowsOfOwner; index += 1) {
      const entry = anEntry({ timestamp: new Date(startMs).toISOString(), request_path: `/of-the-owner/${index}` });
      waf.view.logs.add({ ...entry, ...browser }, startMs);
    }
    const forwardedOf = async (namespace: string): Promise<number | undefined> =>
      await operator.metric(`wafsync_log_rows_forwarded_total{waf_instance="${namespace}/waf",output="Stdout"}`);
    await world().eventually("the rows of the owner", async () => (await forwardedOf(owner)) === rowsOfOwner);
    const ownerMs = Date.now() - startMs;

    for (const attacker of attackers) {
      const condition = async () => conditionOf(await world().read("WafInstance", attacker, "waf"), "LogsForwarded");
      await world().eventually("the limit", async () => (await condition())?.reason === "TooLarge", timeMsMax);
      expect((await condition())?.message).toMatch(/^Forwarding continues at 20\S+Z: [\d,]+ log rows were forwarded/);
      expect(await forwardedOf(attacker)).toBe(rowsMax);
      const failures = `wafsync_log_forwarding_failures_total{waf_instance="${attacker}/waf",reason="TooLarge"}`;
      expect(await operator.metric(failures)).toBe(1);
      expect(await operator.metric(`wafsync_log_rows_remembered{waf_instance="${attacker}/waf"}`)).toBe(rowsMax);
    }
    const memory = (await operator.metric("process_resident_memory_bytes")) ?? Number.NaN;
    const mebibytes = Math.round(memory / 1024 / 1024);
    console.log(
      `${endlessCount} × ${rowsMax} rows: ${mebibytes} MiB, the owner's rows after ${Math.round(ownerMs)} ms`,
    );
    expect(memory).toBeLessThan(memoryMax);
  });

  function nextPage(key: string): number {
    const page = pages.get(key) ?? 0;
    pages.set(key, page + 1);
    return page;
  }

  async function hostileInstance(key: string, spec: object = {}): Promise<string> {
    const namespace = await world().newNamespace("hostile");
    await world().apply(keySecret(namespace, key));
    await world().apply(instance(namespace, hostile.server.baseUrl, { logs, ...spec }));
    return namespace;
  }
});

/** Every row and every scroll ID is new. */
function pageText(page: number): string {
  const timestamp = new Date().toISOString();
  const hits = Array.from({ length: rowsOfPage }, (_, row) => anEntry({ timestamp, request_path: `/${page}/${row}` }));
  return JSON.stringify({ _scroll_id: `scroll-${page}`, hits: { total: { value: rowsOfEndless }, hits } });
}
