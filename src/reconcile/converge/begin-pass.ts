// The beginning of a pass: everything before the first write. May it work at all, what does the WAF show, is it the right
// WAF, and what is the plan?
import type { ApiKey } from "../../model/api-key.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { ObjectName } from "../../model/resource.ts";
import { byAge } from "../../model/resource.ts";
import type { DesiredState } from "../../plan/instance/desired.ts";
import { noteDisputes } from "../../plan/lists/disputes.ts";
import { decideDomain } from "../../plan/instance/domain.ts";
import { findDrift } from "../../plan/instance/drift.ts";
import type { Observed } from "../../model/observed.ts";
import { planInstance } from "../../plan/instance/plan.ts";
import { factsOf } from "../facts.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { observeWaf } from "./observe-waf.ts";
import type { Pass } from "./run-state.ts";
import type { RunResult } from "../run-result.ts";
import type { ReconcilePorts, WafPort } from "../ports.ts";
import { reportFacts } from "./report.ts";
import { tellDrift } from "../status/emit-events.ts";

/** What is declared, as of one version of the source. */
export interface Declared {
  readonly version: number;
  readonly gathered: Gathered;
  readonly desired: DesiredState;
}

/** Everything before the first write: may it work at all, what does the WAF show, is it the right WAF, what is the plan. */
export async function beginPass(
  name: ObjectName,
  ports: ReconcilePorts,
  memory: InstanceMemory,
  { version, gathered, desired }: Declared,
): Promise<Pass | RunResult> {
  const startedMs = ports.clock.nowMs();
  const objection = precondition(gathered, ports);
  if ("end" in objection) return objection;
  memory.key = objection.key;
  const stored = await ports.inventory.load(name);
  if (stored.state === "Unreachable") {
    return { kind: "Blocked", blocker: "InventoryUnwritable", message: stored.problem };
  }
  if (stored.state === "Unreadable") {
    return { kind: "Blocked", blocker: "InventoryUnreadable", message: stored.problem };
  }
  const unheld = await ports.lifecycle.ensureFinalizer(gathered.instance.meta);
  if (unheld !== undefined) return { kind: "Blocked", blocker: "InventoryUnwritable", message: unheld };
  await reportFacts(ports, memory, factsOf({ gathered, desired, phase: "Started", nowMs: startedMs }));
  const waf = ports.openWaf(gathered.instance, objection.key);
  const read = await observeWaf(waf, desired, { signal: ports.abandon });
  if (!read.ok) return read.fault.code === "Aborted" ? { kind: "Interrupted" } : { kind: "Failed", fault: read.fault };
  const observed = read.value;
  const domain = decideDomain(gathered.instance, stored.inventory, observed.domain);
  if (domain.state === "Changed") return { kind: "Blocked", blocker: "DomainChanged", message: domain.message };
  const inventory = withDrift(ports, memory, gathered, desired, observed, domain.inventory);
  const pass = newPass({ name, ports, memory, waf, startedMs, version, gathered, desired, observed, inventory });
  pass.revision = stored.revision;
  pass.inventoryDirty = inventory !== stored.inventory;
  ports.observer.planned?.(name, pass.plan);
  return pass;
}

/** What must hold before the WAF is called at all. */
function precondition(gathered: Gathered, ports: ReconcilePorts): RunResult | { readonly key: ApiKey } {
  const { instance, key, sameKey } = gathered;
  const objection = ports.baseUrlObjection(instance.baseUrl);
  if (objection !== undefined) return { kind: "Blocked", blocker: "BaseUrlNotAllowed", message: objection };
  if (key.state === "Missing") return { kind: "Blocked", blocker: "MissingApiKey", message: key.problem };
  const oldest = [instance.meta, ...sameKey].toSorted(byAge)[0];
  if (oldest !== undefined && oldest !== instance.meta) {
    const message = `WafInstance ${oldest.namespace}/${oldest.name} is older and has the same base URL and API key: delete one of the two, or give this one the key of another WAF.`;
    return { kind: "Blocked", blocker: "DuplicateKey", message };
  }
  return { key: key.key };
}

function withDrift(
  ports: ReconcilePorts,
  memory: InstanceMemory,
  gathered: Gathered,
  desired: DesiredState,
  observed: Observed,
  inventory: Inventory,
): Inventory {
  const drift = findDrift(desired, observed, memory.lastSeen);
  tellDrift(ports.status, gathered.instance.meta, drift);
  const disputes = noteDisputes(inventory.disputes, drift, ports.clock.nowMs());
  return disputes === inventory.disputes ? inventory : { ...inventory, disputes };
}

function newPass(
  start: Pick<
    Pass,
    "name" | "ports" | "memory" | "waf" | "startedMs" | "version" | "gathered" | "desired" | "observed" | "inventory"
  > & { readonly waf: WafPort },
): Pass {
  const { desired, observed, inventory, startedMs } = start;
  return {
    ...start,
    revision: "",
    inventoryDirty: false,
    plan: planInstance({ desired, observed, inventory, nowMs: startedMs }),
    listsOfDomain: undefined,
    next: 0,
    confirmedMs: undefined,
    unread: new Set(),
    refused: new Map(),
    recordedNow: { blocklist: new Set(), allowlist: new Set() },
    originsRecordedNow: new Set(),
    done: { added: 0, removed: 0, originsAdded: 0, originsRemoved: 0 },
    waiting: undefined,
    lastProgressMs: startedMs,
    toldWaiting: undefined,
    progress: undefined,
    ended: false,
    clearsSeen: undefined,
    clearsNextMs: 0,
  };
}
