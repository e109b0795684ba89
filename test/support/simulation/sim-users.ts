// The users of a simulation: they declare, change and delete objects, approve removals on hold, and sometimes change the WAF manually.
import { describeSource } from "../../../src/model/address-source.ts";
import { type DeclaredInstance, type DeclaredRule, type ListPolicy, listNames } from "../../../src/model/declared.ts";
import { readObservedEntry } from "../../../src/address/entry.ts";
import type { AddressText, GatheredRule } from "../../../src/model/gathered.ts";
import { type ResourceKind, nameKey, approvalAnnotation } from "../../../src/model/resource.ts";
import {
  aCacheClear,
  aGrant,
  aMeta,
  anInstance,
  anOrigin,
  aRule,
  type MetaOverrides,
  mapSource,
} from "../builders/declare.ts";
import type { SimWorld } from "./sim-world.ts";
import { spellings } from "./sim-waf.ts";

export const shop = "edge/shop";
export const twin = "edge/twin";
const shopName = { namespace: "edge", name: "shop" };
const misspelt = { namespace: "egde", instance: { namespace: "edge", name: "shpo" } };
export const hosts = ["a.example", "b.example", "198.51.100.9"] as const;

/** Entries that rules declare and other writers add: some of them overlap, and guards reject some of them. */
const pool: readonly string[] = [
  ...Array.from({ length: 24 }, (_, index) => `192.0.2.${index}`),
  "192.0.2.0/28",
  "192.0.2.12/30",
  "198.51.100.9",
  "198.51.100.0/29",
  "198.51.100.0/28",
  "203.0.113.0/24",
  "202.0.0.0/7",
  "10.1.2.0/24",
  "2001:db8::a",
  "2001:db8:1::/48",
  "fd00:1::/48",
];

/** Networks that rules leave out: one of them is sometimes protected. */
const excepts = [["192.0.2.8/30"], ["192.0.2.4/31", "203.0.113.7"]];

export class SimUsers {
  readonly #world: SimWorld;
  #generation = 1;
  #uid = 0;

  constructor(world: SimWorld) {
    this.#world = world;
  }

  /** A user changes the declared state. */
  declareSomething(): void {
    const world = this.#world;
    const { cluster } = world;
    const choice = world.pick(20);
    if (choice < 7) this.#changeRule();
    else if (choice < 9) this.#removeOne("rules", ["one", "two", "three", "four"]);
    else if (choice < 12) this.#changeOrigin();
    else if (choice < 15) this.#changeInstance();
    else if (choice < 17) this.#changeClear();
    else if (choice === 17) this.approve();
    else if (choice === 18)
      cluster.change({ broken: cluster.now.broken.length > 0 ? [] : ["rules.yaml can't be read."] });
    else this.#changeLife();
    world.note(undefined, `declared: ${this.#describe()}`);
  }

