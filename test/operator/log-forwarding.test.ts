// Blocked requests on a real API server: on the operator's stdout, and as the source of automatic blocks.
// Long: `npm run test:deploy` runs it.
import { beforeAll, expect, test } from "@jest/globals";
import { anEntry } from "../support/builders/log-entry.ts";
import { apiVersion, instance, rule } from "../support/builders/manifests.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf, type TestWaf } from "../support/worlds/operator-world.ts";
import type { OperatorProcess } from "../support/processes/operator-process.ts";

const browser = { user_agent: "curl/8.5.0", country: "NL" };
const logs = { enabled: true, interval: "10s", lookback: "2d" };

/** The request paths of the rows of the instance `waf` of the namespace. */
function rowsOf(printed: string, namespace: string): readonly string[] {
  return printed
    .split("\n")
    .flatMap(parseLine)
    .filter((row) => row["waf_instance"] === `${namespace}/waf`)
    .map((row) => String(row["request_path"]))
    .sort();
}

/** Ignores an incomplete line, which a killed process may have left, or a running process may still be writing. */
function parseLine(line: string): readonly Readonly<Record<string, unknown>>[] {
  try {
    return line.startsWith("{") ? [JSON.parse(line) as Readonly<Record<string, unknown>>] : [];
  } catch {
    return [];
  }
}

await describeOperator("the forwarding of logs", (world) => {
  let operator: OperatorProcess;

  beforeAll(async () => {
    operator = await world().startOperator();
  });

  /** Adds entries from this many minutes ago to the logs of the WAF. @returns their paths */
  function block(waf: TestWaf, count: number, minutesAgo: number, start = 0, client = "192.0.2.1"): string[] {
    const timeMs = Date.now() - minutesAgo * 60_000;
    return Array.from({ length: count }, (_, index) => {
      const request_path = `/path-${start + index}`;
      const timestamp = new Date(timeMs).toISOString();
      const entry = { ...anEntry({ timestamp, client_ip: client, request_path }), ...browser };
      waf.view.logs.add(entry, timeMs);
      return request_path;
    });
  }

  test("every blocked request is written once as a JSON line, across restarts, and status and metrics report it", async () => {
    const { namespace, waf } = await world().newInstance("logs", { logs });
    const wanted: string[] = [];
    const add = (count: number, minutesAgo: number): void => {
      wanted.push(...block(waf, count, minutesAgo, wanted.length));
    };
    add(1200, 90);
    const isForwarded = async (): Promise<boolean> => {
      const found = await world().read("WafInstance", namespace, "waf");
      const { forwarded } = (found?.status?.["logs"] ?? {}) as { readonly forwarded?: number };
      return conditionOf(found, "LogsForwarded")?.reason === "Forwarded" && forwarded === wanted.length;
    };
    await world().eventually("the first rows are forwarded", isForwarded);
    add(30, 45);
    await world().eventually("what is new is forwarded", isForwarded);
    const forwarded = `wafsync_log_rows_forwarded_total{waf_instance="${namespace}/waf",output="Stdout"}`;
    expect(await operator.metric(forwarded)).toBe(wanted.length);
    const blocked = `wafsync_blocked_requests_total{waf_instance="${namespace}/waf",reason="SQL Injection",country="NL"}`;
    expect(await operator.metric(blocked)).toBe(wanted.length);
    expect(await operator.metric(`wafsync_log_lag_seconds{waf_instance="${namespace}/waf"}`)).toBeGreaterThan(2_500);
    const first = await operator.end();

    add(40, 30);
    operator = await world().startOperator();
    await world().eventually("what came meanwhile is forwarded", isForwarded);
    expect([...rowsOf(first.stdout, namespace), ...rowsOf(operator.process.printed(), namespace)].sort()).toStrictEqual(
      wanted.toSorted(),
    );
    const [line = ""] = first.stdout.split("\n");
    expect(JSON.parse(line)).toMatchObject({
      waf_instance: `${namespace}/waf`,
      domain: waf.domain,
      client_ip: "192.0.2.1",
      block_reason: "SQL Injection 942100",
    });
    // stdout contains nothing of the operator's own log.
    expect(first.stdout).not.toContain('"msg"');
  });

  test("a killed operator loses nothing", async () => {
    const { namespace, waf } = await world().newInstance("killed", { logs });
    const added = block(waf, 3000, 60);
    await operator.process.hasPrinted(new RegExp(`"waf_instance":"${namespace}/waf"`));
    const killed = await operator.end("SIGKILL");
    operator = await world().startOperator();
    await world().becomes("WafInstance", namespace, "waf", "LogsForwarded", "True Forwarded");
    const before = rowsOf(killed.stdout, namespace);
    await world().eventually("nothing is missing", () => {
      return new Set([...before, ...rowsOf(operator.process.printed(), namespace)]).size === added.length;
    });
  });

  test("an automatic block of a guest needs a grant, blocks nobody whom the owner allows, and no longer than granted", async () => {
    const guest = await world().newNamespace("auto-guest");
    const access = (kinds: readonly string[]) => [{ namespaces: { names: [guest] }, kinds, maxTtl: "10m" }];
    const { namespace, waf } = await world().newInstance("auto-owner", { logs, access: access(["WafIpRule"]) });
    await world().apply(rule(namespace, "partners", ["198.51.100.0/24"], { action: "Allow" }), {
      apiVersion,
      kind: "WafAutoBlock",
      metadata: { name: "attackers", namespace: guest },
      spec: { instanceRef: { name: "waf", namespace }, mode: "Enforce", threshold: 20, ttl: "2h" },
    });
    await world().becomes("WafAutoBlock", guest, "attackers", "Accepted", "False NotAllowed");
    for (const client of ["198.51.100.7", "203.0.113.66"]) block(waf, 30, 0, 0, client);
    await world().patch(instance(namespace, ""), { spec: { access: access(["WafIpRule", "WafAutoBlock"]) } });
    await world().eventually("one block", () => waf.view.blocklist.length === 1);
    expect(waf.view.blocklist).toStrictEqual(["203.0.113.66"]);
    await world().eventually("it ends after ten minutes", async () => {
      const { status } = (await world().read("WafAutoBlock", guest, "attackers")) ?? {};
      const [{ since = "", until = "" } = {}] = (status?.["clients"] ?? []) as { since?: string; until?: string }[];
      return Date.parse(until) - Date.parse(since) === 600_000;
    });
  });
});
