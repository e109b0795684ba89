// No string of a WAF, or of the author of a folder, can control the terminal or the pipeline in which wafsync runs.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Entry } from "../../src/address/entry.ts";
import { writeOwners } from "../../src/model/rule-id.ts";
import { emptyInventory } from "../../src/model/inventory.ts";
import { encodeInventory } from "../../src/records/inventory-text.ts";
import { anOwnedEntry } from "../support/builders/gathered.ts";
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
/** With the name of its source, by which a test finds it in an output. */
function hostile(source: string): string {
  return `x${escape}]0;title\u0007${escape}[8m\u009b2J\u202e\u2066\r\n::stop-commands::${source}\u2028\u200b##[error]x`;
}
/** Invisible characters except line breaks, and commands of pipelines: `::` only at the start of a line, `##[` anywhere. */
const harmful = /(?![\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|^::|##(?:\[|vso\[)/mu;
/** The sources of the hostile strings in an output, in which none may do harm. */
function sourcesIn(printed: string): string {
  expect(printed).not.toMatch(harmful);
  return [...new Set(Array.from(printed.matchAll(/::stop-commands::(\w+)/g), ([, source = ""]) => source))]
    .sort()
    .join(" ");
}

let waf: ScriptedServer;
/** The WAF's responses to reads of lists, and to all writes. */
let list: readonly string[] = [];
let message = "done";
let domain = "shop.example";
const blockedRequest = {
  ...anEntry({
    timestamp: new Date().toISOString(),
    client_ip: "192.0.2.9",
    request_path: hostile("request"),
    block_reason: hostile("request"),
  }),
  http_method: hostile("request"),
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
    "rule.yaml": office,
    ...files,
  });
  const words = [...command.split(" "), "-f", folder.path];
  const insecure = command.startsWith("history") ? [] : ["--allow-insecure-http"];
  const { stdout, stderr } = await runWafsync([...words, ...insecure]);
  expect(stderr).not.toContain("unknown option");
  expect(stdout + stderr).not.toBe("");
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

const owners = writeOwners([{ kind: "WafIpRule", name: `shop/office${hostile("record")}`, source: undefined }]);

function recordOf(recorded: string): string {
  const blocklist = new Map([["192.0.2.9" as Entry, anOwnedEntry({ owners, sinceMs: 0 })]]);
  const text = encodeInventory({ ...emptyInventory, domain: recorded, entries: { blocklist, allowlist: new Map() } });
  return `# inventory shop/main: wafsync writes this file, do not edit it.\n${text}`;
}

/** YAML allows no control characters outside of escapes. */
function asciiJson(value: object): string {
  const code = (text: string): string => text.charCodeAt(0).toString(16).padStart(4, "0");
  return JSON.stringify(value).replaceAll(/[^ -~]/g, (text) => `\\u${code(text)}`);
}

/** A state directory in which everything is hostile. */
function hostileState(): Readonly<Record<string, string>> {
  const text = hostile("status");
  const time = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const fields = { status: "False", reason: text, message: text, observedGeneration: 1, lastTransitionTime: time };
  const conditions = ["Ready", "Synced"].map((type) => ({ type, ...fields }));
  const removalsOnHold = [{ list: "blocklist", count: 1, owners: text, examples: [text], reason: text }];
  const status = { domain: text, conditions, removalsOnHold, heldPlan: "0123456789ab", lastSyncTime: time };
  const event = [time, "Added", "blocklist", [hostile("history")], "WafIpRule:shop/office", hostile("history")];
  const name = "x\n::stop-commands::name\nz";
  return {
    ".wafsync/status/WafInstance/shop/main.yaml": asciiJson({ status }),
    ".wafsync/status/WafIpRule/shop/office.yaml": asciiJson({ status: { conditions, progress: text } }),
    ".wafsync/history/shop/main.txt": `# history shop/main: wafsync writes this file, do not edit it.\n${JSON.stringify(event)}\n`,
    ".wafsync/inventory/shop/main.txt": recordOf("shop.example"),
    [`.wafsync/inventory/default/${name}.txt`]: "",
    [`.wafsync/inventory/${name}/main.txt`]: "",
    [`.wafsync/status/WafIpRule/${name}/a.yaml`]: "",
    [`.wafsync/status/WafIpRule/shop/${name}.yaml`]: "",
    [`.wafsync/history/${name}/main.txt`]: "",
    [`.wafsync/feed/${name}/main.txt`]: "",
  };
}

const office = ruleDocument("office", { addresses: ["192.0.2.1"] });

const hostileFiles = {
  [`${hostile("file").replaceAll("/", "")}.yaml`]: ruleDocument("named", { addresses: ["192.0.2.2"] }),
  "field.yaml": ruleDocument("field", {}).replace("action:", `${JSON.stringify(`${hostile("field")}y`)}: 1\n  action:`),
  "entry.yaml": ruleDocument("entry", { addresses: [hostile("entry")] }),
  "lines.yaml": configMapDocument("feed", []).replace(
    "  list: |\n",
    `  list: ${JSON.stringify(`${hostile("line")}\n192.0.2.3`)}\n`,
  ),
  "lines-rule.yaml": ruleDocument("lines", { configMap: "feed" }),
  "keys.yaml": configMapDocument("keys", []).replace("  list: |\n", `  ${JSON.stringify(hostile("key"))}: x\n`),
  "keys-rule.yaml": ruleDocument("keys", { configMap: "keys" }),
  "name.yaml": ruleDocument("named", {}).replace("name: named", `name: ${JSON.stringify(hostile("name"))}`),
  "kind.yaml": `apiVersion: v1\nkind: ${JSON.stringify(hostile("kind"))}\nmetadata: {name: x}\n`,
  "broken.yaml": `a: ${JSON.stringify(hostile("yaml"))}\n  b: [`,
};

/** Whitespace around an entry is a part of its spelling. */
const hostileList = ["192.0.2.9", "\n192.0.2.9\t", "\r\n::stop-commands::list"];

describe("A control sequence for terminals is shown as text", () => {
  test.each([
    ["plan", "entry field file key kind line list"],
    ["plan -o json", "entry field file key kind line list"],
    ["apply", "entry field file key kind line list message"],
    ["apply -o json", "entry field file key kind line list message"],
  ])("in the files of a repository and in the answers of the WAF: %s shows %s", async (command, shown) => {
    [list, message, domain] = [hostileList, hostile("message"), "shop.example"];
    const spec = "  blocklist: {policy: Exclusive}\n  guards: {maxRemovalPercent: 100}\n";
    const files = { ...hostileFiles, "main.yaml": instanceDocument(waf.baseUrl, { spec }) };
    expect(sourcesIn(await output(command, files))).toBe(shown);
  });

  test.each([
    ["plan", "record"],
    ["apply", "message record"],
    ["status", "status"],
    ["status -o json", "status"],
    ["why 192.0.2.9", "record"],
    ["why 192.0.2.9 -o json", "record"],
    ["approve", "record"],
    ["approve -o json", "record"],
    ["history", "history"],
    ["history -o json", "history"],
    ["unblock 192.0.2.9", "record"],
    ["block 192.0.2.1", "message"],
  ])("in the state, the lists and the logs: %s shows %s", async (command, shown) => {
    [list, message, domain] = [hostileList, hostile("message"), "shop.example"];
    const spec = "  logs: {enabled: true}\n  guards: {maxRemovals: 0}\n";
    const files = { "main.yaml": instanceDocument(waf.baseUrl, { spec }), "rule.yaml": office, ...hostileState() };
    expect(sourcesIn(await output(command, files))).toBe(shown);
  });

  test.each([
    ["plan", "domain"],
    ["apply", "domain"],
    ["why 192.0.2.9", "domain record"],
  ])("in a recorded domain: %s shows %s", async (command, shown) => {
    [list, message, domain] = [["192.0.2.9"], "done", "shop.example"];
    const record = { ".wafsync/inventory/shop/main.txt": recordOf(hostile("domain")) };
    expect(sourcesIn(await output(command, record))).toBe(shown);
  });

  test("in a domain, or an entry of a list, that makes the answer of the WAF unusable", async () => {
    [list, message, domain] = [[], "done", hostile("domain")];
    expect(sourcesIn(await output("plan"))).toBe("");
    [list, domain] = [[hostile("list")], "shop.example"];
    expect(sourcesIn(await output("apply"))).toBe("");
  });

  test("in the lists that import writes", async () => {
    [list, message, domain] = [hostileList, "done", "shop.example"];
    const environment = { WAFSYNC_API_KEY: testKey };
    const address = ["--base-url", waf.baseUrl, "--allow-insecure-http", "--instance", "main"];
    const { stdout, stderr } = await runWafsync(["import", ...address], { environment });
    expect([sourcesIn(stdout), sourcesIn(stderr)]).toStrictEqual(["", "list"]);
    expect(stdout).not.toBe("");
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
    const [first = "", ...lines] = (await readFile(join(folder.path, file), "utf8")).split("\n");
    const stored = JSON.parse(lines.join("\n")) as Readonly<Record<string, unknown>>;
    const state = { ...stored, fault: { message: hostile("feed") }, nextFetchMs: 4e12 };
    await folder.write(file, `${first}\n${JSON.stringify(state)}\n`);
    for (const command of ["plan", "apply"]) {
      const { stdout, stderr } = await runWafsync([command, ...from]);
      expect(sourcesIn(stdout + stderr)).toContain("feed");
    }
  });
});
