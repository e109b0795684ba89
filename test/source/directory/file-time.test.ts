import { readdir, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { laterChange, readFileTime, unchangedMs } from "../../../src/source/directory/file-time.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";

const atMs = (ms: number, device = 1n) => ({ device, ns: BigInt(ms) * 1_000_000n });

describe("The time since the last change", () => {
  test("is measured by the clock of the file system", () => {
    expect(unchangedMs(atMs(1_000), atMs(4_500))).toBe(3_500);
  });

  test("is zero if the change is on another file system, unknown, or in the future", () => {
    expect(unchangedMs(atMs(1_000, 2n), atMs(4_500))).toBe(0);
    expect(unchangedMs(undefined, atMs(4_500))).toBe(0);
    expect(unchangedMs(atMs(9_000), atMs(4_500))).toBe(0);
  });

  test("counts from the later of two changes, and is unknown if one of them is", () => {
    expect(laterChange(atMs(1), atMs(2))).toStrictEqual(atMs(2));
    expect(laterChange(atMs(2), atMs(1))).toStrictEqual(atMs(2));
    expect(laterChange(atMs(2), undefined)).toBeUndefined();
    expect(laterChange(undefined, atMs(2))).toBeUndefined();
    expect(laterChange(atMs(1), atMs(2, 2n))).toBeUndefined();
  });
});

describe("The time of a file system", () => {
  test("is that of a temporary file", async () => {
    await using scratch = await scratchDirectory({ "rule.yaml": "" });
    const now = await readFileTime(scratch.path);
    const { dev, ctimeNs } = await stat(join(scratch.path, "rule.yaml"), { bigint: true });
    expect(now?.device).toBe(dev);
    expect(now?.ns ?? 0n).toBeGreaterThanOrEqual(ctimeNs);
    expect(await readdir(scratch.path)).toStrictEqual(["rule.yaml"]);
  });

  test("is unknown if the folder is missing or a symbolic link", async () => {
    await using scratch = await scratchDirectory({});
    expect(await readFileTime(join(scratch.path, "missing"))).toBeUndefined();
    await symlink(scratch.path, join(scratch.path, "link"));
    expect(await readFileTime(join(scratch.path, "link"))).toBeUndefined();
  });
});
