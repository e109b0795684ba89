// Node.js runs the code in this folder, so each test checks whether another user could have put it there.
import { chmod, chown, mkdir, readdir, realpath, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { compileCacheFolder } from "../../src/cli/compile-cache.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import type { ScratchDirectory } from "../support/worlds/scratch-directory.ts";

const user = process.geteuid?.() ?? 0;

interface Home extends ScratchDirectory {
  readonly program: string;
  /** The path of `.cache`, which does not exist at first. */
  readonly cacheHome: string;
}

async function homeFolder(): Promise<Home> {
  const scratch = await scratchDirectory({ "wafsync.mjs": "" });
  return { ...scratch, program: join(scratch.path, "wafsync.mjs"), cacheHome: join(scratch.path, ".cache") };
}

describe("the folder for compiled code", () => {
  test("is created for this user only, and is the same in the next run", async () => {
    await using home = await homeFolder();
    const folder = compileCacheFolder(home.program, home.cacheHome, user);
    expect(folder).toMatch(new RegExp(`^${await realpath(home.cacheHome)}/wafsync/compiled-code/[0-9a-z]+$`, "u"));
    expect((await stat(folder ?? "")).mode & 0o777).toBe(0o700);
    expect(compileCacheFolder(home.program, home.cacheHome, user)).toBe(folder);
  });

  test("is a path without symbolic links, whose targets could change after the check", async () => {
    await using home = await homeFolder();
    await mkdir(join(home.path, "large-disk"));
    await symlink(join(home.path, "large-disk"), home.cacheHome);
    const folder = compileCacheFolder(home.program, home.cacheHome, user);
    expect(folder).toContain(join(await realpath(home.path), "large-disk", "wafsync"));
  });

  const places = [".", ".cache", ".cache/wafsync", ".cache/wafsync/compiled-code"];

  test.each(places)("is not used if other users can write to %s", async (place) => {
    await using home = await homeFolder();
    compileCacheFolder(home.program, home.cacheHome, user);
    for (const mode of [0o777, 0o770, 0o702]) {
      await chmod(join(home.path, place), mode);
      expect(compileCacheFolder(home.program, home.cacheHome, user)).toBeUndefined();
    }
    await chmod(join(home.path, place), 0o700);
    expect(compileCacheFolder(home.program, home.cacheHome, user)).toBeDefined();
  });

  test("is not used if other users could write to it when it was created", async () => {
    await using home = await homeFolder();
    const folder = compileCacheFolder(home.program, home.cacheHome, user) ?? "";
    await chmod(folder, 0o777);
    expect(compileCacheFolder(home.program, home.cacheHome, user)).toBeUndefined();
  });

  test.each(places.slice(1))(
    "is not used if %s is a symbolic link to a folder that others can write to",
    async (place) => {
      await using home = await homeFolder();
      compileCacheFolder(home.program, home.cacheHome, user);
      await mkdir(join(home.path, "open"));
      await chmod(join(home.path, "open"), 0o777);
      await rm(join(home.path, place), { recursive: true });
      await symlink(join(home.path, "open"), join(home.path, place));
      expect(compileCacheFolder(home.program, home.cacheHome, user)).toBeUndefined();
      expect(await readdir(join(home.path, "open"))).toStrictEqual([]);
    },
  );

  test("is not created in the home folder of another user, which `sudo` may pass on", async () => {
    await using home = await homeFolder();
    // Root can change the owner of the folder; a test without root pretends to be another user.
    if (user === 0) await chown(home.path, 12_345, 12_345);
    const claimed = user === 0 ? user : user + 1;
    expect(compileCacheFolder(home.program, home.cacheHome, claimed)).toBeUndefined();
    expect(await readdir(home.path)).toStrictEqual(["wafsync.mjs"]);
  });

  test("is never below the working directory", async () => {
    await using home = await homeFolder();
    expect(compileCacheFolder(home.program, ".cache", user)).toBeUndefined();
  });

  test("exists once per build, and the latest four are kept", async () => {
    await using home = await homeFolder();
    const made: string[] = [];
    for (let build = 1; build <= 6; build += 1) {
      await writeFile(home.program, "");
      await utimes(home.program, build, build);
      const folder = compileCacheFolder(home.program, home.cacheHome, user) ?? "";
      await utimes(folder, build, build);
      made.push(folder);
    }
    const kept = await readdir(join(await realpath(home.cacheHome), "wafsync", "compiled-code"));
    expect(new Set(made).size).toBe(6);
    expect(kept.length).toBe(4);
    expect(made.slice(2).map((folder) => folder.split("/").at(-1))).toStrictEqual(expect.arrayContaining(kept));
  });
});
