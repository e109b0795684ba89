// Files of the user that a command rewrites keep their mode, owner and links, and everything else that is in them.
import { execFileSync } from "node:child_process";
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  readFile,
  readdir,
  rename,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { addresses } from "../support/builders/declare.ts";
import { logKey, logWorld } from "../support/worlds/log-world.ts";
import { runFaster, runWafsync } from "../support/processes/wafsync-process.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import {
  instanceDocument,
  ruleDocument,
  secretDocument,
  testKey,
  wafFolder,
  type WafFolder,
} from "../support/worlds/waf-folder.ts";

runFaster();

/** Only root can give a file to another user; for others, the owner stays the same anyway. */
const owner = process.getuid?.() === 0 ? 1234 : (process.getuid?.() ?? 0);

/** A folder with removals on hold, whose instance is declared as the test says. */
async function heldFolder(prepare: (folder: WafFolder) => Promise<void>): Promise<WafFolder> {
  const folder = await wafFolder();
  await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses(40) }));
  expect((await folder.run("apply")).code).toBe(0);
  await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses(2) }));
  await prepare(folder);
  return folder;
}

async function approve(folder: WafFolder): Promise<string> {
  const { code, stdout, stderr } = await folder.run("approve --yes");
  expect([code, stderr]).toStrictEqual([0, ""]);
  expect((await folder.run("apply")).code).toBe(0);
  expect(folder.simulator.waf(testKey).blocklist).toHaveLength(2);
  return stdout;
}

describe("approve", () => {
  test("keeps the mode and the owner of a file that only its owner may read", async () => {
    await using folder = await heldFolder(async ({ path, simulator }) => {
      const both = instanceDocument(simulator.baseUrl) + secretDocument();
      await writeFile(join(path, "main.yaml"), both);
      await writeFile(join(path, "secret.yaml"), "");
      await chmod(join(path, "main.yaml"), 0o600);
      await chown(join(path, "main.yaml"), owner, owner);
    });
    await approve(folder);
    const { mode, uid } = await stat(join(folder.path, "main.yaml"));
    expect([mode & 0o7777, uid]).toStrictEqual([0o600, owner]);
  });

  test("changes the target of a link, and the file behind all its names", async () => {
    await using folder = await heldFolder(async ({ path }) => {
      await mkdir(join(path, ".files"));
      await rename(join(path, "main.yaml"), join(path, ".files/main.yaml"));
      await link(join(path, ".files/main.yaml"), join(path, ".files/other-name"));
      await symlink(".files/main.yaml", join(path, "main.yaml"));
    });
    await approve(folder);
    expect((await lstat(join(folder.path, "main.yaml"))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(folder.path, ".files/other-name"), "utf8")).toContain("approve-removals");
    expect(await readdir(join(folder.path, ".files"))).toStrictEqual(["main.yaml", "other-name"]);
  });

  test("says what to add if the annotations are an alias, and writes nothing", async () => {
    await using folder = await heldFolder(async ({ path, simulator }) => {
      const shared =
        'metadata:\n  labels: &shared {team: "shop"}\n  annotations: *shared\n  name: main\n  namespace: shop';
      await writeFile(join(path, "main.yaml"), instanceDocument(simulator.baseUrl).replace(/metadata: .*/, shared));
    });
    const before = await readFile(join(folder.path, "main.yaml"), "utf8");
    const { code, stderr } = await folder.run("approve --yes");
    expect([code, stderr]).toStrictEqual([
      2,
      expect.stringMatching(
        /in .*main\.yaml cannot be edited by wafsync\n {2}Add this line to its metadata\.annotations: wafsync\.dev\/approve-removals: "\w+"/,
      ),
    ]);
    expect(await readFile(join(folder.path, "main.yaml"), "utf8")).toBe(before);
  });
});

describe("report and logs", () => {
  test.each(["report", "logs"])(
    "%s --out replaces neither a pipe nor a device, and does not wait for a reader",
    async (command) => {
      await using world = await logWorld({ now: "2026-06-16T00:00:00Z", logRowsPerDay: 5 });
      await using scratch = await scratchDirectory();
      const pipe = join(scratch.path, "pipe");
      execFileSync("mkfifo", [pipe]);
      for (const out of [pipe, "/dev/null"]) {
        const { code, stderr } = await runWafsync(
          [
            command,
            "--base-url",
            world.simulator.baseUrl,
            "--allow-insecure-http",
            "--since",
            "2026-06-10",
            "--out",
            out,
          ],
          { environment: { WAFSYNC_API_KEY: logKey } },
        );
        expect([code, stderr]).toStrictEqual([
          2,
          expect.stringContaining(`${out} cannot be written: it is not a regular file`),
        ]);
      }
      expect((await lstat(pipe)).isFIFO()).toBe(true);
      expect((await lstat("/dev/null")).isCharacterDevice()).toBe(true);
      expect(await readdir(scratch.path)).toStrictEqual(["pipe"]);
    },
  );
});
