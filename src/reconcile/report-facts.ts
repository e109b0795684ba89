// Writes what a pass knows to the status of the instance and of all that is attached to it. The port writes only what differs.
import type { InstanceMemory } from "./instance-memory.ts";
import { instanceStatus } from "./assess-instance.ts";
import { originStatus } from "./assess-origin.ts";
import { ruleStatus } from "./assess-rule.ts";
import type { ConvergeFacts } from "./converge-facts.ts";
import type { ResourceMeta } from "../model/resource.ts";
import type { StatusPort } from "./ports.ts";

/** The annotation whose new value asks for a reconcile now. */
const requestedAtAnnotation = "wafsync.dev/requested-at";

export async function reportFacts(
  ports: { readonly status: StatusPort },
  memory: InstanceMemory,
  facts: ConvergeFacts,
): Promise<void> {
  const { status } = ports;
  const write = async (meta: ResourceMeta, next: (before: object) => object): Promise<void> => {
    const before: { readonly observedGeneration?: unknown } = status.read(meta) ?? {};
    // What an earlier pass said stays true while the WAF is read once more.
    if (facts.phase === "Started" && before.observedGeneration === meta.generation) return;
    await status.write(meta, withoutUndefined({ ...next(before), ...heard(meta) }));
  };
  const { meta } = facts.gathered.instance;
  await write(meta, (before) => instanceStatus(before, facts, memory.lastSyncMs));
  for (const rule of facts.desired.rules) {
    if (rule.rule.meta.deleting) continue;
    await write(rule.rule.meta, (before) => ruleStatus(before, rule, facts, memory.ruleChangedMs.get(rule.id)));
  }
  for (const origin of facts.desired.compiledOrigins) {
    await write(origin.origin.meta, (before) => originStatus(before, origin, facts));
  }
}

function heard(meta: ResourceMeta): object {
  const value = meta.annotations[requestedAtAnnotation];
  return value === undefined ? {} : { lastHandledRequest: value.slice(0, 1024) };
}

function withoutUndefined(status: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
}
