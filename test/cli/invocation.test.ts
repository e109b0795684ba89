import { describe, expect, test } from "@jest/globals";
import { callOf, examplesAs } from "../../src/cli/program.ts";

/** The arguments from Node.js, or from the single executable, which passes the path of the program twice. */
function call(script: string, words: readonly string[], isExecutable = false) {
  const execPath = isExecutable ? "/opt/wafsync" : "/usr/bin/node";
  const argv = [execPath, isExecutable ? execPath : script, ...words];
  return callOf({ argv, argv0: isExecutable ? script : "node", execPath });
}

describe.each([false, true])("A program (single executable: %s)", (isExecutable) => {
  test.each([
    ["/usr/local/bin/wafsync", "wafsync"],
    ["/opt/wafsync/wafsync.mjs", "wafsync"],
    ["wafsync", "wafsync"],
    ["/home/ana/.krew/bin/kubectl-wafsync", "kubectl wafsync"],
    ["kubectl-wafsync", "kubectl wafsync"],
  ])("that is invoked as %s calls itself `%s`", (script, name) => {
    expect(call(script, ["plan", "-f", "waf"], isExecutable)).toStrictEqual({
      name,
      completes: false,
      words: ["plan", "-f", "waf"],
    });
  });

  test("completes for kubectl under the name that kubectl expects, and for shells with a hidden command", () => {
    const words = ["plan", "--fr"];
    const expected = { completes: true, words };
    expect(call("/bin/kubectl_complete-wafsync", words, isExecutable)).toMatchObject(expected);
    expect(call("/bin/wafsync", ["__complete", "--", ...words], isExecutable)).toMatchObject(expected);
    expect(call("/bin/wafsync", ["__complete", ...words], isExecutable)).toMatchObject(expected);
  });
});

test("The examples of a help text use the name of the plugin, and nothing else changes", () => {
  const help = "Keeps wafsync plan.\n  $ A=1 wafsync plan -f /var/lib/wafsync -o json | jq && wafsync  apply waf\n";
  expect(examplesAs("wafsync", help)).toBe(help);
  expect(examplesAs("kubectl wafsync", help)).toBe(
    "Keeps wafsync plan.\n  $ A=1 kubectl wafsync plan -f /var/lib/wafsync -o json | jq && kubectl wafsync apply waf\n",
  );
});
