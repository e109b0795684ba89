// Brings one WAF to the state that its users declare, and says on every object what came of it:
//
//   gather ──▶ observe ──▶ plan ──▶ record ──▶ apply, one call at a time ──▶ verify ──▶ report
//                           ▲                        │ something newer is declared,
//                           └────────────────────────┘ or an outcome is unknown
//
// Nothing here knows where resources live, or how the WAF is spoken to.
import { upwardBackOffDelayMs } from "../async/back-off.ts";
import type { Gathered } from "../model/gathered.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { Inventory } from "../model/inventory.ts";
import type { ObjectName } from "../model/resource.ts";
import { byAge } from "../model/resource.ts";
import type { DesiredState } from "../plan/desired.ts";
import { compileDesired } from "../plan/desired.ts";
import { noteDisputes } from "../plan/disputes.ts";
import { decideDomain } from "../plan/domain.ts";
import { findDrift } from "../plan/drift.ts";
import type { Observed } from "../plan/observed.ts";
import { planInstance } from "../plan/plan.ts";
import { applyPlan, readAgain } from "./apply-plan.ts";
import type { ConvergeFacts } from "./converge-facts.ts";
import { factsOf } from "./converge-facts.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { observeWaf } from "./observe-waf.ts";
import type { Pass } from "./pass.ts";
import type { PassEnd } from "./pass-end.ts";
import { record } from "./pass.ts";
import type { ConvergePorts, WafPort } from "./ports.ts";
import { reportFacts } from "./report-facts.ts";
import { tellDrift, tellOutcome } from "./tell-events.ts";

/** How often one pass applies what its verification still finds, before it backs off. */
const roundsMax = 5;
const progressIntervalMs = 2_000;
const retryBaseMs = 1_000;
const retryMsMax = 300_000;

/** What became of a pass, and when to come back without being asked. */
export interface ConvergeOutcome {
  readonly end: PassEnd;
  /** The facts as they were reported; undefined where there was nothing to report on. */
  readonly facts: ConvergeFacts | undefined;
  readonly wakeAtMs: number | undefined;
  /** Of the source: what the pass has taken into account. */
  readonly version: number;
}

/** Runs one pass over one instance. Never throws for anything that the world does; reports on every object at its end. */
export async function convergeInstance(
  name: ObjectName,
  ports: ConvergePorts,
  memory: InstanceMemory,
): Promise<ConvergeOutcome> {
  const version = ports.source.version(name);
  const gathered = await ports.source.gather(name);
  if (gathered === undefined) return { end: { end: "Gone" }, facts: undefined, wakeAtMs: undefined, version };
  const desired = compileDesired(gathered, ports.clock.nowMs());
  const declared = { version, gathered, desired };
  if (isBackingOff(memory, gathered, ports.clock.nowMs())) return reportBackOff(ports, memory, declared);
  const begun = await beginPass(name, ports, memory, declared);
  if ("end" in begun) return finish(ports, memory, begun, declared);
  const end = await runPass(begun);
  return finish(ports, memory, end, begun);
}

/** What a pass would do, without doing any of it: the reads of a pass, and its plan. Undefined if there is no such instance. */
export async function previewInstance(
  name: ObjectName,
  ports: ConvergePorts,
  memory: InstanceMemory,
): Promise<ConvergeFacts | undefined> {
  const version = ports.source.version(name);
  const gathered = await ports.source.gather(name);
  if (gathered === undefined) return undefined;
  const desired = compileDesired(gathered, ports.clock.nowMs());
  const begun = await beginPass(name, ports, memory, { version, gathered, desired });
  const nowMs = ports.clock.nowMs();
  const facts =
    "end" in begun
      ? factsOf({ gathered, desired, phase: "Ended", end: begun, nowMs })
      : factsOf({ ...begun, phase: "Ended", end: { end: "Done" }, pass: begun, nowMs });
  await reportFacts(ports, memory, facts);
  return facts;
}

