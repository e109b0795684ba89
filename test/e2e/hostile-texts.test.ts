// No string of a WAF, or of the author of a folder, can control the terminal or the pipeline in which wafsync runs.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Entry } from "../../src/address/entry.ts";
import { writeOwners } from "../../src/model/entry-owners.ts";
import { emptyInventory } from "../../src/model/inventory.ts";
import { encodeInventory } from "../../src/records/inventory-text.ts";
import { anOwnedEntry } from "../support/builders/owned.ts";
import { startScriptedWaf } from "../support/fakes/scripted-waf.ts";
import type { ScriptedServer } from "../support/fakes/scripted-server.ts";
import { anEntry } from "../support/builders/log-entry.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import {
  configMapDocument,
  instanceDocument,
  ruleDocument,
  secretDocument,
  testKey,
} from "../support/worlds/waf-folder.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";

const escape = "\u001b";
const hostile = `x${escape}]0;title\u0007${escape}[8m\u009b2J\u202e\u2066\r\n::stop-commands::token\u2028\u200b##[error]x`;
/** Invisible characters except line breaks, and commands of pipelines: `::` only at the start of a line, `##[` anywhere. */
const harmful = /(?![\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|^::|##(?:\[|vso\[)/mu;

let waf: ScriptedServer;
/** The WAF's responses to reads of lists, and to all writes. */
let list: readonly string[] = [];
let message = "done";
let domain = "shop.example";
const blockedRequest = {
  ...anEntry({ timestamp: new Date().toISOString(), client_ip: "192.0.2.9", request_path: hostile }),
  http_method: hostile,
  block_reason: hostile,
};

beforeAll(async () => {
  waf = await startScriptedWaf((request, response) => {
    const isList = request.method === "GET" && request.url.includes("list_ips");
    const isLog = request.url.includes("/logs/query");
    const isRefused = request.method !== "GET";
    response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
    const origins = { success: true, domain, origin: "origin.example" };
    const page = { _scroll_id: null, hits: { total: { value: 1 }, hits: [blockedRequest] } };
    response.end(
      JSON.stringify(isLog ? page : isList ? list : isRefused ? { success: false, domain, message } : origins),
    );
  });
});

afterAll(async () => await waf.stop());

/** What the commands print, and what they leave in the state directory. */
async function output(command: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  await using folder = await scratchDirectory({
    "main.yaml": instanceDocument(waf.baseUrl),
    "secret.yaml": secretDocument(),
    "rule.yaml": ruleDocument("office", { addresses: ["192.0.2.1"] }),
    ...files,
  });
  const words = [...command.split(" "), "-f", folder.path];
  const insecure = command.startsWith("history") ? [] : ["--allow-insecure-http"];
  const { stdout, stderr } = await runWafsync([...words, ...insecure]);
  expect(stderr).not.toContain("unknown option");
  // Pipelines do not print the files of the state, and what the test has written there is hostile.
  const isGiven = Object.keys(files).some((name) => name.startsWith(".wafsync/"));
  return `${stdout}${stderr}${isGiven ? "" : (await stateIn(folder.path)).replaceAll("##[", "")}`;
}

/** The files of the state directory; `cat` shows them on a terminal, too. */
async function stateIn(folder: string): Promise<string> {
  const entries = await readdir(join(folder, ".wafsync"), { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  return (
    await Promise.all(files.map(async ({ parentPath, name }) => await readFile(join(parentPath, name), "utf8")))
  ).join("");
}

describe("A control sequence for terminals is shown as text", () => {
  test.each(["plan", "apply", "plan -o json", "apply -o json"])("in an entry of a list: %s", async (command) => {
    [list, message, domain] = [["192.0.2.9", hostile], "done", "shop.example"];
    const printed = await output(command);
    expect(printed).not.toMatch(harmful);
    expect(printed).toContain("contains an invisible character");
  });

  test("in the whitespace around an entry, which is a part of its spelling", async () => {
    [list, message, domain] = [["\r\n::stop-commands::token", "\n192.0.2.9\t"], "done", "shop.example"];
    const spec = "  blocklist: {policy: Exclusive}\n  guards: {maxRemovalPercent: 100}\n";
    const planned = await output("plan", { "main.yaml": instanceDocument(waf.baseUrl, { spec }) });
    const environment = { WAFSYNC_API_KEY: testKey };
    const address = ["--base-url", waf.baseUrl, "--allow-insecure-http", "--instance", "main"];
    const imported = await runWafsync(["import", ...address], { environment });
    for (const printed of [planned, imported.stdout, imported.stderr]) {
      expect(printed).not.toMatch(harmful);
      expect(printed).not.toBe("");
    }
    expect(planned).toContain("stop-commands");
    expect(imported.stderr).toContain("stop-commands");
  });

  test("in a domain", async () => {
    [list, message, domain] = [[], "done", hostile];
    expect(await output("plan")).not.toMatch(harmful);
  });

  test("in a message of the API", async () => {
    [list, message, domain] = [[], hostile, "shop.example"];
    const printed = await output("apply");
    expect(printed).not.toMatch(harmful);
    expect(printed).toContain("stop-commands");
  });

  test("in the names and the contents of files", async () => {
    [list, message, domain] = [[], "done", "shop.example"];
    const printed = await output("plan", {
      [`${hostile.replaceAll("/", "")}.yaml`]: ruleDocument("named", { addresses: ["192.0.2.2"] }),
      "field.yaml": ruleDocument("field", {}).replace("action:", `${JSON.stringify(`${hostile}y`)}: 1\n  action:`),
      "entry.yaml": ruleDocument("entry", { addresses: [hostile] }),
      "lines.yaml": configMapDocument("feed", []).replace(
        "  list: |\n",
        `  list: ${JSON.stringify(`${hostile}\n192.0.2.3`)}\n`,
      ),
      "lines-rule.yaml": ruleDocument("lines", { configMap: "feed" }),
      "keys.yaml": configMapDocument("keys", []).replace("  list: |\n", `  ${JSON.stringify(hostile)}: x\n`),
      "keys-rule.yaml": ruleDocument("keys", { configMap: "keys" }),
      "name.yaml": ruleDocument("named", {}).replace("name: named", `name: ${JSON.stringify(hostile)}`),
      "kind.yaml": `apiVersion: v1\nkind: ${JSON.stringify(hostile)}\nmetadata: {name: x}\n`,
      "broken.yaml": `a: ${JSON.stringify(hostile)}\n  b: [`,
    });
    expect(printed).not.toMatch(harmful);
    expect(printed).toContain("stop-commands");
  });

  test.each(["table", "json"])("in a history that a repository contains, as %s", async (format) => {
    [list, message, domain] = [[], "done", "shop.example"];
    const time = new Date().toISOString().replace(/\.\d+Z$/, "Z");
    const values = [hostile];
    const event = [time, "Added", "blocklist", values, "WafIpRule:shop/office", hostile];
    await using folder = await scratchDirectory({
      "main.yaml": instanceDocument(waf.baseUrl),
      ".wafsync/history/shop/main.txt": `# history shop/main: wafsync writes this file, do not edit it.\n${JSON.stringify(event)}\n`,
    });
    const { stdout } = await runWafsync(["history", "-f", folder.path, "-o", format]);
    expect(stdout).toContain("stop-commands");
    expect(stdout).not.toMatch(harmful);
    if (format === "table") expect(stdout.trimEnd().split("\n")).toHaveLength(2);
  });

  test.each([
    "status",
    "status -o json",
    "why 192.0.2.9",
    "why 192.0.2.9 -o json",
    "approve",
    "approve -o json",
    "unblock 192.0.2.9",
    "block 192.0.2.1",
  ])("in a status that a repository contains, and in lists and logs: %s", async (command) => {
    [list, message, domain] = [["192.0.2.1", "\n192.0.2.9\t"], hostile, "shop.example"];
    const conditions = ["Ready", "Synced"].map((type) => ({
      type,
      status: "False",
      reason: hostile,
      message: hostile,
    }));
    const removalsOnHold = [{ list: "blocklist", count: 1, owners: hostile, examples: [hostile], reason: hostile }];
    const instance = { domain: hostile, conditions, removalsOnHold, heldPlan: "0123456789ab", lastSyncTime: hostile };
    const printed = await output(command, {
      "main.yaml": instanceDocument(waf.baseUrl, {
        spec: "  logs: {enabled: true}\n  blocklist: {policy: Exclusive}\n",
      }),
      "rule.yaml": ruleDocument("office", { addresses: ["192.0.2.9"] }),
      ".wafsync/status/WafInstance/shop/main.yaml": JSON.stringify({ status: instance }),
      ".wafsync/status/WafIpRule/shop/office.yaml": JSON.stringify({ status: { conditions, progress: hostile } }),
    });
    expect(printed).not.toMatch(harmful);
    expect(printed).not.toBe("");
  });

  test.each(["plan", "apply"])(
    "in the names and contents of a state directory that a repository contains: %s",
    async (command) => {
      [list, message, domain] = [[], "done", "shop.example"];
      const name = "x\n::stop-commands::token\nz";
      const printed = await output(command, {
        [`.wafsync/inventory/default/${name}.txt`]: "",
        [`.wafsync/inventory/${name}/main.txt`]: "",
        [`.wafsync/status/WafIpRule/${name}/a.yaml`]: "",
        [`.wafsync/status/WafIpRule/shop/${name}.yaml`]: "",
        [`.wafsync/history/${name}/main.txt`]: "",
        [`.wafsync/feed/${name}/main.txt`]: "",
      });
      expect(printed).not.toMatch(harmful);
      expect(printed).toContain("192.0.2.1");
    },
  );

  const owners = writeOwners([{ kind: "WafIpRule", name: `shop/office${hostile}`, source: undefined }]);
  const recordOf = (recorded: string): string => {
    const blocklist = new Map([["192.0.2.9" as Entry, anOwnedEntry({ owners, sinceMs: 0 })]]);
    const text = encodeInventory({ ...emptyInventory, domain: recorded, entries: { blocklist, allowlist: new Map() } });
    return `# inventory shop/main: wafsync writes this file, do not edit it.\n${text}`;
  };

  test.each([
    ["plan", "the same domain", "shop.example"],
    ["approve", "the same domain", "shop.example"],
    ["unblock 192.0.2.9", "the same domain", "shop.example"],
    ["why 192.0.2.9", "the same domain", "shop.example"],
    ["plan", "another domain", hostile],
    ["apply", "another domain", hostile],
    ["approve", "another domain", hostile],
  ])("in a record that a repository contains: %s, with %s", async (command, _, recorded) => {
    [list, message, domain] = [["192.0.2.9"], "done", "shop.example"];
    const printed = await output(command, {
      "main.yaml": instanceDocument(waf.baseUrl, { spec: "  guards: {maxRemovals: 0}\n" }),
      "rule.yaml": "",
      ".wafsync/inventory/shop/main.txt": recordOf(recorded),
    });
    expect(printed).toContain("stop-commands");
    expect(printed).not.toMatch(harmful);
  });

  test("in the state of a feed that a repository contains", async () => {
    [list, message, domain] = [[], "done", "shop.example"];
    await using folder = await scratchDirectory({
      "main.yaml": instanceDocument(waf.baseUrl),
      "secret.yaml": secretDocument(),
      "feed.yaml": `apiVersion: wafsync.dev/v1alpha1
kind: WafFeed
metadata: {name: bad, namespace: shop}
spec: {http: {url: "http://127.0.0.1:1/list"}}
`,
    });
    const from = ["-f", folder.path, "--allow-insecure-http"];
    await runWafsync(["apply", ...from]);
    const file = ".wafsync/feed/shop/bad.txt";
    const [first = "", line = ""] = (await readFile(join(folder.path, file), "utf8")).split("\n");
    const fault = { code: "Unreachable", message: hostile };
    const state = { ...(JSON.parse(line) as Readonly<Record<string, unknown>>), fault, nextFetchMs: 4e12 };
    await folder.write(file, `${first}\n${JSON.stringify(state)}\n`);
    for (const command of ["plan", "apply"]) {
      const { stdout, stderr } = await runWafsync([command, ...from]);
      expect(stderr).toContain("stop-commands");
      expect(stdout + stderr).not.toMatch(harmful);
    }
  });
});
