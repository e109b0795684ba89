import { mapSource } from "../../support/builders/declare.ts";
import { mkdir, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { realClock } from "../../../src/async/clock.ts";
import type { ConfirmedGathering } from "../../../src/model/gathered.ts";
import { type DirectorySourceOptions, DirectorySource } from "../../../src/source/directory/directory-source.ts";
import type { DirectorySnapshot } from "../../../src/source/directory/snapshot.ts";
import { type VirtualClock, createVirtualClock } from "../../support/fakes/virtual-clock.ts";
import { instanceYaml, ruleYaml, scratchDirectory, secretYaml } from "../../support/worlds/scratch-directory.ts";

const main = { namespace: "shop", name: "main" };

function sourceOptions(directory: string): DirectorySourceOptions {
  return {
    directory,
    stateDirectory: undefined,
    environmentKey: undefined,
    clock: realClock,
    quietMs: 0,
    rescanIntervalMs: 60_000,
  };
}

function sourceOf(directory: string, more: Partial<DirectorySourceOptions> = {}): DirectorySource {
  return new DirectorySource({ ...sourceOptions(directory), ...more });
}

async function loaded(
  files: Readonly<Record<string, string>>,
  more: Partial<DirectorySourceOptions> = {},
): Promise<DirectorySource> {
  await using scratch = await scratchDirectory(files);
  const source = sourceOf(scratch.path, more);
  await source.load();
  return source;
}

async function keyOf(
  files: Readonly<Record<string, string>>,
  text?: string,
  isFor: (url: string) => boolean = () => true,
): Promise<string> {
  const environmentKey = text === undefined ? undefined : { text, isFor };
  const source = await loaded(files, { environmentKey });
  const key = (await source.gather(main))?.key;
  return key?.state === "Present" ? key.key.reveal() : (key?.problem ?? "");
}

describe("the key of an instance", () => {
  const addIt =
    /^Secret shop\/waf-key \(spec\.apiKeySecretRef\) is not in the directory: add it, or set the environment variables WAFSYNC_API_KEY to the API key and WAFSYNC_BASE_URL to the base URL, which works for a single instance\.$/;

  test("comes from its Secret", async () => {
    expect(await keyOf({ "a.yaml": instanceYaml, "b.yaml": secretYaml }, "the-other-key")).toBe(
      "correct-horse-battery",
    );
  });

  test("of the environment is sent only to the base URLs that were configured with it", async () => {
    expect(await keyOf({ "a.yaml": instanceYaml }, "horse-key", () => false)).toMatch(addIt);
  });

  test("of the environment is for one instance, and for none if several lack a Secret", async () => {
    const other = instanceYaml.replace("name: main", "name: other");
    const files = { "a.yaml": instanceYaml, "b.yaml": other };
    expect(await keyOf(files, "horse-key")).toMatch(addIt);
    const elsewhere = other.replace("https://waf.example.com", "https://elsewhere.example");
    const isFor = (url: string) => url === "https://waf.example.com";
    expect(await keyOf({ "a.yaml": instanceYaml, "b.yaml": elsewhere }, "horse-key", isFor)).toBe("horse-key");
  });

  const secret = (from: string, to: string): string => secretYaml.replace(from, to);
  const noKey = /^Secret shop\/waf-key \(secret\.yaml:1\) has no key apiKey: it has token\./;
  const empty = /apiKey of Secret shop\/waf-key \(secret\.yaml:1\), is empty/;

  test.each<[string, string | undefined, RegExp]>([
    ["a missing Secret", undefined, addIt],
    ["a Secret with another name", secret("waf-key", "waf-keys"), addIt],
    ["a Secret without the key", secret("apiKey:", "token:"), noKey],
    ["an empty key", secret("correct-horse-battery", '""'), empty],
    ["a key that YAML parses as null", secret("correct-horse-battery", ""), /is empty/],
    ["a key with whitespace", secret("correct-horse", "correct horse"), /contains whitespace/],
  ])("%s is a problem that says what to do, and never the key", async (_, yaml, problem) => {
    const text = await keyOf({ "a.yaml": instanceYaml, ...(yaml === undefined ? {} : { "secret.yaml": yaml }) });
    expect(text).toMatch(problem);
    expect(text).not.toMatch(/horse/);
  });

  test.each([
    [" correct-horse", "contains whitespace"],
    ["", "is empty"],
  ])("in the environment that is %j is a problem that does not show it", async (key, problem) => {
    const text = await keyOf({ "a.yaml": instanceYaml }, key);
    expect(text).toContain(`The API key in the environment variable WAFSYNC_API_KEY ${problem}`);
    expect(text).not.toMatch(/horse/);
  });

  test("is never printed", async () => {
    const source = await loaded({ "a.yaml": instanceYaml, "b.yaml": secretYaml });
    const printed = [source.snapshot(), await source.gather(main), source].map((one) => inspect(one, { depth: 20 }));
    expect(printed.join(JSON.stringify(source.snapshot()))).not.toMatch(/horse/);
  });
});

describe("the gathered state of an instance", () => {
  test("contains every rule, origin and cache clear that refers to it, with the texts of its ConfigMaps", async () => {
    const more =
      "  addressesFrom:\n    - configMapKeyRef: {name: feed, key: list}\n    - configMapKeyRef: {name: feed, key: lost}\n    - configMapKeyRef: {name: feeds, key: list}\n    - secretKeyRef: {name: partners, key: list}\n";
    const source = await loaded({
      "a.yaml": `${instanceYaml}---\n${secretYaml}---\n${ruleYaml("office", ["192.0.2.1"], more)}`,
      "map.yaml":
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: feed, namespace: shop}\ndata:\n  list: |\n    192.0.2.9\n",
      "secret.yaml":
        "apiVersion: v1\nkind: Secret\nmetadata: {name: partners, namespace: shop}\nstringData: {list: 192.0.2.8}\n",
      "ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: a}}\n",
      "clear.yaml":
        "apiVersion: wafsync.dev/v1alpha1\nkind: WafCacheClear\nmetadata: {name: now, namespace: ops}\nspec: {instanceRef: {name: main, namespace: shop}}\n",
    });
    const gathered = await source.gather(main);
    expect(source.snapshot().faults).toStrictEqual([]);
    expect(gathered?.rules[0]?.texts).toStrictEqual([
      { state: "Read", source: mapSource("shop/feed"), text: "192.0.2.9\n" },
      {
        state: "Missing",
        source: { ...mapSource("shop/feed"), key: "lost" },
        problem: "ConfigMap shop/feed has no key lost, it has list: correct spec.addressesFrom",
      },
      {
        state: "Missing",
        source: mapSource("shop/feeds"),
        problem: "ConfigMap shop/feeds is not in the directory; did you mean shop/feed?",
      },
      { state: "Read", source: { ...mapSource("shop/partners"), kind: "Secret" }, text: "192.0.2.8" },
    ]);
    expect(gathered?.cacheClears).toHaveLength(1);
    expect(gathered?.namespaceLabels).toStrictEqual(
      new Map([
        ["shop", { team: "a", "kubernetes.io/metadata.name": "shop" }],
        ["ops", { "kubernetes.io/metadata.name": "ops" }],
      ]),
    );
    expect(gathered).toMatchObject({ brokenSources: [], sameKey: [] });
    expect(await source.gather({ namespace: "shop", name: "other" })).toBeUndefined();
  });

  test("contains other instances with the same key, whatever the spelling of the URL", async () => {
    const twin = instanceYaml.replace("name: main", "name: twin").replace("waf.example", "WAF.example");
    const dotted = instanceYaml.replace("name: main", "name: dotted").replace("waf.example.com", "waf.example.com.");
    const stranger = instanceYaml.replace("name: main", "name: stranger").replace("waf-key", "other-key");
    const otherSecret = secretYaml.replace("waf-key", "other-key").replace("correct-horse", "another-horse");
    const documents = [instanceYaml, twin, dotted, stranger, secretYaml, otherSecret];
    const source = await loaded({ "a.yaml": documents.join("---\n") });
    expect((await source.gather(main))?.sameKey.map(({ name }) => name)).toStrictEqual(["twin", "dotted"]);
    expect(source.instances()).toStrictEqual(
      ["dotted", "main", "stranger", "twin"].map((name) => ({ namespace: "shop", name })),
    );
  });

  test("contains all objects that refer to a missing instance, because their former entries may be its own", async () => {
    const typo = (kind: string, spec: string): string =>
      `apiVersion: wafsync.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: typo, namespace: shop}\nspec: {instanceRef: {name: mian}, ${spec}}\n`;
    const source = await loaded({
      "a.yaml": instanceYaml,
      "b.yaml": typo("WafIpRule", "action: Block, addresses: []"),
      "c.yaml": typo("WafOrigin", "host: backup.example.com, type: Backup"),
      "d.yaml": typo("WafAutoBlock", "threshold: 20"),
    });
    const { objects, existing } = (await source.gather(main))?.brokenReferences ?? {};
    const problem = "there is no WafInstance shop/mian in the directory; did you mean main?";
    expect(
      [...(objects ?? [])].map(([key, broken]) => [key, broken.problem, broken.declared.meta.location]),
    ).toStrictEqual([
      ["WafIpRule shop/typo", problem, "b.yaml:1"],
      ["WafOrigin shop/typo", problem, "c.yaml:1"],
      ["WafAutoBlock shop/typo", problem, "d.yaml:1"],
    ]);
    expect([...(existing ?? [])]).toStrictEqual(expect.arrayContaining(["WafAutoBlock shop/typo"]));
  });
});