  /** A user declares some entries and immediately removes them: they may not be on the lists yet. */
  declareBriefly(): void {
    const { pick, cluster, time, note } = bound(this.#world);
    const from = pick(pool.length);
    const addresses = pool.slice(from, from + 1 + pick(3));
    const rule = aRule("brief", { addresses, priority: 3, meta: this.#metaOf("WafIpRule", "brief", {}) });
    cluster.put("rules", rule);
    note(`declared for a moment: ${addresses.join(" ")}`);
    time.after(pick(4_000), () => {
      if (cluster.now.rules.has("edge/brief")) this.#removeOne("rules", ["brief"]);
      note("taken back");
    });
  }

  createInstance(name = shop, change: Partial<DeclaredInstance> = {}): void {
    const access = [aGrant({ actions: ["Block", "Allow"], maxEntries: 8, minPrefixLength: { ipv4: 28, ipv6: 48 } })];
    const { rollouts, logs } = this.#world;
    const more = name === shop ? { ...rollouts.declared(), ...logs.declared() } : {};
    const instance = anInstance({ name, resyncIntervalMs: 300_000, access, ...more });
    const meta = { ...instance.meta, ...this.#meta() };
    this.#world.cluster.put("instances", { ...instance, meta, expectedDomain: this.#world.waf.domain, ...change });
  }

  edit(name: string, change: Partial<DeclaredInstance>, annotations: Readonly<Record<string, string>> = {}): void {
    const { cluster } = this.#world;
    const before = cluster.now.instances.get(name);
    if (before === undefined) return;
    this.#generation += 1;
    const meta = {
      ...before.meta,
      annotations: { ...before.meta.annotations, ...annotations },
      ...(cluster.isDirectory ? {} : { generation: this.#generation }),
    };
    cluster.put("instances", { ...before, ...change, meta });
  }

  /** A user reads the condition and approves exactly these removals. Sometimes, the user repeats an old approval. */
  approve(name = shop): void {
    const world = this.#world;
    const instance = world.cluster.now.instances.get(name);
    if (instance === undefined) return;
    const { usedHash } = world.ledger;
    if (usedHash !== undefined && world.chance(0.2)) return this.edit(name, {}, { [approvalAnnotation]: usedHash });
    const message = world.status.message(instance.meta, "RemovalsHeld");
    const hash = /approve-removals=([0-9a-f]{12})/.exec(message)?.[1];
    if (hash !== undefined && world.ledger.approve(hash)) {
      this.edit(name, {}, { [approvalAnnotation]: hash });
    }
  }

  /** Another writer changes the WAF's lists, or its primary origin changes. */
  changeByHand(): void {
    const { waf, ledger, pick, note } = bound(this.#world);
    const list = listNames[pick(2)] ?? "blocklist";
    const choice = pick(5);
    if (choice < 2) {
      const text = pick(2) === 0 ? `203.0.113.${pick(40)}` : (pool[pick(pool.length)] ?? "");
      const shown = (spellings[pick(spellings.length)] ?? ((same: string) => same))(text);
      if (waf.lists[list].includes(shown)) return;
      const entry = readObservedEntry(shown);
      const isNew = !waf.has(list, entry);
      waf.remember(list);
      waf.lists[list].push(shown);
      if (isNew) ledger.changedByOthers({ kind: "Added", list, entry });
      note(`another writer adds ${shown} to the ${list}`);
    } else if (choice < 4) {
      const place = pick(Math.max(1, waf.lists[list].length));
      waf.remember(list);
      const [text] = waf.lists[list].splice(place, 1);
      if (text === undefined) return;
      ledger.changedByOthers({ kind: "Removed", list, entry: readObservedEntry(text) });
      note(`another writer removes ${text} from the ${list}`);
    } else {
      waf.primary = ["origin.shop.example", ...hosts][pick(4)] ?? "origin.shop.example";
      note(`the primary origin is ${waf.primary}`);
    }
  }

  /** Origins that may have existed before with a different type: the user was asked to check them, and sets the declared type. */
  checkOrigins(): void {
    const { waf, cluster, toldToCheck } = this.#world;
    for (const { host, type, meta } of cluster.now.origins.values()) {
      if (!meta.deleting && toldToCheck.has(host) && waf.origins.has(host))
        waf.origins.set(host, type === "Alternate" ? "alternate" : "backup");
    }
  }

  /** Removes all obstacles to the declared state. */
  settle(): void {
    const { cluster, waf, ledger } = this.#world;
    waf.primary = "origin.shop.example";
    // Orphaned origins can't be continued, because they can't be read: the user removes them manually.
    for (const host of waf.origins.keys()) {
      if (!ledger.isOurOrigin(host) && !this.#world.inventory().origins.has(host)) waf.origins.delete(host);
    }
    cluster.change({ broken: [], key: waf.key });
    for (const [name, { rule }] of cluster.now.rules) {
      const isMisplaced = rule.meta.namespace === misspelt.namespace;
      if (rule.meta.deleting || isMisplaced) cluster.remove("rules", name);
      if (rule.meta.deleting) continue;
      const isAttached = cluster.now.instances.has(nameKey(rule.instance));
      const instance = isAttached ? rule.instance : shopName;
      const addresses = rule.addresses.filter((text) => text !== "nonsense");
      const namespace = isMisplaced ? shopName.namespace : rule.meta.namespace;
      const meta = { ...rule.meta, ...this.#touched(rule.meta), namespace };
      cluster.put("rules", { rule: { ...rule, instance, addresses, meta }, texts: [] });
    }
    for (const origin of cluster.now.origins.values()) {
      if (cluster.now.instances.has(nameKey(origin.instance))) continue;
      const corrected = { ...origin, meta: { ...origin.meta, ...this.#meta() }, instance: shopName };
      cluster.put("origins", corrected);
    }
    for (const name of cluster.now.instances.keys()) {
      const { policies, guards } = cluster.now.instances.get(name) ?? anInstance();
      const writing = (policy: ListPolicy): ListPolicy => (policy === "Observe" ? "Additive" : policy);
      this.edit(name, {
        ...(name === shop ? this.#world.logs.declared() : {}),
        suspend: false,
        resyncIntervalMs: 3_600_000,
        policies: {
          blocklist: writing(policies.blocklist),
          allowlist: writing(policies.allowlist),
          origins: "Additive",
        },
        guards: { ...guards, maxRemovals: 10_000, maxRemovalPercent: 100 },
      });
    }
  }

  #touched(meta: MetaOverrides): MetaOverrides {
    this.#generation += 1;
    return this.#world.cluster.isDirectory ? meta : { ...meta, generation: this.#generation };
  }

  /** Of a new object. */
  #meta(): MetaOverrides {
    this.#uid += 1;
    this.#generation += 1;
    if (this.#world.cluster.isDirectory) return { uid: "", generation: 1, createdAtMs: undefined };
    return { uid: `uid-${this.#uid}`, generation: this.#generation, createdAtMs: this.#world.time.nowMs() };
  }

  /** The name of an object that may exist. */
  #metaOf(kind: ResourceKind, name: string, annotations: Readonly<Record<string, string>>): MetaOverrides {
    const { rules, origins, clears } = this.#world.cluster.now;
    const full = aMeta(kind, name);
    const id = `${full.namespace}/${full.name}`;
    const before = kind === "WafIpRule" ? rules.get(id)?.rule.meta : (origins.get(id) ?? clears.get(id))?.meta;
    return { ...(before === undefined || before.deleting ? this.#meta() : this.#touched(before)), annotations };
  }

  /** A guest tries to block, to lift others' blocks, to come first, to adopt and to leave entries behind. */
  #changeGuestRule(): void {
    const { pick, chance, cluster, time } = bound(this.#world);
    const name = ["guest-a/mine", "guest-a/more", "guest-b/theirs"][pick(3)] ?? "guest-a/mine";
    if (chance(0.2) && cluster.now.rules.has(name)) return cluster.remove("rules", name);
    const from = pick(pool.length);
    const addresses = Array.from({ length: 1 + pick(8) }, (_, index) => pool[(from + index) % pool.length] ?? "");
    const annotations: Record<string, string> = chance(0.2) ? { "wafsync.dev/adopt": "true" } : {};
    const { rule } = aRule(name, {
      meta: this.#metaOf("WafIpRule", name, annotations),
      action: chance(0.5) ? "Allow" : "Block",
      addresses: [...new Set(addresses)],
      priority: pick(1_000),
      deletionPolicy: chance(0.2) ? "Retain" : "Delete",
      expiresAtMs: chance(0.1) ? time.nowMs() + pick(600_000) : undefined,
      ...this.#derivation(),
    });
    cluster.put("rules", { rule, texts: [] });
  }

  #changeRule(): void {
    if (this.#world.chance(0.25)) return this.#changeGuestRule();
    const { pick, chance, cluster, time } = bound(this.#world);
    const name = ["one", "two", "three", "four"][pick(4)] ?? "one";
    const before = cluster.now.rules.get(`edge/${name}`);
    if (before !== undefined && before.texts.length > 0 && chance(0.3)) {
      cluster.put("rules", { ...before, texts: before.texts.map(({ source }) => missing(source)) });
      return;
    }
    const from = pick(pool.length);
    const addresses = Array.from({ length: pick(10) }, (_, index) => pool[(from + index) % pool.length] ?? "");
    if (chance(0.1)) addresses.push("nonsense");
    const annotations: Record<string, string> = chance(0.1) ? { "wafsync.dev/adopt": "true" } : {};
    const rule = aRule(name, {
      meta: this.#metaOf("WafIpRule", name, annotations),
      action: name === "four" || (name === "three" && chance(0.5)) ? "Allow" : "Block",
      addresses: [...new Set(addresses)],
      feeds: this.#world.feeds.refs(),
      priority: pick(3),
      deletionPolicy: chance(0.1) ? "Retain" : "Delete",
      expiresAtMs: chance(0.1) ? time.nowMs() + pick(600_000) : undefined,
      ...this.#derivation(),
      instance: { namespace: "edge", name: name === "two" && cluster.now.instances.has(twin) ? "twin" : "shop" },
    });
    this.#putRule({ rule: rule.rule, texts: this.#texts() });
  }

  /** Sometimes with a typo in the reference or, in a directory, in the namespace. */
  #putRule(written: GatheredRule): void {
    const { chance, cluster } = bound(this.#world);
    const { rule } = written;
    const misplaced = `${misspelt.namespace}/${rule.meta.name}`;
    if (cluster.now.rules.has(misplaced)) cluster.remove("rules", misplaced);
    if (!chance(cluster.isDirectory ? 0.2 : 0.1)) return cluster.put("rules", written);
    // A reference is immutable: with a different reference, it is a different object.
    cluster.remove("rules", nameKey(rule.meta));
    const meta = { ...rule.meta, ...this.#meta() };
    if (cluster.isDirectory && chance(0.5)) {
      const moved = { ...meta, namespace: misspelt.namespace };
      const instance = { ...rule.instance, namespace: misspelt.namespace };
      return cluster.put("rules", { ...written, rule: { ...rule, meta: moved, instance } });
    }
    cluster.put("rules", { ...written, rule: { ...rule, meta, instance: misspelt.instance } });
  }

  #texts(): AddressText[] {
    const { pick, chance } = bound(this.#world);
    if (!chance(0.4)) return [];
    const source = mapSource(`edge/list-${pick(2)}`);
    if (chance(0.2)) return [missing(source)];
    const from = pick(pool.length);
    return [{ state: "Read", source, text: `# by hand\n${pool.slice(from, from + 1 + pick(6)).join("\n")}\n` }];
  }

  #changeOrigin(): void {
    const { pick, chance, cluster } = bound(this.#world);
    const host = hosts[pick(hosts.length)] ?? "a.example";
    if (chance(0.3)) return cluster.remove("origins", `edge/${host}`);
    const isMisspelt = chance(0.25);
    if (isMisspelt) cluster.remove("origins", `edge/${host}`);
    cluster.put(
      "origins",
      anOrigin(host, {
        meta: isMisspelt ? this.#meta() : this.#metaOf("WafOrigin", host, {}),
        ...(isMisspelt ? { instance: misspelt.instance } : {}),
        type: chance(0.5) ? "Alternate" : "Backup",
        deletionPolicy: chance(0.1) ? "Retain" : "Delete",
      }),
    );
  }

  #changeInstance(): void {
    const { pick, chance, cluster } = bound(this.#world);
    const name = chance(0.2) ? twin : shop;
    const policies: readonly ListPolicy[] = ["Additive", "Additive", "Additive", "Exclusive", "Observe"];
    const policy = (): ListPolicy => policies[pick(policies.length)] ?? "Additive";
    const before = cluster.now.instances.get(name) ?? anInstance();
    const choice = pick(5);
    if (choice === 0) this.edit(name, { suspend: !before.suspend });
    if (choice === 1) {
      const origins = chance(0.2) ? "Observe" : "Additive";
      this.edit(name, { policies: { blocklist: policy(), allowlist: policy(), origins } });
    }
    if (choice === 2) {
      const guards: DeclaredInstance["guards"] = {
        ...before.guards,
        maxRemovals: 1 + pick(8),
        maxRemovalPercent: 20 + pick(80),
        neverBlock: chance(0.3) ? ["192.0.2.8/30"] : [],
        minPrefixLength: { ipv4: chance(0.2) ? 26 : 8, ipv6: 16 },
        allowMinPrefixLength: { ipv4: chance(0.3) ? 29 : 16, ipv6: chance(0.3) ? 64 : 32 },
        specialPurpose: chance(0.3) ? "Allow" : "Reject",
      };
      this.edit(name, { guards, removalWindowMs: chance(0.5) ? 3_600_000 : 0 });
    }
    if (choice === 3) this.edit(name, {}, { "wafsync.dev/requested-at": String(this.#generation) });
    if (choice === 4) {
      const actions = chance(0.7) ? (["Block", "Allow"] as const) : (["Block"] as const);
      const grant = aGrant({ actions, maxEntries: 1 + pick(12), minPrefixLength: { ipv4: 24 + pick(9), ipv6: 48 } });
      this.edit(name, { access: chance(0.1) ? [] : [grant] });
    }
  }

  /** How the entries of a rule become those of its list. */
  #derivation(): Pick<DeclaredRule, "aggregate" | "except"> {
    const { pick, chance } = bound(this.#world);
    const except = chance(0.25) ? (excepts[pick(excepts.length)] ?? []) : [];
    return { aggregate: chance(0.4), except };
  }

  #changeClear(): void {
    const { pick, chance, cluster } = bound(this.#world);
    const name = ["deploy", "nightly"][pick(2)] ?? "deploy";
    if (chance(0.2)) return this.#removeOne("clears", [name]);
    const meta = this.#metaOf("WafCacheClear", name, {});
    // If rollouts clear the cache, each clear must be attributable to a rollout.
    if (this.#world.rollouts.isUsed) return;
    cluster.put("clears", aCacheClear(name, { meta, trigger: `commit-${pick(4)}` }));
  }

  /** Creates and deletes instances, and changes keys. */
  #changeLife(): void {
    const { pick, chance, cluster, waf } = bound(this.#world);
    const choice = pick(5);
    if (choice === 0) {
      if (cluster.now.instances.has(twin)) cluster.remove("instances", twin);
      else this.createInstance(twin);
    } else if (choice === 1) cluster.change({ key: cluster.now.key === undefined ? waf.key : undefined });
    else if (choice === 2 && !cluster.isDirectory) {
      if (!cluster.now.instances.has(shop)) return this.createInstance(shop);
      this.edit(shop, { deletionPolicy: chance(0.2) ? "Retain" : "Delete" });
      cluster.remove("instances", shop);
    } else if (choice === 3) {
      waf.key = `${waf.key.slice(0, 24)}${pick(1000)}`;
      if (chance(0.5)) cluster.change({ key: waf.key });
    } else if (cluster.now.key !== undefined) cluster.change({ key: waf.key });
  }

  #removeOne(part: "rules" | "clears", names: readonly string[]): void {
    const { pick, chance, cluster, status } = bound(this.#world);
    const name = `edge/${names[pick(names.length)] ?? ""}`;
    const object: GatheredRule | undefined = part === "rules" ? cluster.now.rules.get(name) : undefined;
    // The finalizer of another program.
    if (object !== undefined && chance(0.2)) {
      cluster.put("rules", { ...object, rule: { ...object.rule, meta: { ...object.rule.meta, deleting: true } } });
      return;
    }
    const meta = object?.rule.meta ?? cluster.now.clears.get(name)?.meta;
    cluster.remove(part, name);
    if (meta !== undefined) status.forget(meta);
  }

  #describe(): string {
    const { instances, rules, origins, clears, key, broken } = this.#world.cluster.now;
    const said = {
      instances: [...instances].map(([name, { meta, policies, suspend, guards, deletionPolicy }]) => ({
        name,
        ...policies,
        suspend,
        guards,
        deletionPolicy,
        deleting: meta.deleting,
      })),
      rules: [...rules.values()].map(({ rule, texts }) =>
        [
          rule.meta.name,
          rule.action,
          rule.addresses.join(" "),
          texts.map(({ state }) => state).join(" "),
          rule.deletionPolicy,
        ].join(": "),
      ),
      origins: [...origins.values()].map(({ host, type }) => `${host} ${type}`),
      clears: [...clears.values()].map(({ meta, trigger }) => `${meta.name} ${trigger}`),
      secret: key === undefined ? "gone" : key === this.#world.waf.key ? "right" : "wrong",
      broken,
    };
    return JSON.stringify(said);
  }
}

function missing(source: AddressText["source"]): AddressText {
  return { state: "Missing", source, problem: `${describeSource(source)} does not exist.` };
}

function bound(world: SimWorld) {
  return {
    cluster: world.cluster,
    waf: world.waf,
    ledger: world.ledger,
    status: world.status,
    time: world.time,
    pick: (count: number) => world.pick(count),
    chance: (share: number) => world.chance(share),
    note: (text: string) => world.note(undefined, text),
  };
}
