// The npm scripts that judge wafsync reject wrong options: a typo must not look like a success.
// Long: `npm run test:deploy` runs it.
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { runToEnd } from "../support/control-plane/run-to-end.ts";

const root = join(import.meta.dirname, "../..");
const scripts = { simulate: "scripts/simulate.ts", mutate: "scripts/mutate.ts", bench: "bench/main.ts" } as const;

describe.each(["simulate", "mutate", "bench"] as const)("npm run %s", (name) => {
  const script = join(root, scripts[name]);

  test("--help prints the usage", async () => {
    const { code, stdout, stderr } = await runToEnd(process.execPath, [script, "--help"]);
    expect({ code, stderr }).toStrictEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(new RegExp(`^Usage: npm run ${name} -- \\[options\\]\\n`, "u"));
  });

  test.each(
    {
      simulate: [
        ["--seeds abc", "Write a whole number from 1"],
        ["--seeds 0", "Write a whole number from 1"],
        ["--first 1.5", "Write a whole number from 0"],
        ["--seed x", "Write a whole number from 0"],
        ["--jobs 0", "Write a whole number from 1"],
        ["--failures no", "Write a whole number from 1"],
        ["--seed 1 --seeds 2", "cannot be used with"],
        ["--sedes 5", "unknown option '--sedes'"],
        ["5", "too many arguments"],
      ],
      mutate: [
        ["--jobs 0", "Write a whole number from 1"],
        ["--only no-such-guarantee", `contains "no-such-guarantee"`],
        ["--seeds 5", "unknown option '--seeds'"],
      ],
      bench: [
        ["--only no-such-benchmark", "Allowed choices are serial"],
        ["--seeds 5", "unknown option '--seeds'"],
      ],
    }[name],
  )("%s is an error", async (line, message) => {
    const { code, stdout, stderr } = await runToEnd(process.execPath, [script, ...line.split(" ")]);
    expect({ code, stdout }).toStrictEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^error: [^\n]*\n(?:\(Did you mean [^\n]*\n)?$/u);
    expect(stderr).toContain(message);
  });
});
