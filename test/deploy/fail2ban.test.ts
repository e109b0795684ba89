// The action of fail2ban: what it runs when an address is banned and unbanned, and the effect on a WAF, with the program that ships.
import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { wafsyncProgram } from "../support/processes/wafsync-process.ts";
import { testKey, wafFolder } from "../support/worlds/waf-folder.ts";

const root = join(import.meta.dirname, "../..");
const execute = promisify(execFile);
const action = join(root, "deploy/fail2ban/action.d/wafsync.conf");

/** The value of a setting, as fail2ban reads it. */
async function setting(name: string): Promise<string> {
  const text = await readFile(action, "utf8");
  return new RegExp(`^${name} = (.*)$`, "mu").exec(text)?.[1] ?? "";
}

function withTags(command: string, tags: Readonly<Record<string, string>>): string {
  const filled = Object.entries(tags).reduce((text, [tag, value]) => text.replaceAll(`<${tag}>`, value), command);
  expect(filled).not.toMatch(/<\w+>/u);
  return filled;
}

describe("The commands of the action, with the program that ships,", () => {
  test("write the rule of an address that is banned, prolong it, and end it on the WAF", async () => {
    await using folder = await wafFolder();
    const waf = folder.simulator.waf(testKey);
    const file = join(folder.path, "main-block-2001-db8-0-0-0-0-0-7.yaml");
    const tags = {
      wafsync: `${process.execPath} ${wafsyncProgram}`,
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
    expect(await folder.run("apply")).toMatchObject({ code: 0 });
    expect(waf.blocklist).toStrictEqual(["2001:db8::7"]);
    await execute("sh", ["-c", withTags(await setting("actionunban"), tags)]);
    expect(waf.blocklist).toStrictEqual([]);
    await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("The commands of the action", () => {
  /** The parameters of wafsync, separated by bars. */
  async function callOf(command: string, tags: Readonly<Record<string, string>>): Promise<string> {
    const all = { wafsync: "printf '%s|'", target: await setting("target"), ...tags };
    return (await execute("sh", ["-c", withTags(command, all)])).stdout;
  }

  test("block for the time of the ban, or without an end", async () => {
    const tags = { ip: "2001:db8::7", failures: "5", name: "nginx-http-auth" };
    const ban = await setting("actionban");
    const rest = "--reason|fail2ban: 5 failures in jail nginx-http-auth|--no-wait|--from|/etc/wafsync|";
    expect(await callOf(ban, { ...tags, bantime: "7200" })).toBe(`block|2001:db8::7|--for|7200s|${rest}`);
    expect(await callOf(ban, { ...tags, bantime: "-1" })).toBe(`block|2001:db8::7|${rest}`);
  });

  test("pass on nothing that an attacker has written", async () => {
    const text = await readFile(action, "utf8");
    const tags = [...text.replaceAll(/^#.*$/gmu, "").matchAll(/<(?<tag>[^>]+)>/gu)].map(
      ({ groups }) => groups?.["tag"],
    );
    expect(new Set(tags)).toStrictEqual(new Set(["bantime", "failures", "ip", "name", "target", "wafsync"]));
  });
});
