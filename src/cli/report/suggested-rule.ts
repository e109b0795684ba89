// A WafIpRule, as YAML to copy, for the clients that are not on the blocklist yet.
import { stringify } from "yaml";
import type { Entry } from "../../model/entry.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { DayRange } from "../../plan/log-cursor.ts";
import { formatDay } from "../../reconcile/log-days.ts";

/** Addresses change hands: a rule for good is for a person to decide on. */
const ttl = "7d";
const unknownInstance = "my-waf";

/** @returns undefined if there is nothing to block */
export function suggestRule(
  addresses: readonly Entry[],
  instance: ObjectName | undefined,
  { firstDay, lastDay }: DayRange,
): string | undefined {
  if (addresses.length === 0) return undefined;
  const rule = {
    apiVersion: "wafsync.dev/v1alpha1",
    kind: "WafIpRule",
    metadata: {
      name: `top-clients-${formatDay(lastDay)}`,
      ...(instance !== undefined && { namespace: instance.namespace }),
    },
    spec: {
      instanceRef: { name: instance?.name ?? unknownInstance },
      action: "Block",
      description: `Most blocked requests from ${formatDay(firstDay)} to ${formatDay(lastDay)}`,
      ttl,
      addresses,
    },
  };
  const named = instance === undefined ? `# Write the name of your WafInstance instead of ${unknownInstance}.\n` : "";
  return `# Look at the addresses first: one of them may be a proxy that many people share.\n${named}${stringify(rule)}`;
}
