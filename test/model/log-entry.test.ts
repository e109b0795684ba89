import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { logTimeMs } from "../../src/model/log-entry.ts";

const timeMs = Date.UTC(2026, 2, 10, 11, 30);
const times: readonly (readonly [string, number | null])[] = [
  ["2026-03-10T11:30:00Z", timeMs],
  ["2026-03-10T11:30:00+00:00", timeMs],
  ["2026-03-10T12:30:00.000+01:00", timeMs],
  ["2026-03-10T11:30:00", timeMs],
  ["2026-03-10T11:30:00.000", timeMs],
  ["2026-03-10T11:30", timeMs],
  ["2026-03-10 11:30:00", timeMs],
  ["2026-03-10", Date.UTC(2026, 2, 10)],
  ["soon", null],
];

// A process reads its time zone once.
test.each(["America/New_York", "Asia/Kolkata", "UTC"])("the time of a row without a zone is in UTC in %s", (zone) => {
  const module = join(import.meta.dirname, "../../src/model/log-entry.ts");
  const program = `import { logTimeMs } from ${JSON.stringify(module)};
    process.stdout.write(JSON.stringify(${JSON.stringify(times.map(([text]) => text))}.map(logTimeMs)));`;
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
    env: { ...process.env, TZ: zone },
    encoding: "utf8",
  });
  expect(JSON.parse(printed)).toStrictEqual(times.map(([, expected]) => expected));
});

test("the time of a row can have a zone", () => {
  expect(logTimeMs("2026-03-10T17:00:00+05:30")).toBe(timeMs);
});
