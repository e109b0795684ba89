// Gathers the objects of one instance of a directory. Pure; the same snapshot gives the same objects, so each list of
// addresses is parsed only once.
import type { ApiKey, ValidatedApiKey } from "../../model/api-key.ts";
import { validateApiKey } from "../../model/api-key.ts";
import { nearestName } from "../../api/nearest-name.ts";
import type { DeclaredInstance, DeclaredRule } from "../../model/declared.ts";
import type { AddressText, Gathered, GatheredKey } from "../../model/gathered.ts";
import { nameKey } from "../../model/resource.ts";
import type { ObjectName, ResourceMeta } from "../../model/resource.ts";
import { keysInWords } from "../data-keys.ts";
import { gather, type Labels, type Parsed } from "../gather.ts";
import type { EnvironmentKey } from "./environment-key.ts";
import { environmentKeyObjection } from "./environment-key.ts";
import { sourceOfText } from "./place-of-field.ts";
import { brokenSourcesOf } from "./snapshot.ts";
import type { ConfigMapDocument, DirectorySnapshot, SecretDocument } from "./snapshot.ts";
import { brokenReferencesOf } from "./unattached.ts";

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
  const referring = <T extends { readonly instance: ObjectName }>(all: readonly T[]): Parsed<T>[] =>
    all.flatMap((declared) => (nameKey(declared.instance) === nameKey(name) ? [{ ok: true, declared }] : []));
  const key = keyOf(snapshot, instance, environmentKey);
  return await gather({
    instance,
    attached: {
      WafIpRule: referring(snapshot.rules),
      WafOrigin: referring(snapshot.origins),
      WafCacheClear: referring(snapshot.cacheClears),
      WafAutoBlock: referring(snapshot.autoBlocks),
    },
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
    const source = sourceOfText(mapName, key);
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
