// Gathers the objects of one instance of a directory, and finds those that refer to an instance that the directory does not declare,
// usually because of a typo. The same snapshot gives the same objects, so each list of addresses is parsed only once.
import { nearestName } from "../../kinds/nearest-name.ts";
import { type ApiKey, validateApiKey, type ValidatedApiKey } from "../../model/api-key.ts";
import type { DeclaredInstance, DeclaredRule } from "../../model/declared.ts";
import type { AddressText, BrokenReference, BrokenReferences, Gathered, GatheredKey } from "../../model/gathered.ts";
import {
  nameKey,
  type ObjectName,
  resourceKey,
  type ResourceMeta,
  entryKinds,
  type GuestKind,
  guestKinds,
} from "../../model/resource.ts";
import { listed } from "../../model/sentence.ts";
import {
  type AttachedObjects,
  byGuestKind,
  configMapSource,
  gather,
  keysInWords,
  type Labels,
  missingInstance,
} from "../gather.ts";
import {
  brokenSourcesOf,
  type ConfigMapDocument,
  type DirectorySnapshot,
  placeOfReference,
  type SecretDocument,
} from "./snapshot.ts";

/** The API key for the single instance of a folder whose Secret is not in the folder. */
export interface EnvironmentKey {
  readonly text: string;
  /** Whether the key may be sent to this base URL: it is never sent to any other URL. */
  readonly isFor: (baseUrl: string) => boolean;
}

/**
 * Everything that a reconcile run of the instance needs; undefined if the directory does not declare the instance.
 * @param environmentKey The key for the one instance whose Secret is not in the directory.
 */
export async function gatherInstance(
  snapshot: DirectorySnapshot,
  name: ObjectName,
  environmentKey: EnvironmentKey | undefined,
): Promise<Gathered | undefined> {
  const instance = snapshot.instances.get(nameKey(name));
  if (instance === undefined) return undefined;
  const referring = (kind: GuestKind) =>
    snapshot.declared[kind].filter((one) => nameKey(one.instance) === nameKey(name));
  const attached = byGuestKind((kind) => referring(kind).map((declared) => ({ ok: true, declared })));
  const key = keyOf(snapshot, instance, environmentKey);
  return await gather({
    instance,
    attached: attached as AttachedObjects,
    labelsOf: (namespace) => labelsOf(snapshot, namespace),
    references: async (rules) => ({
      key,
      rules: rules.map((rule) => ({ rule, texts: textsOf(snapshot, rule) })),
      sameKey: key.state === "Present" ? sameKey(snapshot, instance, key.key, environmentKey) : [],
      problems: [],
    }),
    gaps: brokenSourcesOf(snapshot, name),
    brokenReferences: brokenReferencesOf(snapshot),
  });
}

function sameKey(
  snapshot: DirectorySnapshot,
  instance: DeclaredInstance,
  key: ApiKey,
  environmentKey: EnvironmentKey | undefined,
): ResourceMeta[] {
  return [...snapshot.instances.values()]
    .filter((other) => other !== instance)
    .filter((other) => {
      const otherKey = keyOf(snapshot, other, environmentKey);
      return otherKey.state === "Present" && otherKey.key.fingerprint() === key.fingerprint();
    })
    .map(({ meta }) => meta);
}

function keyOf(
  snapshot: DirectorySnapshot,
  instance: DeclaredInstance,
  environmentKey: EnvironmentKey | undefined,
): GatheredKey {
  const { meta, apiKeySecretRef } = instance;
  const name = nameKey({ namespace: meta.namespace, name: apiKeySecretRef.name });
  const secret = snapshot.secrets.get(name);
  if (secret !== undefined) return keyOfSecret(secret, apiKeySecretRef.key);
  if (environmentKey === undefined) return { state: "Missing", problem: missingSecret(snapshot, name) };
  const objection = environmentKeyObjection(snapshot, instance, environmentKey);
  if (objection !== undefined) {
    const problem = `Secret ${name} (spec.apiKeySecretRef) is not in the directory, ${objection}`;
    return { state: "Missing", problem };
  }
  const { text } = environmentKey;
  return validKey(text, validateApiKey(text), "The API key in the environment variable WAFSYNC_API_KEY");
}

// Each instance compares its key with those of all others.
const validatedKeys = new WeakMap<ApiKey, ValidatedApiKey>();

function keyOfSecret(secret: SecretDocument, key: string): GatheredKey {
  const name = `Secret ${nameKey(secret.name)} (${secret.location})`;
  const value = secret.data.get(key);
  if (value !== undefined) {
    const validated = validatedKeys.get(value) ?? validateApiKey(value.reveal());
    validatedKeys.set(value, validated);
    return validKey(value.reveal(), validated, `The API key, ${key} of ${name},`);
  }
  const has = keysInWords(secret.data.keys());
  return { state: "Missing", problem: `${name} has no key ${key}: ${has}. Add it, or set spec.apiKeySecretRef.key.` };
}

function validKey(text: string, validated: ValidatedApiKey, subject: string): GatheredKey {
  if (validated.ok) return { state: "Present", key: validated.key };
  const hint = text.trim() === "" ? ": set it to the API key of the WAF" : "";
  return { state: "Missing", problem: `${subject} ${validated.problem}${hint}.` };
}

