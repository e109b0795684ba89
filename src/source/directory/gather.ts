// Gathers the objects of the instances of one snapshot, and finds those that refer to an instance that the directory does not declare,
// usually because of a typo.
import { nearestName } from "../../kinds/nearest-name.ts";
import type { TextSource } from "../../model/address-source.ts";
import { type ApiKey, validateApiKey } from "../../model/api-key.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import type { AddressText, BrokenReference, BrokenReferences, Gathered, GatheredKey } from "../../model/gathered.ts";
import { entryKinds, guestKinds, nameKey, type ObjectName, resourceKey } from "../../model/resource.ts";
import { type AttachedObjects, byGuestKind, gather, keysInWords, missingInstance } from "../gather.ts";
import { type DirectorySnapshot, blocksRemovalsOf, faultText, placeText } from "./snapshot.ts";

/** The API key for the single instance of a folder whose Secret is not in the folder. */
export interface EnvironmentKey {
  readonly text: string;
  /** Whether the key may be sent to this base URL: it is never sent to any other URL. */
  readonly isFor: (baseUrl: string) => boolean;
}

// Results are cached by these objects, so an unchanged file gives the same ones.
const addressTexts = new WeakMap<ApiKey, AddressText>();

export class Gathering {
  readonly #snapshot: DirectorySnapshot;
  readonly #environmentKey: EnvironmentKey | undefined;
  readonly #gathered = new Map<string, Gathered>();
  readonly #keys: ReadonlyMap<DeclaredInstance, GatheredKey>;
  readonly #brokenReferences: BrokenReferences;

  /** @param environmentKey the key for the one instance whose Secret is not in the directory */
  constructor(snapshot: DirectorySnapshot, environmentKey: EnvironmentKey | undefined) {
    this.#snapshot = snapshot;
    this.#environmentKey = environmentKey;
    this.#keys = new Map(snapshot.declared.WafInstance.map((instance) => [instance, this.#keyOf(instance)]));
    this.#brokenReferences = brokenReferencesOf(snapshot);
  }

  /** Everything that a run of the instance needs, always the same object; undefined if the directory does not declare it. */
  of(name: ObjectName): Gathered | undefined {
    const instance = this.#snapshot.find("WafInstance", name)?.declared;
    if (instance === undefined) return undefined;
    const gathered = this.#gathered.get(nameKey(name)) ?? this.#gather(instance);
    this.#gathered.set(nameKey(name), gathered);
    return gathered;
  }

  #gather(instance: DeclaredInstance): Gathered {
    const { declared, faults } = this.#snapshot;
    const name = nameKey(instance.meta);
    const all = byGuestKind((kind) => declared[kind].filter((one) => nameKey(one.instance) === name));
    const attached = all as AttachedObjects;
    const key = this.#keys.get(instance) ?? this.#keyOf(instance);
    return gather({
      instance,
      attached,
      // Kubernetes sets this label on each namespace.
      labelsOf: (namespace) => ({
        ...this.#snapshot.find("Namespace", { namespace, name: namespace })?.labels,
        "kubernetes.io/metadata.name": namespace,
      }),
      key,
      rules: attached.WafIpRule.map((rule) => ({
        rule,
        texts: rule.addressesFrom.map((source) => this.#textOf(source)),
      })),
      sameKey: declared.WafInstance.filter((other) => other !== instance && isSame(key, this.#keys.get(other))).map(
        ({ meta }) => meta,
      ),
      brokenSources: faults.filter((fault) => blocksRemovalsOf(fault, instance.meta)).map(faultText),
      brokenReferences: this.#brokenReferences,
    });
  }

  #keyOf(instance: DeclaredInstance): GatheredKey {
    const { meta, apiKeySecretRef } = instance;
    const name = { namespace: meta.namespace, name: apiKeySecretRef.name };
    const secret = this.#snapshot.find("Secret", name);
    if (secret === undefined) return this.#environmentKeyOf(instance, nameKey(name));
    const what = `Secret ${nameKey(name)} (${placeText(secret.file, secret.line)})`;
    const stored = secret.texts.get(apiKeySecretRef.key);
    if (stored !== undefined) return validKey(stored.reveal(), `The API key, ${apiKeySecretRef.key} of ${what},`);
    const has = keysInWords(secret.texts.keys());
    const problem = `${what} has no key ${apiKeySecretRef.key}: ${has}. Add it, or set spec.apiKeySecretRef.key.`;
    return { state: "Missing", problem };
  }