describe("a file that becomes invalid", () => {
  const other = instanceYaml.replace("name: main", "name: other");
  const files = {
    "a.yaml": `${instanceYaml}---\n${other}---\n${secretYaml}`,
    "rule.yaml": ruleYaml("office", ["192.0.2.1"]),
    "good.yaml": ruleYaml("good", ["192.0.2.2"]),
  };
  const brokenFor = async (source: DirectorySource, name: string): Promise<readonly string[] | undefined> =>
    (await source.gather({ namespace: "shop", name }))?.brokenSources;

  test("blocks only removals, of all instances if it may concern any of them", async () => {
    await using scratch = await scratchDirectory(files);
    const source = sourceOf(scratch.path);
    await source.load();
    const version = source.version();
    await scratch.write("rule.yaml", "kind: 'WafIpRule\n");
    await source.load();
    expect(source.version()).toBe(version + 1);
    const message = expect.stringMatching(/^rule\.yaml:\d: this is not valid YAML/);
    expect(await brokenFor(source, "main")).toStrictEqual([message]);
    expect(await brokenFor(source, "other")).toStrictEqual([message]);
    expect((await source.gather(main))?.rules.map(({ rule }) => rule.meta.name)).toStrictEqual(["good"]);
    expect((await source.gather(main))?.key.state).toBe("Present");
  });

  test("blocks only the removals of the instance that the document refers to", async () => {
    await using scratch = await scratchDirectory(files);
    const source = sourceOf(scratch.path);
    await source.load();
    await scratch.write("rule.yaml", ruleYaml("office", ["192.0.2.1"], "  surprise: 1\n"));
    await source.load();
    expect(await brokenFor(source, "main")).toStrictEqual([
      expect.stringMatching(/^rule\.yaml:12: spec\.surprise: unknown field/),
    ]);
    expect(await brokenFor(source, "other")).toStrictEqual([]);
  });

  test("is detected by the confirmation before removals, without a watch", async () => {
    await using scratch = await scratchDirectory(files);
    const source = sourceOf(scratch.path);
    await source.load();
    await scratch.write("late.yaml", ruleYaml("late", ["192.0.2.3"]));
    const confirmed = await source.confirm(main);
    expect(confirmed.state === "Read" && confirmed.gathered?.rules.length).toBe(3);
    await rm(scratch.path, { recursive: true });
    const problem = ".: does not exist, or is a link to nothing; wafsync will look for it again";
    expect(await source.confirm(main)).toStrictEqual({ state: "Failed", problem });
  });
});

