// A WafIpRule, as YAML to copy, for the clients that are not on the blocklist yet.
import { stringify } from "yaml";
import type { Entry } from "../../model/entry.ts";
import type { ObjectName } from "../../model/resource.ts";
import { dayMs } from "../../model/time-text.ts";
import { dayOf, formatDay } from "../../reconcile/logs/log-days.ts";
import type { Period } from "./time-bars.ts";

/** Addresses change owners, so only a person should decide on a rule that never expires. */
const daysBlocked = 7;
const unknownInstance = "my-waf";

/**
 * @param nowMs milliseconds since 1970
 * @returns undefined if there is nothing to block
 */
export function suggestRule(
  addresses: readonly Entry[],
  instance: ObjectName | undefined,
  { startMs, endMs }: Period,
  nowMs: number,
): string | undefined {
  if (addresses.length === 0) return undefined;
  const [firstDay, lastDay] = [dayOf(startMs), dayOf(endMs - 1)];
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
      // Not a `ttl`, which counts from the creation of the object: a file has no creation time.
      expiresAt: new Date(nowMs + daysBlocked * dayMs).toISOString().replace(/\.\d+/, ""),
      addresses,
    },
  };
  const named = instance === undefined ? `# Replace ${unknownInstance} with the name of your WafInstance.\n` : "";
  return `# Check the addresses first: one of them may be a proxy that many people share.\n${named}${stringify(rule)}`;
}
