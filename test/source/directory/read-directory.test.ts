import { chmod, mkdir, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { getuid } from "node:process";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import {
  hasTransientFault,
  readDirectory as readWithStamp,
  type ReadFiles,
} from "../../../src/source/directory/read-directory.ts";
import { type DirectorySnapshot, faultText } from "../../../src/source/directory/snapshot.ts";
import { nameOfKey } from "../../../src/model/resource.ts";
import { instanceYaml, ruleYaml, scratchDirectory, secretYaml } from "../../support/worlds/scratch-directory.ts";

const secretText = "correct-horse-battery";

async function readDirectory(directory: string, skip: readonly string[] = []): Promise<DirectorySnapshot> {
  return (await readWithStamp({ directory, skip, before: new Map() })).snapshot;
}

async function snapshotOf(files: Readonly<Record<string, string>>): Promise<DirectorySnapshot> {
  await using scratch = await scratchDirectory(files);
  return await readDirectory(scratch.path);
}

function textIn(snapshot: DirectorySnapshot, kind: "ConfigMap" | "Secret", object: string, key: string) {
  return snapshot.find(kind, nameOfKey(object))?.texts.get(key)?.reveal();
}

function texts(snapshot: DirectorySnapshot): string[] {
  return snapshot.faults.map(faultText);
}

describe("a valid directory", () => {
  test("provides every object from several files, documents and formats", async () => {
    const origin = {
      apiVersion: "wafsync.dev/v1alpha1",
      kind: "WafOrigin",
      metadata: { name: "backup", namespace: "shop" },
      spec: { instanceRef: { name: "main" }, host: "backup.example.com", type: "Backup" },
    };
    const snapshot = await snapshotOf({
      "waf/instance.yaml": `# the WAF\n---\n${instanceYaml}---\n${secretYaml}---\n`,
      "rules.yml": ruleYaml("office", ["192.0.2.1"]),
      "origin.json": JSON.stringify(origin, undefined, "\t"),
      "list.yaml": `apiVersion: v1\nkind: List\nitems:\n- ${ruleYaml("listed", ["192.0.2.2"]).replaceAll("\n", "\n  ")}`,
      "map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: feed}\ndata:\n  list: |\n    192.0.2.9\n",
      "ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: a}}\n",
    });
    expect(texts(snapshot)).toStrictEqual([]);
    expect(snapshot.all("WafInstance").map(({ name }) => name)).toStrictEqual([{ namespace: "shop", name: "main" }]);
    expect(snapshot.declared.WafInstance[0]?.meta.location).toBe("waf/instance.yaml:3");
    expect(snapshot.declared.WafIpRule.map(({ meta }) => [meta.name, meta.location])).toStrictEqual([
      ["listed", "list.yaml:4"],
      ["office", "rules.yml:1"],
    ]);
    expect(snapshot.declared.WafOrigin).toHaveLength(1);
    expect(textIn(snapshot, "ConfigMap", "default/feed", "list")).toBe("192.0.2.9\n");
    expect(textIn(snapshot, "Secret", "shop/waf-key", "apiKey")).toBe(secretText);
    expect(snapshot.all("Namespace")).toMatchObject([{ name: { name: "shop" }, labels: { team: "a" } }]);
  });

  test("accepts what `kubectl create --dry-run=client -o yaml` writes, with null fields", async () => {
    const metadata = (name: string): string =>
      `metadata:\n  creationTimestamp: null\n  annotations: null\n  name: ${name}\n`;
    const snapshot = await snapshotOf({
      "map.yaml": `apiVersion: v1\ndata:\n  list: |\n    192.0.2.9\nkind: ConfigMap\n${metadata("feed")}`,
      "empty.yaml": `apiVersion: v1\ndata: null\nkind: ConfigMap\n${metadata("empty")}`,
      "secret.yaml": `apiVersion: v1\ndata:\n  apiKey: ${btoa(secretText)}\nkind: Secret\n${metadata("waf-key")}`,
      "ns.yaml": `apiVersion: v1\nkind: Namespace\n${metadata("shop")}spec: {}\nstatus: {}\n`,
      "rule.yaml": `${ruleYaml("office", ["192.0.2.1"]).replace("metadata:", "metadata:\n  creationTimestamp: null")}status: null\n`,
    });
    expect(texts(snapshot)).toStrictEqual([]);
    expect(snapshot.all("ConfigMap").map(({ name }) => name.name)).toStrictEqual(["empty", "feed"]);
    expect(textIn(snapshot, "Secret", "default/waf-key", "apiKey")).toBe(secretText);
    expect(snapshot.all("Namespace")).toHaveLength(1);
    expect(snapshot.declared.WafIpRule).toHaveLength(1);
  });

  test("may contain other objects, which are noted and ignored", async () => {
    const snapshot = await snapshotOf({
      "kustomization.yaml": "resources: [rules.yaml]\n",
      "deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {}\n",
      "service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n",
      "package.json": '{"name": "x", "version": "1.0.0"}',
      ".hidden/broken.yaml": "{",
      "node_modules/x/package.json": "{",
      "notes.txt": "{",
    });
    expect(snapshot.faults.map(({ file, blocksRemovals }) => [file, blocksRemovals])).toStrictEqual([
      ["deployment.yaml", "None"],
      ["package.json", "None"],
      ["service.yaml", "None"],
    ]);
  });
});

describe("bad input is refused with file, line and field", () => {
  const rule = ruleYaml("office", ["192.0.2.1"]);
  const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: k}\n";
  const map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: k}\n";
  const deep = `a: ${"[".repeat(100)}${"]".repeat(100)}`;
  const invalid = "this is not valid YAML";
  const ttl = /^12: spec\.ttl: counts from .* write expiresAt instead, for example expiresAt: "2030/;

  test.each<[string, string, string | RegExp]>([
    ["an unknown field", `${rule}  prioriti: 5\n`, "12: spec.prioriti: unknown field; did you mean priority…"],
    ["a wrong apiVersion", rule.replace("v1alpha1", "v1beta1"), "1: apiVersion: must be wafsync.dev/v1alpha1…"],
    ["a time to live, which counts from a creation time", `${rule}  ttl: 2h\n`, ttl],
    ["another group", rule.replace("wafsync.dev", "wafsync.io"), "1: apiVersion: …"],
  ])("for %s, which concerns its instance", async (_, yaml, message) => {
    await expectFault(yaml, message, { namespace: "shop", name: "main" });
  });

  test.each<[string, string, string | RegExp]>([
    [
      "an unknown kind",
      rule.replace("WafIpRule", "WafIpRul"),
      /^2: kind: must be one of .*, but is "WafIpRul"; did you mean WafIpRule/,
    ],
    ["a missing kind", rule.replace("kind: WafIpRule\n", ""), "1: kind: is missing…"],
    ["an unknown core kind", secret.replace("Secret", "Secrt"), "2: kind: unknown kind; did you mean Secret…"],
    ["a wrong reference", rule.replace("    name: main", "    nam: main"), "7: spec.instanceRef.…"],
    ["a bad namespace", rule.replace("namespace: shop", "namespace: Shop"), "5: metadata.namespace: …"],
    ["a document that is a list", "- a\n", "1: must be an object…"],
    ["a bad item of a list", "kind: List\napiVersion: v1\nitems:\n- 5\n", "4: items[0]: must be a Kubernetes object…"],
    ["YAML that does not parse", "kind: 'WafIpRule\nspec: {}\n", `1: ${invalid}: a quote on this line is not closed`],
    ["JSON that does not parse", '{"kind": "WafIpRule",', /^\d+: this is not valid YAML/],
    ["a duplicate key", `${rule}  action: Allow\n`, "12: the key on this line is duplicated in its mapping"],
    ["a tab as indentation", "spec:\n\ta: 1\n", `2: ${invalid}…`],
    ["an alias without an anchor", "kind: *nowhere\n", `1: ${invalid}: an alias…`],
    ["an unknown tag", "kind: !secret x\n", `1: ${invalid}: a tag…`],
    ["nesting that is too deep", "[".repeat(100_000), /^1: .*nested too deeply/],
    ["nesting deeper than needed", deep, "1: nested deeper than 64…"],
    ["an alias bomb", bomb(), "1: the document has too many aliases…"],
    [
      "a Secret with a number",
      `${secret}stringData:\n  apiKey: 12345\n`,
      "5: stringData.apiKey: must be a string, but is a number: put it in quotes",
    ],
    ["a Secret that is not base64", `${secret}data:\n  apiKey: ${secretText}\n`, "5: data.apiKey: is not base64…"],
    [
      "a Secret with an unknown field",
      `${secret}stringdata: {a: b}\n`,
      "4: stringdata: unknown field; did you mean stringData…",
    ],
    ["a Secret without a version", secret.replace("apiVersion: v1\n", ""), /apiVersion: must be v1/],
    ["a ConfigMap with a list", `${map}data:\n  list: [192.0.2.1]\n`, "5: data.list: must be a string, but is a list…"],
  ])("for %s, which may concern every instance", async (_, yaml, message) => {
    await expectFault(yaml, message, "All");
  });

  /** The fault has this line and message; `…` stands for the rest of it. */
  async function expectFault(yaml: string, message: string | RegExp, blocksRemovals: unknown): Promise<void> {
    const snapshot = await snapshotOf({ "bad.yaml": yaml });
    const [fault] = snapshot.faults;
    const [file, said = ""] = fault === undefined ? [] : faultText(fault).split(/(?<=^bad\.yaml:)/u);
    expect(file).toBe("bad.yaml:");
    if (typeof message !== "string") expect(said).toMatch(message);
    else if (message.endsWith("…")) expect(said.slice(0, message.length - 1)).toBe(message.slice(0, -1));
    else expect(said).toBe(message);
    expect(fault).toMatchObject({ blocksRemovals });
    expect(JSON.stringify(snapshot.faults)).not.toContain(secretText);
    expect(snapshot.declared.WafIpRule).toStrictEqual([]);
  }

  test("and never quoted if it is an invalid Secret, wherever the error is", async () => {
    for (const before of ["*", "'", "@", "a: b: "]) {
      const yaml = secretYaml.replace(secretText, `${before}${secretText}`);
      const { faults } = await snapshotOf({ "secret.yaml": yaml });
      expect(faults).toHaveLength(1);
      expect(JSON.stringify(faults)).not.toMatch(/horse/);
    }
  });

  test("while the other documents of the file are used", async () => {
    const snapshot = await snapshotOf({ "all.yaml": `${instanceYaml}---\na: [1\n---\n${rule}` });
    expect(snapshot.declared.WafInstance).toHaveLength(1);
    expect(snapshot.declared.WafIpRule).toHaveLength(1);
    expect(texts(snapshot)).toStrictEqual([expect.stringMatching(/^all\.yaml:\d+: this is not valid YAML/)]);
  });

  test("for a name that is declared twice, with both places, and the first is used", async () => {
    const snapshot = await snapshotOf({ "a.yaml": rule, "b.yaml": `---\n${ruleYaml("office", ["192.0.2.2"])}` });
    expect(snapshot.declared.WafIpRule.map(({ addresses }) => addresses)).toStrictEqual([["192.0.2.1"]]);
    expect(texts(snapshot)).toStrictEqual([
      "b.yaml:2: metadata.name: WafIpRule shop/office is declared twice, first at a.yaml:1; this one is ignored: remove one of them",
    ]);
    expect(snapshot.faults[0]?.blocksRemovals).toStrictEqual({ namespace: "shop", name: "main" });
  });
});

