// To an instance, a typo in a reference or in the namespace of an attached object looks like a deletion. Tested with the example
// of a folder, and with the program as users run it.
// Long: `npm run test:deploy` runs it.
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { startSimulator } from "../../src/simulator/start-simulator.ts";
import { runFaster, runWafsync } from "../support/processes/wafsync-process.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";

runFaster();

const examples = join(import.meta.dirname, "../../examples/directory");
const key = "demo-key-0123456789";
const otherKey = "another-key-0123456789";
const scanners = ["192.0.2.17", "192.0.2.64/29", "2001:db8:bad::/48"];

/** The example, applied once. */
async function appliedExample() {
  const simulator = await startSimulator({
    keys: [
      { key, domain: "www.example.com" },
      { key: otherKey, domain: "blog.example.com" },
    ],
  });
  const files = await scratchDirectory({});
  await cp(examples, files.path, { recursive: true });
  const edit = async (file: string, from: string | RegExp, to: string): Promise<void> => {
    const path = join(files.path, file);
    await writeFile(path, (await readFile(path, "utf8")).replace(from, to));
  };
  for (const file of await readdir(files.path)) await edit(file, "http://127.0.0.1:8080", simulator.baseUrl);
  const from = ["-f", files.path, "--allow-insecure-http"];
  expect((await runWafsync(["apply", ...from])).code).toBe(0);
  return {
    waf: simulator.waf(key),
    otherWaf: simulator.waf(otherKey),
    baseUrl: simulator.baseUrl,
    edit,
    run: async (command: "plan" | "apply", ...more: string[]) => await runWafsync([command, ...from, ...more]),
    async [Symbol.asyncDispose]() {
      await simulator.close();
      await files[Symbol.asyncDispose]();
    },
  };
}

type Example = Awaited<ReturnType<typeof appliedExample>>;

function expectBlocked({ waf }: Example): void {
  expect(waf.blocklist).toHaveLength(37);
  expect(waf.blocklist).toStrictEqual(expect.arrayContaining(scanners));
}

test.each([
  ["spec.instanceRef.name", /(instanceRef:\n {4}name:) shop/, "$1 shpo", "shop/scanners", "did you mean shop?"],
  [
    "spec.instanceRef.namespace",
    /(instanceRef:\n)/,
    "$1    namespace: shpo\n",
    "shop/scanners",
    "name it in spec.instanceRef.namespace",
  ],
  ["metadata.namespace", "namespace: shop", "namespace: shpo", "shpo/scanners", "It may be WafIpRule shop/scanners"],
])("a typo in %s keeps the rule's entries, and says what to correct", async (_, from, to, name, hint) => {
  await using example = await appliedExample();
  await example.edit("scanners.yaml", from, to);
  const planned = await example.run("plan");
  expect(planned.code).toBe(2);
  expect(planned.stdout).toContain("wafsync keeps 3 entries on the blocklist");
  const applied = await example.run("apply");
  expect(applied.code).toBe(2);
  expect(applied.stdout).toMatch(
    /keeps 3 entries on the blocklist \(.*\), last declared by WafIpRule shop\/scanners: /,
  );
  expect(applied.stdout).toContain(`WafIpRule ${name} (scanners.yaml:`);
  expect(applied.stdout).toContain(hint);
  expectBlocked(example);

  await example.edit("scanners.yaml", /namespace: shpo/, "namespace: shop");
  await example.edit("scanners.yaml", "name: shpo", "name: shop");
  expect((await example.run("apply")).code).toBe(0);
  expectBlocked(example);
});

test("what a broken reference keeps goes when the object is deleted, including origins", async () => {
  await using example = await appliedExample();
  await example.edit("scanners.yaml", /(instanceRef:\n {4}name:) shop/, "$1 shpo");
  await example.edit("origins.yaml", /(instanceRef:\n {4}name:) shop/, "$1 shpo");
  const planned = await example.run("plan");
  expect(planned.stdout).toContain("1 more stays for 1 other reason.");
  expect(planned.stdout).toContain("To let them go, delete WafIpRule shop/scanners.");
  await example.run("apply");
  expect(example.waf.origins).toHaveLength(1);
  expectBlocked(example);

  await example.edit("scanners.yaml", /[^]*/, "");
  await example.edit("origins.yaml", /[^]*/, "");
  await example.run("apply");
  expect(example.waf.blocklist).toHaveLength(34);
  expect(example.waf.origins).toStrictEqual([]);
});
