import { execFileSync } from "node:child_process";
import { chmod, link, readFile, readdir, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { writeUserFile } from "../../../src/source/directory/atomic-file.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";

describe("A file of the user", () => {
  test("that exists keeps its mode, and a new one gets the given mode", async () => {
    await using scratch = await scratchDirectory({ file: "before" });
    const [file, other] = [join(scratch.path, "file"), join(scratch.path, "new")];
    await chmod(file, 0o640);
    await writeUserFile(file, "after", 0o600);
    await writeUserFile(other, "after", 0o600);
    expect(await readFile(file, "utf8")).toBe("after");
    expect([(await stat(file)).mode & 0o777, (await stat(other)).mode & 0o777]).toStrictEqual([0o640, 0o600]);
    expect(await readdir(scratch.path)).toStrictEqual(["file", "new"]);
  });

  test("keeps its other name, even if it becomes shorter", async () => {
    await using scratch = await scratchDirectory({ file: "a long text" });
    const [file, other] = [join(scratch.path, "file"), join(scratch.path, "other")];
    await link(file, other);
    await writeUserFile(file, "short", 0o600);
    expect(await readFile(other, "utf8")).toBe("short");
  });

  test("is neither a pipe nor a link to nothing", async () => {
    await using scratch = await scratchDirectory();
    const [pipe, dangling] = [join(scratch.path, "pipe"), join(scratch.path, "dangling")];
    execFileSync("mkfifo", [pipe]);
    await symlink("nowhere", dangling);
    for (const path of [pipe, dangling]) {
      await expect(writeUserFile(path, "", 0o600)).rejects.toThrow(
        `${path} cannot be written: it is not a regular file`,
      );
    }
    expect(await readdir(scratch.path)).toStrictEqual(["dangling", "pipe"]);
  });
});