describe("a confirmation before removals", () => {
  const files = { "a.yaml": `${instanceYaml}---\n${secretYaml}`, "rule.yaml": ruleYaml("office", ["192.0.2.1"]) };
  const never = new AbortController().signal;

  /** A source with the default quiet period, for which time stands still. */
  async function unsettled(path: string): Promise<{ source: DirectorySource; clock: VirtualClock }> {
    const clock = createVirtualClock();
    const { quietMs: _, ...options } = { ...sourceOptions(path), clock };
    const source = new DirectorySource(options);
    await source.load();
    return { source, clock };
  }

  test("waits until the files were unchanged for 3 s between scans of this process, however old they are", async () => {
    await using scratch = await scratchDirectory(files);
    await utimes(join(scratch.path, "rule.yaml"), 0, 0);
    const { source, clock } = await unsettled(scratch.path);
    let confirmed: ConfirmedGathering | undefined;
    const confirming = source.confirm(main, { beforeRemovals: true }).then((read) => (confirmed = read));
    await clock.advance(2_999);
    expect(confirmed).toBeUndefined();
    await clock.advance(1);
    expect(await confirming).toStrictEqual({ state: "Read", gathered: await source.gather(main) });
    // From now on, no wait is necessary.
    expect(await source.confirm(main, { beforeRemovals: true })).toStrictEqual(confirmed);
  });

  test("does not wait before additions, and then does not permit removals", async () => {
    await using scratch = await scratchDirectory(files);
    const { source } = await unsettled(scratch.path);
    expect(await source.confirm(main)).toMatchObject({ state: "Read", isUnsettled: true });
  });

  test("restarts the wait when the folder changes, and ends it immediately when a file of wafsync does", async () => {
    await using scratch = await scratchDirectory(files);
    const { source, clock } = await unsettled(scratch.path);
    await clock.advance(2_000);
    await scratch.write("notes.txt", "");
    let confirmed: ConfirmedGathering | undefined;
    const confirming = source.confirm(main, { beforeRemovals: true }).then((read) => (confirmed = read));
    await clock.advance(2_000);
    expect(confirmed).toBeUndefined();
    await scratch.write("urgent.yaml", ruleYaml("urgent", ["192.0.2.9"]));
    await source.load();
    expect(await confirming).toMatchObject({ state: "Read", isUnsettled: true });
    expect((await source.gather(main))?.rules).toHaveLength(2);
  });

  test("counts as incomplete with a message if the files change for a minute, and ends at a signal", async () => {
    await using scratch = await scratchDirectory(files);
    const { source, clock } = await unsettled(scratch.path);
    for (let second = 0; second < 70; second += 1) {
      await scratch.write("rule.yaml", `# ${second}\n${files["rule.yaml"]}`);
      const confirming = source.confirm(main, { beforeRemovals: true });
      await clock.advance(1_000);
      await source.load();
      const brokenSources = second < 60 ? [] : [expect.stringContaining("keep changing")];
      if (second < 58 || second > 62) expect(await confirming).toMatchObject({ gathered: { brokenSources } });
    }
    await clock.advance(3_000);
    await source.load();
    expect(source.isSettled()).toBe(true);
    await scratch.write("last.txt", "");
    const stop = AbortSignal.abort();
    expect(await source.confirm(main, { beforeRemovals: true, signal: stop })).toMatchObject({ isUnsettled: true });
    expect(await source.settle(stop)).toBe(false);
    const settling = source.settle(never);
    await clock.advance(3_000);
    expect(await settling).toBe(true);
  });
});

