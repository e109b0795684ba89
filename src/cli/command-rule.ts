// The rules that `block` and `allow` write: one per address, with a name derived from the address, so that the same command
// finds the rule again. An annotation marks these rules, and commands change only marked rules.
import { formatTime } from "../model/texts.ts";
import { hexDigest } from "../model/hex-digest.ts";
import { apiVersion } from "../kinds/kinds.ts";
import { parseResource } from "../kinds/parse-resource.ts";
import { toDeclared } from "../kinds/to-declared.ts";
import { type DeclaredRule, unblockedAtMs } from "../model/declared.ts";
import { type Entry, networkOf, parseDeclaredEntry } from "../address/entry.ts";
import { partsOf } from "../address/network.ts";
import { CommandError } from "./describe-error.ts";
import { type ObjectName, type ResourceMeta, nameKey, nameLengthMax } from "../model/resource.ts";

/** Records which command wrote the rule. */
export const createdByAnnotation = "wafsync.dev/created-by";
const commandName = "wafsync-block";
/** Records who ran the command, as the API server knows the user. */
export const requestedByAnnotation = "wafsync.dev/requested-by";

/** Higher than the priorities of rules that pipelines and teams declare, so that an urgent address goes first. */
const commandPriority = 100_000;
const hashLength = 10;

export interface CommandRule extends ObjectName {
  readonly instance: ObjectName;
  readonly action: DeclaredRule["action"];
  readonly addresses: readonly Entry[];
  /** Undefined if the rule does not expire. */
  readonly expiresAtMs: number | undefined;
  readonly description: string;
}

/** The rule of one address. */
export function commandRule(
  fields: Pick<CommandRule, "namespace" | "instance" | "action" | "expiresAtMs" | "description">,
  entry: Entry,
): CommandRule {
  return { ...fields, name: ruleName(fields, entry), addresses: [entry] };
}

/**
 * `shop-block-192-0-2-7`, `shop-block-198-51-100-0-24`, `shop-allow-2001-db8-0-0-0-0-0-1`: different for each address. A rule in
 * another namespace than its instance names both, `team-a.shop-block-192-0-2-7`: instances of two namespaces can share a name.
 */
export function ruleName(
  { namespace, instance, action }: Pick<CommandRule, "namespace" | "instance" | "action">,
  entry: Entry,
): string {
  const { first, family } = networkOf(entry);
  const slash = entry.indexOf("/");
  const words = partsOf(first).map((part) => part.toString(family === "ipv4" ? 10 : 16));
  const suffix = [action.toLowerCase(), ...words, ...(slash === -1 ? [] : [entry.slice(slash + 1)])].join("-");
  // Namespaces have no dots, so the first dot of a name ends the namespace.
  const isPlain = instance.namespace === namespace && !instance.name.includes(".");
  const prefix = isPlain ? instance.name : `${instance.namespace}.${instance.name}`;
  const name = `${prefix}-${suffix}`;
  if (name.length <= nameLengthMax) return name;
  const hash = hexDigest(prefix, hashLength);
  return `wafsync-${hash}-${suffix}`;
}

/** The same rule, expired in the past: a run then removes its entries and reports when this is done. */
export function expiredRule({ meta, instance, action, description = "", ...rule }: DeclaredRule): CommandRule {
  const { namespace, name } = meta;
  return { namespace, name, instance, action, addresses: entriesOf(rule), expiresAtMs: unblockedAtMs, description };
}

/** The valid entries that the rule itself lists. */
export function entriesOf({ addresses }: Pick<DeclaredRule, "addresses">): readonly Entry[] {
  return addresses.flatMap((text) => {
    const parsed = parseDeclaredEntry(text);
    return parsed.ok ? [parsed.entry] : [];
  });
}

/** Who ran the command that wrote the object; undefined if unknown. For information only: who may write rules can write any name. */
export function requesterOf(meta: Pick<ResourceMeta, "annotations">): string | undefined {
  return isCommandRule(meta) ? meta.annotations[requestedByAnnotation] : undefined;
}

/** Whether a command wrote the object. */
export function isCommandRule({ annotations }: Pick<ResourceMeta, "annotations">): boolean {
  return annotations[createdByAnnotation] === commandName;
}

/** The object to write to a cluster or a file. @param user who runs the command, if known */
export function ruleDocument(rule: CommandRule, user?: string) {
  const { namespace, name, instance, action, addresses, expiresAtMs, description } = rule;
  const requester: Readonly<Record<string, string>> = user === undefined ? {} : { [requestedByAnnotation]: user };
  return {
    apiVersion,
    kind: "WafIpRule",
    metadata: { name, namespace, annotations: { [createdByAnnotation]: commandName, ...requester } },
    spec: {
      instanceRef: instance.namespace === namespace ? { name: instance.name } : { ...instance },
      action,
      ...(description === "" ? {} : { description }),
      priority: commandPriority,
      ...(expiresAtMs === undefined ? {} : { expiresAt: formatTime(expiresAtMs) }),
      addresses: [...addresses],
    },
  };
}

/** The rule as a run would see it, to check its effect before it is written. @throws CommandError if the rule is invalid */
export function declaredRule(rule: CommandRule, nowMs: number): DeclaredRule {
  const document = ruleDocument(rule);
  const metadata = { ...document.metadata, creationTimestamp: formatTime(nowMs) };
  const parsed = parseResource({ ...document, metadata }, rule.namespace);
  if (parsed.ok && parsed.value.kind === "WafIpRule") return toDeclared(parsed.value);
  const faults = parsed.ok ? [] : parsed.faults.map(({ path, message }) => `${path}: ${message}`);
  throw new CommandError(`WafIpRule ${nameKey(rule)} is invalid: ${faults.join("; ")}`, "Nothing was written.");
}