/** After a failure the WAF is left alone for a while, whatever changes; unless the instance or its key did. */
function isBackingOff({ backOff }: InstanceMemory, gathered: Gathered, nowMs: number): boolean {
  return backOff !== undefined && nowMs < backOff.untilMs && backOff.attempted === attemptOf(gathered);
}

/** Names all that an attempt depends on besides the WAF itself. */
function attemptOf({ instance, key }: Gathered): string {
  const { meta, baseUrl, expectedDomain = "" } = instance;
  const asked = meta.annotations["wafsync.dev/requested-at"] ?? "";
  const known = key.state === "Present" ? key.key.fingerprint() : "";
  return [meta.uid, meta.generation, baseUrl, expectedDomain, asked, known].join(" ");
}

async function reportBackOff(
  ports: ConvergePorts,
  memory: InstanceMemory,
  { version, gathered, desired }: Declared,
): Promise<ConvergeOutcome> {
  const end: PassEnd = memory.backOff?.end ?? { end: "Unsettled" };
  const nowMs = ports.clock.nowMs();
  const facts = factsOf({ gathered, desired, phase: "Ended", end, nowMs, retryAtMs: memory.backOff?.untilMs });
  await reportFacts(ports, memory, facts);
  return { end, facts, wakeAtMs: memory.backOff?.untilMs, version };
}

interface Declared {
  readonly version: number;
  readonly gathered: Gathered;
  readonly desired: DesiredState;
}

/** Everything before the first write: may it work at all, what does the WAF show, is it the right WAF, what is the plan. */
async function beginPass(
  name: ObjectName,
  ports: ConvergePorts,
  memory: InstanceMemory,
  { version, gathered, desired }: Declared,
): Promise<Pass | PassEnd> {
  const startedMs = ports.clock.nowMs();
  const objection = precondition(gathered, ports);
  if ("end" in objection) return objection;
  memory.key = objection.key;
  const stored = await ports.inventory.load(name);
  if (stored.state === "Unreadable") {
    return { end: "Blocked", blocker: "InventoryUnreadable", message: stored.problem };
  }
  await reportFacts(ports, memory, factsOf({ gathered, desired, phase: "Started", nowMs: startedMs }));
  const waf = ports.openWaf(gathered.instance, objection.key);
  const read = await observeWaf(waf, desired, { signal: ports.abandon });
  if (!read.ok) return read.fault.code === "Aborted" ? { end: "Interrupted" } : { end: "Failed", fault: read.fault };
  const observed = read.value;
  const domain = decideDomain(gathered.instance, stored.inventory, observed.domain);
  if (domain.state === "Changed") return { end: "Blocked", blocker: "DomainChanged", message: domain.message };
  const inventory = withDrift(ports, memory, gathered, desired, observed, domain.inventory);
  const pass = newPass({ name, ports, memory, waf, startedMs, version, gathered, desired, observed, inventory });
  pass.revision = stored.revision;
  pass.inventoryDirty = inventory !== stored.inventory;
  ports.observer.planned?.(name, pass.plan);
  return pass;
}

/** What must hold before the WAF is called at all. */
function precondition(gathered: Gathered, ports: ConvergePorts): PassEnd | { readonly key: ApiKey } {
  const { instance, key, sameKey } = gathered;
  const objection = ports.baseUrlObjection(instance.baseUrl);
  if (objection !== undefined) return { end: "Blocked", blocker: "BaseUrlNotAllowed", message: objection };
  if (key.state === "Missing") return { end: "Blocked", blocker: "MissingApiKey", message: key.problem };
  const oldest = [instance.meta, ...sameKey].toSorted(byAge)[0];
  if (oldest !== undefined && oldest !== instance.meta) {
    const message = `WafInstance ${oldest.namespace}/${oldest.name} is older and has the same base URL and API key: delete one of the two, or give this one the key of another WAF.`;
    return { end: "Blocked", blocker: "DuplicateKey", message };
  }
  return { key: key.key };
}

