// The desired origins of an instance. A host has one type: if there are two WafOrigins for a host, the owner's takes precedence,
// then the older one.
import type { DeclaredOrigin } from "../model/declared.ts";
import type { EntryOwner } from "../model/entry-owners.ts";
import type { Gathered } from "../model/gathered.ts";
import { byAge, nameKey } from "../model/resource.ts";
import { decideAttachment } from "../model/attachment.ts";
import { limitedOrigin, ungrantedPart } from "./guest-limits.ts";
import type { Broken, CompiledOrigin } from "./compiled-rule.ts";
import { type BrokenObjects, type LastDeclared, rememberOrigins } from "./remembered.ts";

export interface DesiredOrigins {
  /** By host. */
  readonly wanted: ReadonlyMap<string, DeclaredOrigin>;
  readonly compiled: readonly CompiledOrigin[];
  /** Those that only the record says are declared, each with what can't be read. */
  readonly remembered: ReadonlyMap<string, Broken>;
  /** Whether it is unknown if some WafOrigin is attached. */
  readonly isUnknown: boolean;
}

export function compileOrigins(
  gathered: Gathered,
  objects?: Pick<BrokenObjects, "of">,
  recorded: LastDeclared["origins"] = new Map(),
): DesiredOrigins {
  const wanted = new Map<string, DeclaredOrigin>();
  const compiled: CompiledOrigin[] = [];
  const unknown = new Map<string, Broken>();
  const home = gathered.instance.meta.namespace;
  const isOwners = ({ meta }: DeclaredOrigin): boolean => meta.namespace === home;
  const byRank = (a: DeclaredOrigin, b: DeclaredOrigin): number =>
    Number(isOwners(b)) - Number(isOwners(a)) || byAge(a.meta, b.meta);
  for (const declared of gathered.origins.toSorted(byRank)) {
    if (declared.meta.deleting) continue;
    const { namespace } = declared.meta;
    const attachment = decideAttachment(
      gathered.instance,
      "WafOrigin",
      namespace,
      gathered.namespaceLabels.get(namespace),
    );
    if (attachment.state === "Unknown") {
      const name = nameKey(declared.meta);
      unknown.set(name, { reason: `WafOrigin ${name}: ${attachment.message}`, letGo: "delete the WafOrigin" });
    }
    if (attachment.state !== "Allowed") {
      compiled.push({ origin: declared, isAttached: false, verdict: "NotAllowed", message: attachment.message });
      continue;
    }
    const { grant } = attachment;
    const origin = grant === undefined ? declared : limitedOrigin(declared, grant);
    const older = wanted.get(origin.host);
    if (older !== undefined && older.type !== origin.type) {
      const other =
        isOwners(origin) || older.meta.namespace === namespace
          ? `WafOrigin ${nameKey(older.meta)}`
          : "a WafOrigin of another namespace";
      const message = `${origin.host} is declared as ${older.type} by ${other}, which takes precedence: delete one of the two, or give them the same type.`;
      compiled.push({ origin, isAttached: true, verdict: "Conflict", message });
      continue;
    }
    if (older === undefined) wanted.set(origin.host, origin);
    const ungranted = grant === undefined ? undefined : ungrantedPart(gathered.instance, declared, grant);
    const verdict = ungranted === undefined ? "Accepted" : "NotAllowed";
    compiled.push({ origin, isAttached: true, verdict, message: ungranted ?? "" });
  }
  const brokenOf = (owner: EntryOwner): Broken | undefined => objects?.of(owner) ?? unknown.get(owner.name);
  const recalled = rememberOrigins(gathered, recorded, brokenOf, wanted);
  for (const [host, { origin }] of recalled) wanted.set(host, origin);
  const remembered = new Map([...recalled].map(([host, { broken }]) => [host, broken]));
  return { wanted, compiled, remembered, isUnknown: unknown.size > 0 };
}
