// The kept data of a ConfigMap: only the keys that rules refer to. Texts that are too large can be dropped: then their digests
// remain, so that a change is still detected.
import { hexDigest } from "../../model/hex-digest.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import { keysInWords } from "../data-keys.ts";
import type { ConfigMapObject } from "./cluster-object.ts";

export interface ConfigMapContent {
  readonly uid: string;
  readonly version: string;
  /** The keys that rules referred to when it was read. */
  readonly wanted: ReadonlySet<string>;
  readonly data: Map<string, string>;
  /** Keys whose text was too large to keep. */
  readonly dropped: Map<string, { readonly lines: number; readonly digest: string }>;
  /** A description of its keys. */
  readonly has: string;
}

export function contentOf({ metadata, data }: ConfigMapObject, wanted: ReadonlySet<string>): ConfigMapContent {
  const all = data ?? {};
  const kept = new Map([...wanted].flatMap((key) => (Object.hasOwn(all, key) ? [[key, all[key] ?? ""]] : [])));
  const has = keysInWords(Object.keys(all));
  return { uid: metadata.uid, version: versionOf({ metadata }), wanted, data: kept, dropped: new Map(), has };
}

export function versionOf({ metadata }: KubeObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`;
}

/** Compares the keys that both have. */
export function sameContent(left: ConfigMapContent | undefined, right: ConfigMapContent | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  if (left.uid !== right.uid) return false;
  return [...right.wanted].every((key) => {
    const dropped = left.dropped.get(key)?.digest;
    const text = right.data.get(key);
    if (dropped !== undefined) return text !== undefined && hexDigest(text) === dropped;
    return !left.wanted.has(key) || left.data.get(key) === text;
  });
}
