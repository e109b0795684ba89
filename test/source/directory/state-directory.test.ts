import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { type FileHandle, open as openFile, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import {
  type StateDirectory,
  openStateDirectory,
  userOfState,
  viewStateDirectory,
} from "../../../src/source/directory/state-directory.ts";
import { scratchDirectory } from "../../support/worlds/scratch-directory.ts";

async function open(path: string, onLost?: () => void): ReturnType<typeof openStateDirectory> {
  return await openStateDirectory({ path, command: "wafsync run", clock: realClock, ...(onLost && { onLost }) });
}

async function opened(path: string, onLost?: () => void): Promise<StateDirectory & AsyncDisposable> {
  const result = await open(path, onLost);
  if (!result.ok) throw new Error(result.problem);
  const { state } = result;
  return Object.assign(state, { [Symbol.asyncDispose]: async () => await state.release() });
}

/** A process that runs until it is killed, or that prints its result to stdout. */
function start(code: string): ReturnType<typeof spawn> {
  const child = spawn(process.execPath, ["--no-warnings", "--input-type=module", "--eval", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.add(child);
  return child;
}

/** Processes that a failed test left running would prevent the test run from ending. */
const children = new Set<ReturnType<typeof spawn>>();
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
});

const openModule = new URL("../../../src/source/directory/state-directory.ts", import.meta.url).href;
const clockModule = new URL("../../../src/async/clock.ts", import.meta.url).href;

/** Opens the state directory, prints the result, and keeps running. */
function opener(path: string): ReturnType<typeof spawn> {
  return start(`
    const { openStateDirectory } = await import(${JSON.stringify(openModule)});
    const { realClock } = await import(${JSON.stringify(clockModule)});
    const result = await openStateDirectory({ path: ${JSON.stringify(path)}, command: "wafsync run", clock: realClock });
    console.log(JSON.stringify({ ok: result.ok, problem: result.problem }));
    setInterval(() => {}, 1000);
  `);
}

async function firstLine(child: ReturnType<typeof spawn>): Promise<{ ok: boolean; problem?: string }> {
  const [chunk] = (await once(child.stdout!, "data")) as [Buffer];
  return JSON.parse(chunk.toString()) as { ok: boolean };
}

async function end(child: ReturnType<typeof spawn>): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

/** Until it is disposed of, flushing a file fails, as on a broken disk. Folders can be flushed. */
async function failingFlushes(code: string): Promise<Disposable> {
  await using anyFile = await openFile(import.meta.filename);
  const handles = Object.getPrototypeOf(anyFile) as FileHandle;
  const own = Object.getOwnPropertyDescriptor(handles, "sync") as TypedPropertyDescriptor<FileHandle["sync"]>;
  handles.sync = async function (this: FileHandle) {
    if ((await this.stat()).isFile()) throw Object.assign(new Error(code), { code });
    await own.value?.call(this);
  };
  return { [Symbol.dispose]: () => void Object.defineProperty(handles, "sync", own) };
}

describe("the state directory", () => {
  test("is created only for its owner, and stores files", async () => {
    await using scratch = await scratchDirectory();
    await using state = await opened(join(scratch.path, "new/state"));
    expect((await stat(state.path)).mode & 0o777).toBe(0o700);
    expect(await state.write(["a", "b.yaml"], "text")).toStrictEqual({ ok: true, value: undefined });
    expect((await stat(state.pathOf(["a", "b.yaml"]))).mode & 0o777).toBe(0o600);
    expect(await state.read(["a", "b.yaml"], 100)).toStrictEqual({ ok: true, value: "text" });
    expect(await state.list(["a"])).toStrictEqual({ ok: true, value: [["a", "b.yaml"]] });
    expect(await state.remove(["a", "b.yaml"])).toStrictEqual({ ok: true, value: undefined });
    expect(await state.read(["a", "b.yaml"], 100)).toStrictEqual({ ok: true, value: undefined });
    expect(await state.list(["nowhere"])).toStrictEqual({ ok: true, value: [] });
  });

  test("excludes itself from Git when it is created, and does not change an existing .gitignore", async () => {
    await using scratch = await scratchDirectory({ "kept/status/x": "" });
    const made = await opened(join(scratch.path, "new/state"));
    expect(await readFile(join(made.path, ".gitignore"), "utf8")).toBe("# Made by wafsync.\n*\n");
    await made.release();
    await using kept = await opened(join(scratch.path, "kept"));
    expect(await readdir(kept.path)).not.toContain(".gitignore");
  });

  describe("does not follow symbolic links", () => {
    test("to the folder itself", async () => {
      await using scratch = await scratchDirectory({ "elsewhere/kept.txt": "kept" });
      for (const target of ["elsewhere", "missing"]) {
        const link = join(scratch.path, `link-to-${target}`);
        await symlink(join(scratch.path, target), link);
        const problem = expect.stringContaining(`${link} is a symbolic link`);
        expect(await open(link)).toStrictEqual({ ok: false, problem });
        expect(await viewStateDirectory(link).read(["kept.txt"], 100)).toMatchObject({ ok: false, problem });
      }
      expect(await readdir(join(scratch.path, "elsewhere"))).toStrictEqual(["kept.txt"]);
    });

    test("to a folder or a file in it, to read, to write, to append or to list", async () => {
      await using scratch = await scratchDirectory({ "elsewhere/main.yaml": "kept", "state/inventory/x": "" });
      const elsewhere = join(scratch.path, "elsewhere");
      await using state = await opened(join(scratch.path, "state"));
      await symlink(elsewhere, state.pathOf(["inventory", "shop"]));
      await symlink(join(elsewhere, "main.yaml"), state.pathOf(["events.ndjson"]));
      const inShop = ["inventory", "shop", "main.yaml"];
      const problem = expect.stringMatching(/(?:shop|events\.ndjson) is a symbolic link/);
      expect(await state.read(inShop, 100)).toMatchObject({ ok: false, problem });
      expect(await state.write(inShop, "changed")).toMatchObject({ ok: false, problem });
      expect(await state.write(["inventory", "shop", "new.yaml"], "new")).toMatchObject({ ok: false, problem });
      expect(await state.remove(inShop)).toMatchObject({ ok: false, problem });
      expect(await state.list(["inventory", "shop"])).toMatchObject({ ok: false, problem });
      expect(await state.append(["events.ndjson"], "line", 100, ["older"])).toMatchObject({ ok: false, problem });
      expect(await state.read(["events.ndjson"], 100)).toMatchObject({ ok: false, problem });
      expect(await readdir(elsewhere)).toStrictEqual(["main.yaml"]);
      expect(await readFile(join(elsewhere, "main.yaml"), "utf8")).toBe("kept");
    });

    test("on the way to it", async () => {
      await using scratch = await scratchDirectory({ "real/x": "" });
      await symlink(join(scratch.path, "real"), join(scratch.path, "home"));
      await using state = await opened(join(scratch.path, "home/state"));
      expect(await state.write(["a"], "text")).toStrictEqual({ ok: true, value: undefined });
    });
  });

  test("creates everything only for its owner, whatever the umask", async () => {
    await using scratch = await scratchDirectory();
    const former = process.umask(0);
    try {
      await using state = await opened(join(scratch.path, "new/state"));
      await state.write(["a", "b", "c.yaml"], "text");
      await state.append(["events.ndjson"], "line\n", 100, ["older"]);
      const entries = await readdir(state.path, { recursive: true });
      const modes = await Promise.all(entries.map(async (entry) => (await stat(join(state.path, entry))).mode & 0o077));
      expect(entries.length).toBeGreaterThan(5);
      expect(new Set(modes)).toStrictEqual(new Set([0]));
      expect((await stat(join(scratch.path, "new"))).mode & 0o077).toBe(0);
    } finally {
      process.umask(former);
    }
  });

  test("refuses files that are too large, and names that lead out of it", async () => {
    await using scratch = await scratchDirectory({ "big.yaml": "12345" });
    await using state = await opened(scratch.path);
    expect(await state.read(["big.yaml"], 4)).toMatchObject({
      ok: false,
      problem: expect.stringContaining("too large"),
    });
    expect(() => state.pathOf([".."])).toThrow(RangeError);
    expect(() => state.pathOf(["a/b"])).toThrow(RangeError);
  });

  test("that is a file, or below one, causes a problem in one sentence", async () => {
    await using scratch = await scratchDirectory({ file: "" });
    for (const path of ["file", "file/below"]) {
      expect(await open(join(scratch.path, path))).toMatchObject({
        ok: false,
        problem: expect.stringMatching(
          /cannot be used: (?:file already exists|not a directory): set --state to a directory that wafsync can write to\.$/,
        ),
      });
    }
  });

  test("causes a problem that names the option for its location if it is not writable", async () => {
    // Nobody can create a folder there, not even root.
    expect(await open("/sys/wafsync")).toStrictEqual({
      ok: false,
      problem: expect.stringMatching(
        /^The state directory \/sys\/wafsync cannot be used: (?:permission denied|operation not permitted): set --state to a directory that wafsync can write to\.$/,
      ),
    });
  });

  test.each(["EIO", "EINVAL"])("keeps the former file if the new one can't be flushed (%s)", async (code) => {
    await using scratch = await scratchDirectory();
    await using state = await opened(scratch.path);
    await state.write(["inventory", "file.yaml"], "former");
    using _flushes = await failingFlushes(code);
    expect(await state.write(["inventory", "file.yaml"], "new")).toMatchObject({
      ok: false,
      problem: expect.stringContaining("file.yaml cannot be written"),
    });
    expect(await state.read(["inventory", "file.yaml"], 100)).toStrictEqual({ ok: true, value: "former" });
    expect(await readdir(join(scratch.path, "inventory"))).toStrictEqual(["file.yaml"]);
  });
});

describe("a state directory that disappears while it is used", () => {
  test.each([
    ["is deleted", async (path: string) => await rm(path, { recursive: true })],
    [
      "is emptied",
      async (path: string) => await Promise.all((await readdir(path)).map((name) => rm(join(path, name)))),
    ],
    ["is moved away", async (path: string) => await rename(path, `${path}-moved`)],
  ])("can't be used any longer if it %s, and says so within a second", async (_, strike) => {
    await using scratch = await scratchDirectory();
    const path = join(scratch.path, "state");
    const { promise: lost, resolve: onLost } = Promise.withResolvers<void>();
    const state = await opened(path, onLost);
    expect(state.lost()).toBeUndefined();
    await strike(path);
    const problem = expect.stringContaining(`The state directory ${path} was deleted while wafsync used it`);
    expect(state.lost()).toStrictEqual(problem);
    expect(await state.read(["record"], 100)).toMatchObject({ ok: false, problem });
    expect(await state.write(["record"], "new")).toMatchObject({ ok: false, problem });
    await lost;
    await using next = await opened(path);
    expect(state.lost()).toStrictEqual(problem);
    await state.release();
    expect(next.lost()).toBeUndefined();
  });

  test("is left to a process in another container that has taken it over", async () => {
    await using scratch = await scratchDirectory();
    const { promise: lost, resolve: onLost } = Promise.withResolvers<void>();
    const state = await opened(scratch.path, onLost);
    await scratch.remove("lock");
    await scratch.write("lock", "another");
    const problem = `The state directory ${scratch.path} is in use by another process, perhaps in another container: stop one of them, and start this one again.`;
    expect(await state.write(["a"], "")).toMatchObject({ ok: false, problem });
    expect(await state.read(["a"], 100)).toMatchObject({ ok: false, problem });
    await lost;
    await state.release();
    expect(await readFile(join(scratch.path, "lock"), "utf8")).toBe("another");
  });
});

describe("the lock of the state directory", () => {
  test("keeps a second process out and names the first, until that is killed", async () => {
    await using scratch = await scratchDirectory();
    const first = opener(scratch.path);
    expect(await firstLine(first)).toStrictEqual({ ok: true });
    expect(await open(scratch.path)).toStrictEqual({
      ok: false,
      isInUse: true,
      problem: `The state directory ${scratch.path} is in use by process ${first.pid} (wafsync run): stop that process, or use a different state directory.`,
    });
    expect(await userOfState(scratch.path, realClock)).toMatchObject({ command: "wafsync run" });
    await end(first);
    expect(await userOfState(scratch.path, realClock)).toBeUndefined();
    await (await opened(scratch.path)).release();
  });

  test("is neither a link nor a pipe, because a repository can contain links to anything", async () => {
    await using scratch = await scratchDirectory();
    const lock = join(scratch.path, "lock");
    await symlink("elsewhere", lock);
    expect(await open(scratch.path)).toMatchObject({ problem: expect.stringContaining(`${lock} is a symbolic link`) });
    await scratch.remove("lock");
    execFileSync("mkfifo", [lock]);
    expect(await open(scratch.path)).toMatchObject({
      problem: expect.stringContaining(`${lock} is not a regular file`),
    });
    expect(await readdir(scratch.path)).toStrictEqual(["lock"]);
  });
});
