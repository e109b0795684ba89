// The origins that an instance should have. One host has one type: of two WafOrigins for a host, the oldest decides.
import type { DeclaredOrigin } from "../../model/declared.ts";
import type { Gathered } from "../../model/gathered.ts";
import { byAge, nameKey } from "../../model/resource.ts";
import { decideAttachment } from "../access/attach.ts";
import type { CompiledOrigin } from "../lists/compiled-rule.ts";

export interface DesiredOrigins {
  /** By host. */
  readonly wanted: ReadonlyMap<string, DeclaredOrigin>;
  readonly compiled: readonly CompiledOrigin[];
  /** Why removals are held. */
  readonly held: readonly string[];
}

export function compileOrigins(gathered: Gathered): DesiredOrigins {
  const wanted = new Map<string, DeclaredOrigin>();
  const compiled: CompiledOrigin[] = [];
  const held: string[] = [];
  for (const origin of gathered.origins.toSorted((a, b) => byAge(a.meta, b.meta))) {
    if (origin.meta.deleting) continue;
    const labels = gathered.namespaceLabels.get(origin.meta.namespace);
    const attachment = decideAttachment(gathered.instance, origin.meta.namespace, labels);
    if (attachment.state === "Unknown") held.push(`WafOrigin ${nameKey(origin.meta)}: ${attachment.message}`);
    if (attachment.state !== "Allowed") {
      compiled.push({ origin, verdict: "NotAllowed", message: attachment.message });
      continue;
    }
    const older = wanted.get(origin.host);
    if (older !== undefined && older.type !== origin.type) {
      const message = `${origin.host} is declared as ${older.type} by the older WafOrigin ${nameKey(older.meta)}: delete one of the two, or give them the same type.`;
      compiled.push({ origin, verdict: "Conflict", message });
      continue;
    }
    if (older === undefined) wanted.set(origin.host, origin);
    compiled.push({ origin, verdict: "Accepted", message: "" });
  }
  return { wanted, compiled, held };
}
