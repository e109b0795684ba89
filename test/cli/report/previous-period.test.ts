import { expect, test } from "@jest/globals";
import { LogReport } from "../../../src/cli/report/report-statistics.ts";
import { PreviousPeriod } from "../../../src/cli/report/previous-period.ts";
import { row } from "../../support/fakes/scripted-logs.ts";

test("The previous period counts exactly the keys that the report shows, whatever else was logged", () => {
  const report = new LogReport({ startMs: 0, endMs: 86_400_000 });
  report.add(row("/a", { client_ip: "192.0.2.1" }), 0, 0);
  report.add(row("/b", { client_ip: "2001:db8::1", block_reason: "XSS 1", user_agent: null }), 0, 0);
  const before = new PreviousPeriod(report.summary(5));
  const spelled = ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2", "2001:DB8:0::2"];
  for (const client_ip of spelled) before.add(row("/a?x=1", { client_ip }));
  for (let place = 0; place < 50_000; place += 1) before.add(row(`/${place}`, { client_ip: "198.51.100.1" }));
  const countsOf = (kind: Parameters<typeof before.countOf>[0], ...keys: readonly string[]) =>
    keys.map((key) => before.countOf(kind, key));
  expect(before.total).toBe(50_004);
  expect(countsOf("clients", "192.0.2.1", "2001:db8::1", "198.51.100.1")).toStrictEqual([2, 0, undefined]);
  expect(countsOf("networks", "192.0.2.0/24", "2001:db8::/64")).toStrictEqual([3, 1]);
  expect(countsOf("paths", "/a", "/b", "/7")).toStrictEqual([4, 0, undefined]);
  expect(countsOf("categories", "Bad Bot", "XSS")).toStrictEqual([50_004, 0]);
  expect(countsOf("agents", "curl/8.5.0", "")).toStrictEqual([50_004, 0]);
  expect([countsOf("methods", "GET"), countsOf("statuses", "403"), countsOf("countries", "NL")]).toStrictEqual([
    [50_004],
    [50_004],
    [50_004],
  ]);
});
