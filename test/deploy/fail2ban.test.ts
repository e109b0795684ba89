// The action of fail2ban: what it runs when an address is banned and unbanned, and the effect on a WAF, with the program
// that ships, and with the real fail2ban where it is installed. Its folder of settings is looked for next to it, so that a
// package that was only unpacked will do.
import { execFile, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { watch } from "node:fs";
import { chmod, cp, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { waitFor } from "../support/builders/cluster-objects.ts";
import { builtProgram } from "../support/processes/built-program.ts";
import { describeWithProgram } from "../support/processes/describe-with-program.ts";
import { runWafsync, startWafsync } from "../support/processes/wafsync-process.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import type { ScratchDirectory } from "../support/worlds/scratch-directory.ts";
import { testKey, wafFolder } from "../support/worlds/waf-folder.ts";
import type { WafFolder } from "../support/worlds/waf-folder.ts";

const root = join(import.meta.dirname, "../..");
const execute = promisify(execFile);
const appliedMs = 30_000;
const action = join(root, "deploy/fail2ban/action.d/wafsync.conf");

/** In place of wafsync: writes down its parameters, one line a call, separated by bars. */
const recorder = `#!/bin/sh
line=; for parameter in "$@"; do line="$line|$parameter"; done; echo "$line" >> "$(dirname "$0")/calls.txt"
`;

/** The value of a setting, as fail2ban reads it. */
async function setting(name: string): Promise<string> {
  const text = await readFile(action, "utf8");
  return new RegExp(`^${name} = (.*)$`, "mu").exec(text)?.[1] ?? "";
}

/** In place of wafsync: writes its parameters down, and calls it. */
function recordingProgram(program: string): string {
  return `${recorder}exec ${process.execPath} ${program} "$@"\n`;
}

function withTags(command: string, tags: Readonly<Record<string, string>>): string {
  const filled = Object.entries(tags).reduce((text, [tag, value]) => text.replaceAll(`<${tag}>`, value), command);
  expect(filled).not.toMatch(/<\w+>/u);
  return filled;
}

describe("The commands of the action, with the program that ships,", () => {
  const program = builtProgram();

  test("write the rule of an address that is banned, prolong it, and end it on the WAF", async () => {
    await using folder = await wafFolder();
    const waf = folder.simulator.waf(testKey);
    const file = join(folder.path, "main-block-2001-db8-0-0-0-0-0-7.yaml");
    const tags = {
      wafsync: `${process.execPath} ${program()}`,
      target: `${folder.from.slice(0, 2).join(" ")} --allow-insecure-http --instance shop/main`,
      ip: "2001:db8::7",
      failures: "5",
      name: "nginx-http-auth",
      bantime: "7200",
    };
    const endOfRule = async (): Promise<number> => {
      const { spec } = parse(await readFile(file, "utf8")) as { spec: { expiresAt: string } };
      return Date.parse(spec.expiresAt);
    };
    const ban = (await setting("actionban")).trim();
    expect(await setting("actionprolong")).toBe("%(actionban)s");
    await execute("sh", ["-c", withTags(ban, tags)]);
    const end = await endOfRule();
    await execute("sh", ["-c", withTags(ban, { ...tags, bantime: "14400" })]);
    expect((await endOfRule()) - end).toBeGreaterThan(7_000_000);
    expect(waf.blocklist).toStrictEqual([]);
    expect(await runWafsync(["apply", ...folder.from], { program: program() })).toMatchObject({ code: 0 });
    expect(waf.blocklist).toStrictEqual(["2001:db8::7"]);
    await execute("sh", ["-c", withTags(await setting("actionunban"), tags)]);
    expect(waf.blocklist).toStrictEqual([]);
    await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("The commands of the action", () => {
  let scratch: ScratchDirectory;

  beforeAll(async () => {
    scratch = await scratchDirectory({ wafsync: recorder });
    await chmod(join(scratch.path, "wafsync"), 0o755);
  });

  afterAll(async () => {
    await scratch[Symbol.asyncDispose]();
  });

  async function callOf(command: string, tags: Readonly<Record<string, string>>): Promise<string> {
    const all = { wafsync: join(scratch.path, "wafsync"), target: await setting("target"), ...tags };
    await execute("sh", ["-c", withTags(command, all)]);
    const calls = await readFile(join(scratch.path, "calls.txt"), "utf8");
    return calls.trimEnd().split("\n").at(-1) ?? "";
  }

  test("block for the time of the ban, or without an end", async () => {
    const tags = { ip: "2001:db8::7", failures: "5", name: "nginx-http-auth" };
    const ban = await setting("actionban");
    const rest = "--reason|fail2ban: 5 failures in jail nginx-http-auth|--no-wait|--from|/etc/wafsync";
    expect(await callOf(ban, { ...tags, bantime: "7200" })).toBe(`|block|2001:db8::7|--for|7200s|${rest}`);
    expect(await callOf(ban, { ...tags, bantime: "-1" })).toBe(`|block|2001:db8::7|${rest}`);
  });

  test("unblock", async () => {
    expect(await callOf(await setting("actionunban"), { ip: "192.0.2.1" })).toBe(
      "|unblock|192.0.2.1|--from|/etc/wafsync",
    );
  });

  test("pass on nothing that an attacker has written", async () => {
    const text = await readFile(action, "utf8");
    const tags = [...text.replaceAll(/^#.*$/gmu, "").matchAll(/<(?<tag>[^>]+)>/gu)].map(
      ({ groups }) => groups?.["tag"],
    );
    expect(new Set(tags)).toStrictEqual(new Set(["bantime", "failures", "ip", "name", "target", "wafsync"]));
  });
});

describeWithProgram("fail2ban-server", "fail2ban itself", (server) => {
  const program = builtProgram();
  let scratch: ScratchDirectory;
  let folder: WafFolder;
  let target: readonly string[] = [];
  let running: ChildProcess | undefined;
  const inScratch = (name: string): string => join(scratch.path, name);
  const client = async (...parameters: string[]): Promise<string> => {
    const where = ["-c", inScratch("config"), "-s", inScratch("socket"), "-p", inScratch("pid")];
    return (await execute(join(server, "../fail2ban-client"), [...where, ...parameters])).stdout;
  };

  beforeAll(async () => {
    scratch = await scratchDirectory({ "site.log": "", wafsync: recordingProgram(program()), "calls.txt": "" });
    folder = await wafFolder();
    target = [...folder.from, "--instance", "shop/main"];
    await chmod(inScratch("wafsync"), 0o755);
    await cp(join(server, "../../../etc/fail2ban"), inScratch("config"), { recursive: true, dereference: true });
    await cp(action, inScratch("config/action.d/wafsync.conf"));
    // The server of the system may have jails and bans: only this jail is started, and nothing is remembered.
    await scratch.write("config/fail2ban.local", "[Definition]\ndbfile = None\n");
    await scratch.write("config/jail.local", "[DEFAULT]\nenabled = false\n");
    await scratch.write(
      "config/jail.d/defaults-debian.conf",
      `[site]
enabled = true
backend = polling
logpath = ${inScratch("site.log")}
filter =
failregex = ^denied <HOST>$
datepattern = {NONE}
maxretry = 2
bantime = 2h
action = wafsync[wafsync="${inScratch("wafsync")}", target="${target.join(" ")}"]
`,
    );
  });

  afterAll(async () => {
    running?.kill("SIGTERM");
    await folder[Symbol.asyncDispose]();
    await scratch[Symbol.asyncDispose]();
  });

  /** What it finds, as soon as a file of the scratch folder has changed so that it finds something. */
  async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const check = (): void => {
      look().then((found) => {
        if (found !== undefined) resolve(found);
      }, reject);
    };
    const watcher = watch(scratch.path, check);
    check();
    return await promise.finally(() => watcher.close());
  }

  /** The different calls of wafsync, once there are that many. fail2ban may repeat a command, which has to change nothing. */
  async function calls(count: number): Promise<readonly string[]> {
    return await until(async () => {
      const lines = (await readFile(inScratch("calls.txt"), "utf8")).split("\n").slice(0, -1);
      const different = [...new Set(lines)];
      return different.length >= count ? different : undefined;
    });
  }

  test("reads the action and the example of a jail", async () => {
    await cp(join(root, "deploy/fail2ban/jail.d/wafsync.conf"), inScratch("config/jail.d/wafsync.conf"));
    const dumped = await client("-d");
    await scratch.remove("config/jail.d/wafsync.conf");
    expect(dumped).toContain("['add', 'nginx-http-auth', 'auto']");
    expect(dumped).toContain("['set', 'nginx-http-auth', 'addaction', 'wafsync']");
    expect(dumped).toContain("--from /etc/wafsync --instance shop/shop");
  });

  test("blocks and unblocks by it on a WAF, and leaves everything blocked when it stops", async () => {
    const words = target.join("|");
    const waf = folder.simulator.waf(testKey);
    const following = startWafsync(["run", ...folder.from], { program: program() });
    await following.hasPrinted(/Watching/u);
    const where = ["-c", inScratch("config"), "-s", inScratch("socket"), "-p", inScratch("pid")];
    running = spawn(server, [...where, "-f", "--logtarget", inScratch("f2b.log"), "start"], { stdio: "ignore" });
    const ended = new Promise((resolve) => running?.once("close", resolve));
    await until(async () => await stat(inScratch("socket")).catch(() => undefined));
    await client("set", "site", "banip", "192.0.2.1");
    await client("set", "site", "banip", "2001:db8::7");
    expect((await calls(2)).toSorted()).toStrictEqual([
      `|block|192.0.2.1|--for|7200s|--reason|fail2ban: 0 failures in jail site|--no-wait|${words}`,
      `|block|2001:db8::7|--for|7200s|--reason|fail2ban: 0 failures in jail site|--no-wait|${words}`,
    ]);
    await scratch.write("site.log", "denied 198.51.100.9\ndenied 198.51.100.9\n");
    expect((await calls(3)).at(-1)).toBe(
      `|block|198.51.100.9|--for|7200s|--reason|fail2ban: 2 failures in jail site|--no-wait|${words}`,
    );
    const all = ["192.0.2.1", "198.51.100.9", "2001:db8::7"];
    await waitFor("the blocks", appliedMs, async () =>
      waf.blocklist.toSorted().join() === all.join() ? true : undefined,
    );
    await client("set", "site", "unbanip", "192.0.2.1");
    expect((await calls(4)).at(-1)).toBe(`|unblock|192.0.2.1|${words}`);
    await waitFor("the end of a block", appliedMs, async () => (waf.has("blocklist", "192.0.2.1") ? undefined : true));
    await client("stop");
    await ended;
    expect(await calls(4)).toHaveLength(4);
    following.child.kill("SIGTERM");
    await following.ended;
    expect(waf.blocklist.toSorted()).toStrictEqual(all.slice(1));
  });
});
