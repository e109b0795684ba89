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
import { instanceDocument, ruleDocument, secretDocument, testKey, wafFolder } from "../support/worlds/waf-folder.ts";
import type { WafFolder } from "../support/worlds/waf-folder.ts";

runFaster();

/** Only root can give a file to another user; for others, the owner stays the same anyway. */
const owner = process.getuid?.() === 0 ? 1234 : (process.getuid?.() ?? 0);

/** A folder with removals on hold, whose instance is declared as the test says. */
async function heldFolder(prepare: (folder: WafFolder) => Promise<void>): Promise<WafFolder> {
  const folder = await wafFolder();
  await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses(40) }));
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
  await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses(2) }));
  await prepare(folder);
  return folder;
}

async function approve(folder: WafFolder): Promise<string> {
  const { code, stdout, stderr } = await runWafsync(["approve", ...folder.from, "--yes"]);
  expect([code, stderr]).toStrictEqual([0, ""]);
  expect((await runWafsync(["apply", ...folder.from])).code).toBe(0);
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
    const { code, stderr } = await runWafsync(["approve", ...folder.from, "--yes"]);
    expect([code, stderr]).toStrictEqual([
      2,
      expect.stringMatching(
        /in .*main\.yaml cannot be edited by wafsync\n {2}Add this line to its metadata\.annotations: wafsync\.dev\/approve-removals: "\w+"/,
      ),
    ]);
    expect(await readFile(join(folder.path, "main.yaml"), "utf8")).toBe(before);
  });
});

describe("block and unblock", () => {
  const file = "main-block-192-0-2-7.yaml";

  test("keep the mode and the owner of their file", async () => {
    await using folder = await wafFolder();
    expect((await runWafsync(["block", "192.0.2.7", ...folder.from])).code).toBe(0);
    await chmod(join(folder.path, file), 0o640);
    await chown(join(folder.path, file), owner, owner);
    expect((await runWafsync(["block", "192.0.2.7", "--for", "1h", ...folder.from])).code).toBe(0);
    const { mode, uid } = await stat(join(folder.path, file));
    expect([mode & 0o7777, uid]).toStrictEqual([0o640, owner]);
    expect(await readFile(join(folder.path, file), "utf8")).toContain("expiresAt");
  });

  test.each([
    ["of a kind that wafsync does not know", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\n"],
    ["that is invalid", "apiVersion: wafsync.dev/v1alpha1\nkind: WafIpRule\nmetadata: {name: }\n"],
    ["that is not even YAML", "a: [\n"],
  ])("keep another document in the file, %s", async (_, other) => {
    await using folder = await wafFolder();
    expect((await runWafsync(["block", "192.0.2.7", ...folder.from])).code).toBe(0);
    const text = `${await readFile(join(folder.path, file), "utf8")}---\n${other}`;
    await writeFile(join(folder.path, file), text);
    for (const command of ["unblock", "block"]) {
      const { code, stderr } = await runWafsync([command, "192.0.2.7", ...folder.from]);
      expect([code, stderr]).toStrictEqual([2, expect.stringContaining(`already declared in ${file}, and not only`)]);
      expect(await readFile(join(folder.path, file), "utf8")).toBe(text);
    }
  });

  test("never replace a link", async () => {
    await using folder = await wafFolder();
    await symlink("nowhere.txt", join(folder.path, file));
    const { code, stderr } = await runWafsync(["block", "192.0.2.7", ...folder.from]);
    expect([code, stderr]).toStrictEqual([2, expect.stringMatching(/main-block-192-0-2-7\.yaml.* not a regular file/)]);
    expect((await lstat(join(folder.path, file))).isSymbolicLink()).toBe(true);
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

  test("report keeps the mode and the owner of its file, and follows a link to it", async () => {
    await using world = await logWorld({ now: "2026-06-16T00:00:00Z", logRowsPerDay: 5 });
    await using scratch = await scratchDirectory({ "elsewhere/report.html": "" });
    const [file, out] = [join(scratch.path, "elsewhere/report.html"), join(scratch.path, "report.html")];
    await chmod(file, 0o640);
    await chown(file, owner, owner);
    await symlink(file, out);
    const { code } = await runWafsync(
      [
        "report",
        "--base-url",
        world.simulator.baseUrl,
        "--allow-insecure-http",
        "--since",
        "2026-06-10",
        "--until",
        "2026-06-12",
        "--out",
        out,
      ],
      { environment: { WAFSYNC_API_KEY: logKey } },
    );
    expect(code).toBe(0);
    expect((await lstat(out)).isSymbolicLink()).toBe(true);
    const { mode, uid, size } = await stat(file);
    expect([mode & 0o7777, uid, size > 1000]).toStrictEqual([0o640, owner, true]);
  });
});

test("import keeps the mode and the owner of an empty folder that it fills", async () => {
  await using folder = await wafFolder();
  await using scratch = await scratchDirectory();
  const out = join(scratch.path, "waf");
  await mkdir(out);
  await chmod(out, 0o700);
  await chown(out, owner, owner);
  await symlink(out, join(scratch.path, "link"));
  const { code } = await runWafsync(
    [
      "import",
      "--base-url",
      folder.simulator.baseUrl,
      "--allow-insecure-http",
      "--instance",
      "main",
      "--out",
      join(scratch.path, "link"),
    ],
    { environment: { WAFSYNC_API_KEY: testKey } },
  );
  expect(code).toBe(0);
  const { mode, uid } = await stat(out);
  expect([mode & 0o7777, uid]).toStrictEqual([0o700, owner]);
  expect(await readdir(out)).toContain("main.yaml");
});