function missingSecret(snapshot: DirectorySnapshot, name: string): string {
  const near = nearestName(name, [...snapshot.secrets.keys()]);
  const hint = near === undefined ? "" : ` Did you mean ${near}?`;
  const broken = snapshot.faults.some(({ blocksRemovals }) => blocksRemovals === "All");
  const where = broken ? "in the directory, part of which cannot be read" : "in the directory";
  return `Secret ${name} (spec.apiKeySecretRef) is not ${where}: add it, or set the environment variables WAFSYNC_API_KEY to the API key and WAFSYNC_BASE_URL to the base URL.${hint}`;
}

const addressTexts = new WeakMap<ConfigMapDocument, Map<string, AddressText>>();

function textsOf(snapshot: DirectorySnapshot, { meta, addressesFrom }: DeclaredRule): AddressText[] {
  return addressesFrom.map(({ name, key }): AddressText => {
    const mapName = nameKey({ namespace: meta.namespace, name });
    const source = configMapSource({ namespace: meta.namespace, name }, key);
    const configMap = snapshot.configMaps.get(mapName);
    if (configMap === undefined) {
      const near = nearestName(mapName, [...snapshot.configMaps.keys()]);
      const hint = near === undefined ? ": add it, or correct spec.addressesFrom" : `; did you mean ${near}?`;
      const problem = `ConfigMap ${mapName} is not in the directory${hint}`;
      return { state: "Missing", source, problem };
    }
    return textOf(configMap, key, source);
  });
}

function textOf(configMap: ConfigMapDocument, key: string, source: string): AddressText {
  const text = Object.hasOwn(configMap.data, key) ? configMap.data[key] : undefined;
  if (text === undefined) {
    const has = keysInWords(Object.keys(configMap.data));
    const problem = `ConfigMap ${nameKey(configMap.name)} has no key ${key}, ${has}: correct spec.addressesFrom`;
    return { state: "Missing", source, problem };
  }
  const known = addressTexts.get(configMap) ?? new Map<string, AddressText>();
  addressTexts.set(configMap, known);
  const address = known.get(key) ?? { state: "Read", source, text };
  known.set(key, address);
  return address;
}

/** Kubernetes sets this label on each namespace. */
function labelsOf(snapshot: DirectorySnapshot, namespace: string): Labels {
  return { ...snapshot.namespaceLabels.get(namespace), "kubernetes.io/metadata.name": namespace };
}

/** Why the instance, which has no Secret in the folder, does not get the key, as a partial sentence; undefined if it does. */
function environmentKeyObjection(
  { instances, secrets }: DirectorySnapshot,
  { baseUrl }: DeclaredInstance,
  { isFor }: EnvironmentKey,
): string | undefined {
  if (!isFor(baseUrl)) {
    return `and the API key in the environment variable WAFSYNC_API_KEY is not for ${baseUrl}: if it should be, set WAFSYNC_BASE_URL or --allowed-base-urls to this URL.`;
  }
  const takers = [...instances.values()].filter(
    (one) => isFor(one.baseUrl) && !secrets.has(nameKey({ ...one.meta, name: one.apiKeySecretRef.name })),
  );
  if (takers.length === 1) return undefined;
  const names = takers.map(({ meta }) => nameKey(meta)).sort();
  return `and the API key in the environment variable WAFSYNC_API_KEY is for only one instance, but ${listed(names, namesShownMax)} have no Secret: add their Secrets.`;
}

const namesShownMax = 5;

/** An object whose instance is not in the directory. `problem` is a part of a sentence that names the instance, or a similar one. */
export interface Unattached extends Pick<BrokenReference, "problem" | "place"> {
  readonly declared: DirectorySnapshot["declared"][GuestKind][number];
}

/** All objects that refer to an undeclared instance. */
export function unattachedOf(snapshot: DirectorySnapshot): Unattached[] {
  const unattached = guestKinds
    .flatMap((kind): readonly Unattached["declared"][] => snapshot.declared[kind])
    .filter(({ instance }) => !snapshot.instances.has(nameKey(instance)));
  return unattached.map((declared) => ({
    declared,
    place: placeOfReference(snapshot, declared.meta),
    problem: undeclaredInstance(snapshot, declared.instance),
  }));
}

const knownReferences = new WeakMap<DirectorySnapshot, BrokenReferences>();

/** The same for all instances of a snapshot: only their inventories record to which of them an object belonged. */
export function brokenReferencesOf(snapshot: DirectorySnapshot): BrokenReferences {
  const known = knownReferences.get(snapshot);
  if (known !== undefined) return known;
  const declaresEntries = (one: Unattached): one is BrokenReference =>
    entryKinds.some((kind) => kind === one.declared.meta.kind);
  const broken = unattachedOf(snapshot).filter(declaresEntries);
  const objects = new Map(broken.map((one) => [resourceKey(one.declared.meta), one]));
  const references = { objects, existing: new Set(snapshot.items.keys()) };
  knownReferences.set(snapshot, references);
  return references;
}

function undeclaredInstance({ instances, faults }: DirectorySnapshot, instance: ObjectName): string {
  const isRefused = faults.some(({ severity, blocksRemovals }) => {
    return severity === "Error" && typeof blocksRemovals !== "string" && nameKey(blocksRemovals) === nameKey(instance);
  });
  if (isRefused) return `there is no valid WafInstance ${nameKey(instance)} in the directory: correct its errors first`;
  return missingInstance(
    instance,
    [...instances.values()].map(({ meta }) => meta),
    " in the directory",
  );
}
