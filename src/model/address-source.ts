// Where the addresses of a rule come from, apart from `spec.addresses`. Only records and statuses contain descriptions instead: equal
// sources have equal ones.
import { nameKey, type ObjectName } from "./resource.ts";

/** The kinds of objects with texts, by the field of `spec.addressesFrom` that refers to them. */
export const textKinds = { configMapKeyRef: "ConfigMap", secretKeyRef: "Secret" } as const;
export type TextKind = (typeof textKinds)[keyof typeof textKinds];
export const textFields = Object.entries(textKinds) as [keyof typeof textKinds, TextKind][];

/** A text with one entry per line. */
export interface TextSource extends ObjectName {
  readonly kind: TextKind;
  readonly key: string;
}

export interface FeedSource extends ObjectName {
  readonly kind: "WafFeed";
}

/** The log of a WAF, which lists clients for automatic blocks. */
export interface LogSource {
  readonly kind: "Log";
}

export type AddressSource = TextSource | FeedSource | LogSource;

/** `ConfigMap shop/ipsum, key list` or `WafFeed shop/drop`. */
export function describeSource(source: AddressSource): string {
  if (source.kind === "Log") return "the log of blocked requests";
  const object = `${source.kind} ${nameKey(source)}`;
  return source.kind === "WafFeed" ? object : `${object}, key ${source.key}`;
}

/** The place of an entry in a text: `ConfigMap shop/ipsum, key list, line 3`. */
export function describeLine(source: string, line: number): string {
  return `${source}, line ${line}`;
}

/** The place of an entry in `spec.addresses`. */
export function describeIndex(index: number): string {
  return `spec.addresses[${index}]`;
}
