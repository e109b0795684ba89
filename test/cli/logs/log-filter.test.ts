import { describe, expect, test } from "@jest/globals";
import type { LogEntry } from "../../../src/model/log-entry.ts";
import { type LogFilterTexts, parseLogFilter } from "../../../src/cli/logs-command.ts";
import { row } from "../../support/fakes/scripted-logs.ts";

const none: LogFilterTexts = { country: [], reason: [], client: [], status: [], path: [] };

function passes(filter: Partial<LogFilterTexts>, entry: Partial<LogEntry>): boolean {
  return parseLogFilter({ ...none, ...filter })(row("/shop/cart?id=1", entry));
}

describe("a filter", () => {
  test.each<[Partial<LogFilterTexts>, Partial<LogEntry>, boolean]>([
    [{}, {}, true],
    [{ country: ["nl"] }, {}, true],
    [{ country: ["CN", "NL"] }, {}, true],
    [{ country: ["CN"] }, {}, false],
    [{ country: ["CN"] }, { country: null }, false],
    [{ reason: ["bad bot"] }, {}, true],
    [{ reason: ["1002"] }, {}, true],
    [{ reason: ["sql"] }, {}, false],
    [{ client: ["192.0.2.1"] }, {}, true],
    [{ client: ["192.0.2.0/24"] }, {}, true],
    [{ client: ["192.0.2.77/24"] }, {}, true],
    [{ client: ["192.0.3.0/24", "192.0.2.2"] }, {}, false],
    [{ client: ["2001:db8::/32"] }, {}, false],
    [{ client: ["2001:DB8::/32"] }, { client_ip: "2001:db8::1" }, true],
    [{ client: ["2001:db8:0::1"] }, { client_ip: "2001:db8::1" }, true],
    [{ client: ["192.0.2.0/24"] }, { client_ip: "::ffff:192.0.2.9" }, true],
    [{ client: ["0.0.0.0/0"] }, { client_ip: "unknown" }, false],
    [{ status: ["403"] }, {}, true],
    [{ status: ["4xx"] }, { http_status: 429 }, true],
    [{ status: ["5XX"] }, {}, false],
    [{ path: ["cart"] }, {}, true],
    [{ path: ["Cart"] }, {}, false],
    [{ path: ["/shop/*"] }, {}, true],
    [{ path: ["shop/*"] }, {}, false],
    [{ path: ["*id=1"] }, {}, true],
    [{ path: ["/shop*cart*id*"] }, {}, true],
    [{ path: ["/shop*id*cart"] }, {}, false],
    [{ path: ["/a*a"] }, { request_path: "/a" }, false],
    [{ country: ["NL"], status: ["429"] }, {}, false],
  ])("%j on %j: %s", (filter, entry, expected) => {
    expect(passes(filter, entry)).toBe(expected);
  });

  test.each<[Partial<LogFilterTexts>]>([
    [{ country: ["Netherlands"] }],
    [{ reason: [" "] }],
    [{ client: ["192.0.2"] }],
    [{ client: ["192.0.2.0/33"] }],
    [{ status: ["40"] }],
    [{ status: ["600"] }],
    [{ status: ["x"] }],
    [{ path: [""] }],
  ])("%j is rejected, and the error says what to write", (filter) => {
    const [option] = Object.keys(filter);
    expect(() => parseLogFilter({ ...none, ...filter })).toThrow(new RegExp(`^--${option}: write `));
  });

  test("with many wildcards is fast on a long path", () => {
    const request_path = "a".repeat(200_000);
    expect(passes({ path: [`${"*a".repeat(50)}*b`] }, { request_path })).toBe(false);
  });
});