  #environmentKeyOf({ baseUrl }: DeclaredInstance, secret: string): GatheredKey {
    const key = this.#environmentKey;
    const takers = this.#snapshot.declared.WafInstance.filter(
      ({ meta, baseUrl: url, apiKeySecretRef: { name } }) =>
        key?.isFor(url) === true && this.#snapshot.find("Secret", { namespace: meta.namespace, name }) === undefined,
    );
    if (key?.isFor(baseUrl) === true && takers.length === 1) {
      return validKey(key.text, "The API key in the environment variable WAFSYNC_API_KEY");
    }
    const problem = `Secret ${secret} (spec.apiKeySecretRef) is not in the directory: add it, or set the environment variables WAFSYNC_API_KEY to the API key and WAFSYNC_BASE_URL to the base URL, which works for a single instance.`;
    return { state: "Missing", problem };
  }

  #textOf(source: TextSource): AddressText {
    const { kind, key } = source;
    const missing = (problem: string): AddressText => ({ state: "Missing", source, problem });
    const object = this.#snapshot.find(kind, source);
    if (object === undefined) {
      const near = nearestName(
        nameKey(source),
        this.#snapshot.all(kind).map(({ name }) => nameKey(name)),
      );
      const hint = near === undefined ? ": add it, or correct spec.addressesFrom" : `; did you mean ${near}?`;
      return missing(`${kind} ${nameKey(source)} is not in the directory${hint}`);
    }
    const stored = object.texts.get(key);
    if (stored === undefined) {
      const has = keysInWords(object.texts.keys());
      return missing(`${kind} ${nameKey(source)} has no key ${key}, ${has}: correct spec.addressesFrom`);
    }
    const known = addressTexts.get(stored) ?? { state: "Read", source, text: stored.reveal() };
    addressTexts.set(stored, known);
    return known;
  }
}

function isSame(key: GatheredKey, other: GatheredKey | undefined): boolean {
  return key.state === "Present" && other?.state === "Present" && key.key.fingerprint() === other.key.fingerprint();
}

function validKey(text: string, subject: string): GatheredKey {
  const validated = validateApiKey(text);
  if (validated.ok) return { state: "Present", key: validated.key };
  const hint = text.trim() === "" ? ": set it to the API key of the WAF" : "";
  return { state: "Missing", problem: `${subject} ${validated.problem}${hint}.` };
}

/** An object whose instance is not in the directory. `problem` is a part of a sentence that names the instance, or a similar one. */
export interface Unattached extends Pick<BrokenReference, "problem"> {
  readonly declared: AttachedObject;
}

type AttachedObject = DirectorySnapshot["declared"][(typeof guestKinds)[number]][number];

/** All objects that refer to an undeclared instance. */
export function unattachedOf(snapshot: DirectorySnapshot): Unattached[] {
  const objects = guestKinds.flatMap((kind): readonly AttachedObject[] => snapshot.declared[kind]);
  return objects
    .filter(({ instance }) => snapshot.find("WafInstance", instance) === undefined)
    .map((declared) => ({
      declared,
      problem: undeclaredInstance(snapshot, declared.instance),
    }));
}

/** The same for all instances of a snapshot: only their inventories record to which of them an object belonged. */
function brokenReferencesOf(snapshot: DirectorySnapshot): BrokenReferences {
  const broken = unattachedOf(snapshot).filter((one): one is BrokenReference =>
    entryKinds.some((kind) => kind === one.declared.meta.kind),
  );
  const objects = new Map(broken.map((one) => [resourceKey(one.declared.meta), one]));
  return { objects, existing: new Set(snapshot.items.keys()) };
}

function undeclaredInstance({ declared, faults }: DirectorySnapshot, instance: ObjectName): string {
  const isRefused = faults.some((fault) => fault.blocksRemovals !== "All" && blocksRemovalsOf(fault, instance));
  if (isRefused) return `there is no valid WafInstance ${nameKey(instance)} in the directory: correct its errors first`;
  return missingInstance(
    instance,
    declared.WafInstance.map(({ meta }) => meta),
    " in the directory",
  );
}
