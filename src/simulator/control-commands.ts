// The commands of the control port, by method and path. Commands accept keys but never return them: a WAF is selected by its
// domain, which may be omitted if there is only one WAF.
import { ControlProblem, oneOf, readFaultRule, readFields, required } from "./control-fields.ts";
import type { FaultRule } from "./fault-rule.ts";
import { logFaultKinds } from "./log-faults.ts";
import type { LogEntry } from "./log-entries.ts";
import { logScenarios } from "./log-entries.ts";
import type { ListChange } from "./simulated-list.ts";
import { logRowsPerDayMax, plans } from "./simulated-logs.ts";
import { listNames } from "./simulated-waf.ts";
import type { ListName, SimulatedWaf } from "./simulated-waf.ts";
import { deletionSpellings, overlapModes } from "./simulator-world.ts";
import type { SimulatorWorld } from "./simulator-world.ts";
import { spellingModes } from "./spelling.ts";
import { WafView } from "./waf-view.ts";

interface ControlCall {
  readonly world: SimulatorWorld;
  readonly query: URLSearchParams;
  /** The parsed JSON body; an empty object if there was none. */
  readonly body: unknown;
}

type ControlCommand = (call: ControlCall) => unknown;

const latencyMsMax = 600_000;
const requestsShown = 100;

export const controlCommands: Readonly<Record<string, ControlCommand>> = {
  "GET /state": showState,
  "GET /requests": showRequests,
  "GET /faults": ({ world }) => world.faults.pending(),
  "POST /faults": addFaults,
  "DELETE /faults": ({ world }) => {
    world.faults.clear();
    return done();
  },
  "POST /entries": (call) => editList(call, (view, list, entries) => view.add(list, entries)),
  "DELETE /entries": (call) => editList(call, (view, list, entries) => view.remove(list, entries)),
  "POST /latency": setLatency,
  "POST /spelling": setSpelling,
  "POST /overlap": setOverlap,
  "POST /primary": setPrimary,
  "POST /domain": setDomain,
  "POST /key": setKey,
  "POST /logs": addLogEntries,
  "POST /log-settings": changeLogs,
  "POST /log-faults": setLogFaults,
  "DELETE /log-faults": ({ world }) => {
    world.logFaults.set(undefined);
    return done();
  },
  "DELETE /scrolls": ({ world, body }) => {
    findWaf(world, readFields(body, { domain: "string" }).domain).logs.forgetScrolls();
    return done();
  },
  "POST /reset": ({ world }) => {
    world.reset();
    return done();
  },
};

function showState({ world, query }: ControlCall): unknown {
  const withLists = query.get("lists") !== "false";
  const wafs = world.wafs().map((waf) => {
    const { blocklist, allowlist, ...state } = new WafView(waf, world).state();
    const sizes = { blocklistSize: blocklist.length, allowlistSize: allowlist.length };
    return withLists ? { ...state, ...sizes, blocklist, allowlist } : { ...state, ...sizes };
  });
  const { settings, unauthorized, unknownCalls, internalErrors } = world;
  return { wafs, settings, faults: world.faults.pending(), unauthorized, unknownCalls, internalErrors };
}

function showRequests({ world, query }: ControlCall): unknown {
  const limit = Number(query.get("limit") ?? requestsShown);
  if (!Number.isSafeInteger(limit) || limit < 1) throw new ControlProblem("limit must be a whole number of at least 1");
  return world.records().slice(-limit);
}

/** Accepts one rule or an array of rules. All of them are validated before the first is added. */
function addFaults({ world, body }: ControlCall): unknown {
  const rules: FaultRule[] = (Array.isArray(body) ? body : [body]).map((rule) => readFaultRule(rule));
  if (!rules.every((rule) => world.faults.push(rule))) throw new ControlProblem("too many faults are pending");
  return { ...done(), faults: world.faults.pending() };
}

function editList(
  { world, body }: ControlCall,
  edit: (view: WafView, list: ListName, entries: readonly string[]) => ListChange[],
): unknown {
  const fields = readFields(body, { domain: "string", list: "string", entries: "strings" });
  const list = oneOf(fields.list ?? "blocklist", listNames, "list");
  const entries = required(fields.entries, "entries");
  const changes = edit(new WafView(findWaf(world, fields.domain), world), list, entries);
  const problems = entries.flatMap((entry, index) => {
    const change = changes[index];
    return change === undefined || change === "Done" ? [] : [{ entry, problem: change }];
  });
  return { ...done(), changed: entries.length - problems.length, problems };
}