describe("a watched directory", () => {
  const files = { "a.yaml": `${instanceYaml}---\n${secretYaml}`, "rule.yaml": ruleYaml("office", ["192.0.2.1"]) };

  /** The snapshots that the watch reports, in order, and a way to wait for a certain one. */
  interface Watched extends AsyncDisposable {
    readonly path: string;
    readonly source: DirectorySource;
    until(wanted: (snapshot: DirectorySnapshot) => boolean): Promise<DirectorySnapshot>;
    write(file: string, content: string): Promise<void>;
  }

  async function watched(
    content: Readonly<Record<string, string>>,
    prepare: (path: string) => Promise<void> = async () => undefined,
    more: Partial<DirectorySourceOptions> = {},
  ): Promise<Watched> {
    const scratch = await scratchDirectory(content);
    await prepare(scratch.path);
    const source = sourceOf(scratch.path, more);
    await source.load();
    const waiting = new Set<() => void>();
    const onChange = (): void => waiting.forEach((look) => look());
    await source.watch(onChange, new AbortController().signal);
    return {
      path: scratch.path,
      source,
      write: async (file, content) => await scratch.write(file, content),
      until: async (wanted) =>
        await new Promise((resolve) => {
          const look = (): void => {
            if (!wanted(source.snapshot())) return;
            waiting.delete(look);
            resolve(source.snapshot());
          };
          waiting.add(look);
          look();
        }),
      async [Symbol.asyncDispose]() {
        await source.close();
        await scratch[Symbol.asyncDispose]();
      },
    };
  }

  const blocks =
    (address: string) =>
    ({ declared }: DirectorySnapshot): boolean =>
      declared.WafIpRule.some(({ addresses }) => addresses.includes(address));

  test("reports a changed file, a new one in a new folder, and a removed one", async () => {
    await using watch = await watched(files);
    await watch.write("rule.yaml", ruleYaml("office", ["192.0.2.2"]));
    await watch.until(blocks("192.0.2.2"));
    await watch.write("new/folder/rule.yml", ruleYaml("new", ["192.0.2.3"]));
    await watch.until(blocks("192.0.2.3"));
    await rm(join(watch.path, "new"), { recursive: true });
    // A scan in the middle of the removal reports a fault, and the next one takes it back.
    await watch.until((snapshot) => !blocks("192.0.2.3")(snapshot) && snapshot.faults.length === 0);
  });

  test("reports each file that an editor replaces by renaming", async () => {
    await using watch = await watched(files);
    for (const address of ["192.0.2.2", "192.0.2.3", "192.0.2.4"]) {
      await writeFile(join(watch.path, ".rule.yaml.swp"), ruleYaml("office", [address]));
      await rename(join(watch.path, ".rule.yaml.swp"), join(watch.path, "rule.yaml"));
      await watch.until(blocks(address));
    }
  });

  test("reports the change of a mounted ConfigMap when its link gets a new target", async () => {
    const version = async (path: string, name: string, address: string): Promise<void> => {
      await mkdir(join(path, name));
      await writeFile(join(path, name, "rule.yaml"), ruleYaml("office", [address]));
      await symlink(name, join(path, "..data_tmp"));
      await rename(join(path, "..data_tmp"), join(path, "..data"));
    };
    await using watch = await watched({ "a.yaml": files["a.yaml"] }, async (path) => {
      await version(path, "..2026_1", "192.0.2.1");
      await symlink("..data/rule.yaml", join(path, "rule.yaml"));
    });
    for (const number of [2, 3]) {
      await version(watch.path, `..2026_${number}`, `192.0.2.${number}`);
      await rm(join(watch.path, `..2026_${number - 1}`), { recursive: true });
      await watch.until(blocks(`192.0.2.${number}`));
    }
  });

  test("detects changes without an event at the next interval", async () => {
    await using watch = await watched({ "a.yaml": files["a.yaml"] }, undefined, { rescanIntervalMs: 40 });
    await rm(watch.path, { recursive: true });
    await watch.until(({ faults }) => faults.length > 0);
    await mkdir(watch.path);
    await watch.write("rule.yaml", files["rule.yaml"]);
    await watch.until(({ declared }) => declared.WafIpRule.length === 1);
  });
});