function withDrift(
  ports: ConvergePorts,
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
    next: 0,
    confirmedMs: undefined,
    unread: new Set(),
    refused: new Map(),
    recordedNow: { blocklist: new Set(), allowlist: new Set() },
    originsRecordedNow: new Set(),
    done: { added: 0, removed: 0, originsAdded: 0, originsRemoved: 0 },
    waiting: undefined,
    lastProgressMs: startedMs,
  };
}

/** Applies and verifies, until a verification finds nothing left to do. */
async function runPass(pass: Pass): Promise<PassEnd> {
  for (let round = 0; round < roundsMax; round += 1) {
    const ended = (await record(pass)) ?? (await applyPlan(pass, () => reportProgress(pass)));
    if (ended !== undefined) return ended;
    if (pass.unread.size === 0) return { end: "Done" };
    const verified = await readAgain(pass);
    if (verified !== undefined) return verified;
    if (pass.plan.operations.length === 0) return { end: "Done" };
  }
  return { end: "Unsettled" };
}

async function reportProgress(pass: Pass): Promise<void> {
  const nowMs = pass.ports.clock.nowMs();
  if (nowMs - pass.lastProgressMs < progressIntervalMs) return;
  pass.lastProgressMs = nowMs;
  await reportFacts(pass.ports, pass.memory, factsOf({ ...pass, phase: "Applying", pass, nowMs }));
}

async function finish(
  ports: ConvergePorts,
  memory: InstanceMemory,
  end: PassEnd,
  known: Pass | Declared,
): Promise<ConvergeOutcome> {
  const nowMs = ports.clock.nowMs();
  const pass = "plan" in known ? known : undefined;
  if (pass !== undefined) rememberLists(pass, end, nowMs);
  memory.failures = end.end === "Failed" || end.end === "Unsettled" ? memory.failures + 1 : 0;
  if (end.end === "Failed") ports.observer.failed?.(known.gathered.instance.meta, end.fault);
  const wakeAtMs = wakeTime(end, known, memory, ports);
  memory.backOff =
    wakeAtMs !== undefined && (end.end === "Failed" || end.end === "Unsettled")
      ? { untilMs: wakeAtMs, end, attempted: attemptOf(known.gathered) }
      : undefined;
  const facts = factsOf({ ...known, phase: "Ended", end, pass, nowMs, retryAtMs: wakeAtMs });
  if (end.end !== "Interrupted" && end.end !== "Gone") {
    tellOutcome(ports.status, memory, facts);
    await reportFacts(ports, memory, facts);
  }
  return { end, facts, wakeAtMs, version: known.version };
}

function rememberLists(pass: Pass, end: PassEnd, nowMs: number): void {
  const { memory } = pass;
  memory.lastObserved = pass.observed;
  // A list whose last writes are not confirmed says nothing about drift.
  memory.lastSeen = pass.unread.size === 0 ? { lists: pass.observed.lists, removed: memory.removed } : undefined;
  if (end.end === "Done") memory.lastSyncMs = nowMs;
}

/** When to run again without being asked: the next expiry or resync, or a back-off after a failure. */
function wakeTime(
  end: PassEnd,
  { gathered, desired }: Pick<Pass, "gathered" | "desired">,
  memory: InstanceMemory,
  ports: ConvergePorts,
): number | undefined {
  const nowMs = ports.clock.nowMs();
  const resyncMs = nowMs + gathered.instance.resyncIntervalMs;
  switch (end.end) {
    case "Done":
      return Math.min(resyncMs, desired.nextExpiryMs ?? resyncMs);
    case "Blocked":
      if (end.blocker === "InventoryConflict" || end.blocker === "InventoryUnwritable") return nowMs + 2 * retryBaseMs;
      return Math.min(resyncMs, nowMs + retryMsMax);
    case "Failed":
    case "Unsettled": {
      const options = { baseMs: retryBaseMs, maxMs: retryMsMax, attempt: memory.failures, random: ports.random };
      const toldMs = end.end === "Failed" ? (end.fault.retryAfterMs ?? 0) : 0;
      return nowMs + Math.max(upwardBackOffDelayMs(options), toldMs);
    }
    case "Interrupted":
    case "Gone":
      return undefined;
  }
}