describe("files that are hard to read", () => {
  const notText = ": the file is not UTF-8 text: save it as UTF-8";

  test.each([
    ["a file of 5 MB is", Buffer.alloc(5_000_000, "# comment\n"), ": the file is larger than 1.5 MiB: split it"],
    ["a file in UTF-16 is", Buffer.from("\uFEFFkind: List\n", "utf16le"), notText],
    ["a binary file is", Buffer.from([0x61, 0x0a, 0, 1, 2]), notText],
    ["a file in Latin-1 is", Buffer.from("a: 1\nb: \u00e9\n", "latin1"), notText],
  ])("%s a fault that says what to do, and may concern every removal", async (_, content, message) => {
    await using scratch = await scratchDirectory();
    await scratch.write("big.yaml", content);
    const snapshot = await readDirectory(scratch.path);
    expect(texts(snapshot)).toStrictEqual([`big.yaml${message}`]);
    expect(snapshot.faults[0]).toMatchObject({ blocksRemovals: "All", isTransient: false });
  });

  test("every change of a file or a folder changes the stamp of the directory, and nothing else does", async () => {
    await using scratch = await scratchDirectory({ "a/a.yaml": instanceYaml, "b.yaml": ruleYaml("office", []) });
    const state = join(scratch.path, ".state");
    await mkdir(state);
    const stamp = async (): Promise<string> =>
      (await readWithStamp({ directory: scratch.path, skip: [state], before: new Map() })).stamp;
    const first = await stamp();
    await writeFile(join(state, "status.yaml"), "{");
    expect(await stamp()).toBe(first);
    await scratch.write("b.yaml", ruleYaml("office", ["192.0.2.1"]));
    const written = await stamp();
    await scratch.write("a/note.txt", "");
    const noted = await stamp();
    await scratch.remove("b.yaml");
    expect(new Set([first, written, noted, await stamp()]).size).toBe(4);
  });

  test("a dangling link is a transient fault, and other links are followed", async () => {
    await using scratch = await scratchDirectory({ "a.yaml": instanceYaml });
    await symlink("gone.yaml", join(scratch.path, "link.yaml"));
    await symlink("gone.txt", join(scratch.path, "other.txt"));
    const snapshot = await readDirectory(scratch.path);
    expect(texts(snapshot)).toStrictEqual([
      "link.yaml: does not exist, or is a link to nothing; wafsync will look for it again",
    ]);
    expect(hasTransientFault(snapshot)).toBe(true);
    expect(snapshot.declared.WafInstance).toHaveLength(1);
  });

  test.each([
    ["to a folder elsewhere", "x", "..", true],
    ["to the files of processes", "x", "/proc", true],
    ["to a file elsewhere", "rule.yaml", "../secret.yaml", true],
    ["to a file elsewhere that is not YAML", "note.txt", "/etc/hostname", false],
  ])("a link %s is not followed", async (_, name, target, isFault) => {
    await using outer = await scratchDirectory({ "secret.yaml": secretYaml, "inner/a.yaml": instanceYaml });
    await symlink(target, join(outer.path, "inner", name));
    const snapshot = await readDirectory(join(outer.path, "inner"));
    const fault = `${name}: the symbolic link leads out of the folder and is not followed: move the target into the folder`;
    expect(texts(snapshot)).toStrictEqual(isFault ? [fault] : []);
    expect(snapshot.all("Secret")).toStrictEqual([]);
  });

  test("a name that starts with a command of a pipeline is a fault, and its file is not read", async () => {
    await using scratch = await scratchDirectory({ "::error::a.yaml": "kind: [", "a::b.yaml": "" });
    expect(texts(await readDirectory(scratch.path))).toStrictEqual([
      "::error::a.yaml: the name starts with ::, which starts a command of a pipeline: rename it",
    ]);
  });

  test("a name with invisible characters is a fault, and its file is not read", async () => {
    await using scratch = await scratchDirectory({ "a\u202e.yaml": instanceYaml });
    const snapshot = await readDirectory(scratch.path);
    expect(snapshot.declared.WafInstance).toHaveLength(0);
    expect(texts(snapshot)).toStrictEqual([
      String.raw`a\u202e.yaml: the name contains invisible characters: rename it`,
    ]);
  });

  test("aliases are counted before they are resolved", async () => {
    const aliases = `a: &a x\nb: [${"*a,".repeat(100_000)}]\n`;
    await using scratch = await scratchDirectory({ "aliases.yaml": aliases });
    const before = process.cpuUsage();
    const snapshot = await readDirectory(scratch.path);
    expect(texts(snapshot)).toStrictEqual(["aliases.yaml:2: more than 100 aliases (*name)"]);
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(20);
  });

  test("a mounted ConfigMap is read once, through its links", async () => {
    await using scratch = await scratchDirectory({ "..2026_01/rules.yaml": ruleYaml("office", ["192.0.2.1"]) });
    await symlink("..2026_01", join(scratch.path, "..data"));
    await symlink("..data/rules.yaml", join(scratch.path, "rules.yaml"));
    const snapshot = await readDirectory(scratch.path);
    expect(texts(snapshot)).toStrictEqual([]);
    expect(snapshot.declared.WafIpRule.map(({ meta }) => meta.location)).toStrictEqual(["rules.yaml:1"]);
  });

  test("the state directory is not part of the directory, whatever the paths of both", async () => {
    await using scratch = await scratchDirectory({ "waf/state/inventory/shop/main.yaml": "{" });
    await symlink("waf", join(scratch.path, "link"));
    const paths = ["waf", "link"].map((name) => join(scratch.path, name));
    for (const [from, state] of [paths, paths.toReversed()]) {
      const snapshot = await readDirectory(String(from), [join(String(state), "state")]);
      expect(snapshot.faults).toStrictEqual([]);
    }
  });

  test("a file and a folder without permission are faults", async () => {
    // The superuser can read them anyway.
    if (getuid?.() === 0) return;
    await using scratch = await scratchDirectory({ "secret.yaml": "a", "closed/a.yaml": "a" });
    await chmod(join(scratch.path, "secret.yaml"), 0);
    await chmod(join(scratch.path, "closed"), 0);
    const snapshot = await readDirectory(scratch.path);
    await chmod(join(scratch.path, "closed"), 0o700);
    expect(texts(snapshot)).toStrictEqual([
      "closed: cannot be read: permission denied",
      "secret.yaml: cannot be read: permission denied",
    ]);
  });

  test("files whose content did not change are not parsed again, and the others are, whatever their times", async () => {
    await using scratch = await scratchDirectory({
      "a.yaml": instanceYaml,
      "b.yaml": ruleYaml("office", ["192.0.2.1"]),
    });
    let before: ReadFiles = new Map();
    const scan = async (): Promise<DirectorySnapshot> => {
      const { files, snapshot } = await readWithStamp({ directory: scratch.path, skip: [], before });
      before = files;
      return snapshot;
    };
    const first = await scan();
    const { atime, mtime } = await stat(join(scratch.path, "b.yaml"));
    await scratch.write("b.yaml", ruleYaml("office", ["192.0.2.2"]));
    await utimes(join(scratch.path, "b.yaml"), atime, mtime);
    const second = await scan();
    expect(second.declared.WafInstance[0]).toBe(first.declared.WafInstance[0]);
    expect(second.declared.WafIpRule[0]?.addresses).toStrictEqual(["192.0.2.2"]);
    await rm(join(scratch.path, "b.yaml"));
    expect((await scan()).declared.WafIpRule).toStrictEqual([]);
  });
});

function bomb(): string {
  const levels = Array.from({ length: 12 }, (_, level) => {
    const items = level === 0 ? "x" : Array.from({ length: 9 }, () => `*a${level - 1}`).join(",");
    return `a${level}: &a${level} [${items}]\n`;
  });
  return levels.join("");
}
