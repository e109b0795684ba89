// Forwards the new blocked requests of one instance, look after look:
//
//   gather ──▶ load the cursor ──▶ read, page by page ──▶ hand on ──▶ save the cursor ──▶ report
//
// An entry counts as handed on when the output has taken it; only then may a saved cursor know it. So a crash in between makes
// entries go out again and never lets one be missed; and where nothing crashes, each goes out once.
import { upwardBackOffDelayMs } from "../../async/back-off.ts";
import { requestedAtAnnotation } from "../../api/kinds.ts";
import type { Gathered } from "../../model/gathered.ts";
import { byAge, nameKey } from "../../model/resource.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { WafFault } from "../../model/waf-result.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { ForwardLogsPorts, ForwardMemory } from "./forward-ports.ts";
import { reportLogs, reportNoLogs, writeReport } from "./forward-status.ts";
import type { LogsFinding } from "./forward-status.ts";
import { LogLook } from "./forward-run.ts";

const retryBaseMs = 2_000;
const retryMsMax = 300_000;
/** The API need not be asked more often, however long a look takes. */
const pauseMsMin = 1_000;
/** How long the status may take to come into being. */
const reportAgainMs = 2_000;
/** Who may not forward will be told to stop, or may again. */
const notLeadingMs = 10_000;
const firstPassMsMax = 15_000;
const firstPassPollMs = 250;

export interface ForwardOutcome {
  /** Nothing is forwarded, and nothing need be remembered. */
  readonly isOver: boolean;
  /** When to come back without being asked; undefined if only a change makes that worth while. */
  readonly wakeAtMs: number | undefined;
}

/** One look, if it is time for one. Never throws for anything that the world does. */
export async function forwardLogs(
  name: ObjectName,
  ports: ForwardLogsPorts,
  memory: ForwardMemory,
): Promise<ForwardOutcome> {
  const gathered = await ports.source.gather(name);
  if (gathered === undefined) return { isOver: true, wakeAtMs: undefined };
  const { meta, logs } = gathered.instance;
  if (meta.deleting) return { isOver: false, wakeAtMs: undefined };
  if (!logs.enabled) {
    memory.cursor = undefined;
    memory.due = undefined;
    await reportNoLogs(ports.status, meta, memory);
    if (memory.report === undefined) return { isOver: true, wakeAtMs: undefined };
    return { isOver: false, wakeAtMs: ports.clock.nowMs() + reportAgainMs };
  }
  if (isTooEarly(gathered, ports, memory)) return { isOver: false, wakeAtMs: ports.clock.nowMs() + firstPassPollMs };
  const attempt = attemptOf(gathered);
  const { due } = memory;
  if (due === undefined || due.attempt !== attempt || ports.clock.nowMs() >= due.atMs) {
    const dueMs = await look(gathered, ports, memory);
    if (dueMs === undefined) return { isOver: false, wakeAtMs: undefined };
    memory.due = { atMs: dueMs, attempt };
  } else await writeReport(ports.status, meta, memory);
  const dueMs = memory.due?.atMs ?? 0;
  const reportMs = memory.report === undefined ? dueMs : ports.clock.nowMs() + reportAgainMs;
  return { isOver: false, wakeAtMs: Math.min(dueMs, reportMs) };
}

/** The first pass over an instance finds out its domain, which belongs to every entry. Where that fails, it is not waited for. */
function isTooEarly({ instance }: Gathered, { status, clock }: ForwardLogsPorts, memory: ForwardMemory): boolean {
  if (memory.due !== undefined || status.read(instance.meta)?.["domain"] !== undefined) return false;
  memory.firstSeenMs ??= clock.nowMs();
  return clock.nowMs() - memory.firstSeenMs < firstPassMsMax;
}

/** Names all that a look depends on besides the WAF itself: another one is tried at once. */
function attemptOf({ instance, key, sameKey }: Gathered): string {
  const { meta, baseUrl, logs } = instance;
  const asked = meta.annotations[requestedAtAnnotation] ?? "";
  const known = key.state === "Present" ? key.key.fingerprint() : "";
  return JSON.stringify([meta.uid, baseUrl, logs, asked, known, sameKey.map(nameKey)]);
}

/** @returns when the next one is due; undefined if the process ends */
async function look(gathered: Gathered, ports: ForwardLogsPorts, memory: ForwardMemory): Promise<number | undefined> {
  const { clock, status, observer } = ports;
  const { meta, logs } = gathered.instance;
  const startMs = clock.nowMs();
  const allowed = precondition(gathered, ports);
  const end = "key" in allowed ? await new LogLook(gathered.instance, allowed.key, ports, memory).run() : allowed;
  if (end.state === "Stopped") return ports.stopping.aborted ? undefined : clock.nowMs() + notLeadingMs;
  if (end.finding !== undefined) await reportLogs(status, meta, memory, end.finding, clock.nowMs());
  const nextMs = Math.max(startMs + logs.intervalMs, clock.nowMs() + pauseMsMin);
  if (end.state === "Done") {
    memory.failures = 0;
    return nextMs;
  }
  observer.failed?.(meta, end.finding?.reason ?? "Withdrawn", end.fault);
  if (end.state === "Blocked") return nextMs;
  memory.failures += 1;
  const options = { attempt: memory.failures, baseMs: retryBaseMs, maxMs: retryMsMax, random: ports.random };
  return clock.nowMs() + Math.max(upwardBackOffDelayMs(options), end.fault?.retryAfterMs ?? 0);
}

/** Why nothing is asked of the WAF. */
interface Blocked {
  readonly state: "Blocked";
  readonly finding: LogsFinding;
  readonly fault?: WafFault;
}

function precondition(
  { instance, key, sameKey }: Gathered,
  ports: ForwardLogsPorts,
): Blocked | { readonly key: ApiKey } {
  const blocked = (reason: LogsFinding["reason"], message: string): Blocked => {
    return { state: "Blocked", finding: { status: "False", reason, message } };
  };
  const objection = ports.baseUrlObjection(instance.baseUrl);
  if (objection !== undefined) return blocked("BaseUrlNotAllowed", objection);
  if (key.state === "Missing") return blocked("MissingApiKey", key.problem);
  const oldest = [instance.meta, ...sameKey].toSorted(byAge)[0];
  if (oldest !== undefined && oldest !== instance.meta) {
    return blocked("Conflict", `WafInstance ${nameKey(oldest)} is older and has the same base URL and API key.`);
  }
  return { key: key.key };
}