function setLatency({ world, body }: ControlCall): unknown {
  const latencyMs = required(readFields(body, { latencyMs: "natural" }).latencyMs, "latencyMs");
  if (latencyMs > latencyMsMax) throw new ControlProblem(`latencyMs must be at most ${latencyMsMax}`);
  world.settings.latencyMs = latencyMs;
  return done();
}

function setSpelling({ world, body }: ControlCall): unknown {
  const fields = readFields(body, { spelling: "string", deletionSpelling: "string" });
  const { settings } = world;
  const spelling = oneOf(fields.spelling ?? settings.spelling, spellingModes, "spelling");
  const deletion = oneOf(fields.deletionSpelling ?? settings.deletionSpelling, deletionSpellings, "deletionSpelling");
  Object.assign(settings, { spelling, deletionSpelling: deletion });
  return done();
}

function setOverlap({ world, body }: ControlCall): unknown {
  const { overlap } = readFields(body, { overlap: "string" });
  world.settings.overlap = oneOf(required(overlap, "overlap"), overlapModes, "overlap");
  return done();
}

function setPrimary({ world, body }: ControlCall): unknown {
  const fields = readFields(body, { domain: "string", origin: "string" });
  const change = findWaf(world, fields.domain).origins.makePrimary(required(fields.origin, "origin"));
  if (change !== "Done") throw new ControlProblem(`origin: ${change}`);
  return done();
}

function setDomain({ world, body }: ControlCall): unknown {
  const fields = readFields(body, { domain: "string", newDomain: "string" });
  findWaf(world, fields.domain).domain = required(fields.newDomain, "newDomain");
  return done();
}

function setKey({ world, body }: ControlCall): unknown {
  const fields = readFields(body, { domain: "string", newKey: "string" });
  if (!world.replaceKey(findWaf(world, fields.domain), required(fields.newKey, "newKey"))) {
    throw new ControlProblem("newKey is empty or belongs to another WAF");
  }
  return done();
}

function addLogEntries({ world, body }: ControlCall): unknown {
  const fields = readFields(body, { domain: "string", entries: "objects", visibleInMs: "natural" });
  const waf = findWaf(world, fields.domain);
  const entries = required(fields.entries, "entries").map((entry) => entry as unknown as LogEntry);
  if (entries.some(({ timestamp }) => typeof timestamp !== "string" || Number.isNaN(Date.parse(timestamp)))) {
    throw new ControlProblem("each entry needs a timestamp in ISO 8601");
  }
  const visibleAtMs = world.clock.nowMs() + (fields.visibleInMs ?? 0);
  if (!entries.every((entry) => waf.logs.add(entry, visibleAtMs))) throw new ControlProblem("too many entries");
  return done();
}

function changeLogs({ world, body }: ControlCall): unknown {
  const fields = readFields(body, {
    domain: "string",
    rowsPerDay: "natural",
    lateMsMax: "natural",
    emptyLastPage: "boolean",
    scenario: "string",
    plan: "string",
  });
  const { domain, plan, scenario, ...settings } = fields;
  if ((settings.rowsPerDay ?? 0) > logRowsPerDayMax)
    throw new ControlProblem(`rowsPerDay must be at most ${logRowsPerDayMax}`);
  const waf = findWaf(world, domain);
  waf.logs.change({
    ...settings,
    ...(scenario === undefined ? {} : { scenario: oneOf(scenario, logScenarios, "scenario") }),
    plan: plan === undefined ? undefined : oneOf(plan, plans, "plan"),
  });
  return done();
}

function setLogFaults({ world, body }: ControlCall): unknown {
  const fields = readFields(body, { percent: "natural", pages: "naturals", kinds: "strings", seed: "natural" });
  if ((fields.percent ?? 0) > 100) throw new ControlProblem("percent must be at most 100");
  const kinds = fields.kinds?.map((kind) => oneOf(kind, logFaultKinds, "kinds"));
  world.logFaults.set({ share: (fields.percent ?? 0) / 100, pages: fields.pages, kinds, seed: fields.seed });
  return done();
}

function findWaf(world: SimulatorWorld, domain: string | undefined): SimulatedWaf {
  const [first, second] = world.wafs();
  const found = domain === undefined && second === undefined ? first : world.wafOfDomain(domain ?? "");
  if (found !== undefined) return found;
  const domains = world.wafs().map((waf) => waf.domain);
  throw new ControlProblem(`domain must be one of ${domains.slice(0, 20).join(", ")}`);
}

function done(): { ok: true } {
  return { ok: true };
}
