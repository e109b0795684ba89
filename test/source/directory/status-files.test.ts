import { execFileSync } from "node:child_process";
import { appendFile, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import type { ResourceRef } from "../../../src/model/resource.ts";
import { openStateDirectory, viewStateDirectory } from "../../../src/source/directory/state-directory.ts";
import {
  StatusFiles,
  eventsBytesMax,
  readStatusFile,
  statusBytesMax,
} from "../../../src/source/directory/status-files.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";

const rule: ResourceRef = { kind: "WafIpRule", namespace: "shop", name: "office" };

interface Opened extends AsyncDisposable {
  readonly path: string;
  readonly status: StatusFiles;
  readonly problems: string[];
  reopen(): StatusFiles;
}

async function openStatus(): Promise<Opened> {
  const scratch = await scratchDirectory();
  const opened = await openStateDirectory({ path: scratch.path, command: "wafsync run", clock: realClock });
  if (!opened.ok) throw new Error(opened.problem);
  const { state } = opened;
  const problems: string[] = [];
  const clock = { ...realClock, nowMs: () => 0 };
  const reopen = (): StatusFiles => new StatusFiles({ state, clock, onProblem: (problem) => problems.push(problem) });
  return {
    path: scratch.path,
    status: reopen(),
    problems,
    reopen,
    async [Symbol.asyncDispose]() {
      await state.release();
      await scratch[Symbol.asyncDispose]();
    },
  };
}

describe("status in files", () => {
  test("is YAML below kind and namespace, and is read again by the next process", async () => {
    await using files = await openStatus();
    expect(files.status.read(rule)).toBeUndefined();
    await files.status.write(rule, { progress: "1/2", left: undefined });
    const path = join(files.path, "status/WafIpRule/shop/office.yaml");
    expect(await readFile(path, "utf8")).toBe(
      "kind: WafIpRule\nmetadata:\n  namespace: shop\n  name: office\nstatus:\n  progress: 1/2\n",
    );
    expect(files.status.read(rule)).toStrictEqual({ progress: "1/2" });
    expect(files.reopen().read(rule)).toStrictEqual({ progress: "1/2" });
  });

  const lists = ["rejected: [null]", "rejected: [[]]", "sources: [7]"];
  test.each(["[null]", "[1]", "[[]]", "{}", "text"].map((text) => `conditions: ${text}`).concat(lists))(
    "with the damaged list %s counts as missing",
    async (text) => {
      await using files = await openStatus();
      await files.status.write(rule, { conditions: [] });
      await writeFile(join(files.path, "status/WafIpRule/shop/office.yaml"), `status: {${text}}\n`);
      expect(files.reopen().read(rule)).toBeUndefined();
    },
  );

  test.each(["status", "status/WafIpRule", "status/WafIpRule/shop", "status/WafIpRule/shop/office.yaml"])(
    "counts as missing if %s is a link, because a repository can contain links",
    async (link) => {
      await using files = await openStatus();
      await files.status.write(rule, { progress: "1/2" });
      const path = join(files.path, link);
      await rename(path, `${files.path}/moved`);
      await symlink(`${files.path}/moved`, path);
      expect(files.reopen().read(rule)).toBeUndefined();
      expect(readStatusFile(viewStateDirectory(files.path), rule)).toBeUndefined();
    },
  );

  test("counts as missing if it is a pipe or too large, and is never waited for", async () => {
    await using files = await openStatus();
    await files.status.write(rule, { progress: "1/2" });
    const path = join(files.path, "status/WafIpRule/shop/office.yaml");
    const text = await readFile(path, "utf8");
    await writeFile(path, `${text}${"#".repeat(statusBytesMax - text.length)}`);
    expect(files.reopen().read(rule)).toStrictEqual({ progress: "1/2" });
    await appendFile(path, "#");
    expect(files.reopen().read(rule)).toBeUndefined();
    await rm(path);
    execFileSync("mkfifo", [path]);
    expect(files.reopen().read(rule)).toBeUndefined();
  });

  test("from another writer is shown without terminal control characters", async () => {
    await using files = await openStatus();
    await files.status.write(rule, {
      rejected: [{ entry: "1\u001b[8m2", source: "spec.addresses[0]", message: "a\u202eb" }],
      trigger: "1\u001b[31m",
    });
    expect(readStatusFile(viewStateDirectory(files.path), rule)).toStrictEqual({
      rejected: [{ entry: String.raw`1\u001b[8m2`, source: "spec.addresses[0]", message: String.raw`a\u202eb` }],
      trigger: String.raw`1\u001b[31m`,
    });
    expect(files.reopen().read(rule)).toMatchObject({ trigger: "1\u001b[31m" });
  });

  test("of objects that no longer exist is removed", async () => {
    await using files = await openStatus();
    const other = { ...rule, name: "other" };
    await files.status.write(rule, { a: 1 });
    await files.status.write(other, { a: 1 });
    await files.status.keepOnly([other]);
    expect(files.status.read(rule)).toBeUndefined();
    expect(files.reopen().read(rule)).toBeUndefined();
    expect(files.reopen().read(other)).toStrictEqual({ a: 1 });
  });
});

describe("events in a file", () => {
  test("never take more than twice their limit of the disk", async () => {
    await using files = await openStatus();
    const message = "x".repeat(100_000);
    for (let count = 0; count < 30; count += 1) {
      files.status.event(rule, { type: "Normal", reason: "Synced", message });
      await files.status.flush();
    }
    expect((await stat(join(files.path, "events.ndjson"))).size).toBeLessThanOrEqual(eventsBytesMax);
    expect((await stat(join(files.path, "events.1.ndjson"))).size).toBeLessThanOrEqual(eventsBytesMax);
  });
});
