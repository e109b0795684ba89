// The commands of the control port, by method and path, each with its fields and its line of the help. Commands accept keys but never
// return them: a WAF is selected by its domain, which may be omitted if there is only one WAF.
import { ControlProblem, readFaultRule, readFields } from "./control-fields.ts";
import type { Fields, Shape } from "./control-fields.ts";
import { faultKinds } from "./fault-rule.ts";
import { logFaultKinds } from "./log-faults.ts";
import type { LogFaultKind } from "./log-faults.ts";
import { logScenarios } from "./log-entries.ts";
import type { LogEntry } from "./log-entries.ts";
import type { ListChange } from "./simulated-list.ts";
import { logRowsPerDayMax, plans } from "./simulated-logs.ts";
import { listNames } from "./simulated-waf.ts";
import type { SimulatedWaf } from "./simulated-waf.ts";
import { deletionSpellings, overlapModes } from "./simulator-world.ts";
import type { SimulatorSettings, SimulatorWorld } from "./simulator-world.ts";
import { spellingModes } from "./spelling.ts";
import { WafView } from "./waf-view.ts";

interface ControlCommand {
  readonly help: string;
  /** @returns the response; `{"ok": true}` if undefined. The input is the JSON body, or the query of a GET request. */
  readonly act: (world: SimulatorWorld, input: unknown) => unknown;
}

type Act<Required extends Shape, Optional extends Shape> = (
  world: SimulatorWorld,
  fields: Fields<Required, Optional>,
) => unknown;

function command<const Required extends Shape, const Optional extends Shape>(
  help: string,
  required: Required,
  optional: Optional,
  act: Act<Required, Optional>,
): ControlCommand {
  return { help, act: (world, input) => act(world, readFields(input, required, optional)) };
}

const forWaf = { domain: "string" } as const;
const forList = { ...forWaf, list: listNames } as const;
const requestsShown = 100;

export const controlCommands: Readonly<Record<string, ControlCommand>> = {
  "GET /state": command(
    "lists (not with ?lists=false), origins, counters, overlaps, settings, pending faults",
    {},
    { lists: "string" },
    (world, { lists }) => stateOf(world, lists !== "false"),
  ),
  "GET /requests": command(
    `the latest ${requestsShown} requests, or ?limit=N, without their keys`,
    {},
    { limit: "string" },
    (world, { limit = requestsShown }) => {
      const count = Number(limit);
      if (!Number.isSafeInteger(count) || count < 1)
        throw new ControlProblem("limit must be a whole number of at least 1");
      return world.records().slice(-count);
    },
  ),
  "GET /faults": command("the pending faults", {}, {}, (world) => world.faults.pending()),
  "POST /faults": {
    help: 'one rule or an array: {"match": {"method", "path", "ip", "domain", "nth"}, "times": 1, "effect": {"kind", ...}}',
    act: addFaults,
  },
  "DELETE /faults": command("removes all faults", {}, {}, (world) => world.faults.clear()),
  "POST /entries": command(
    '{"domain", "list": "blocklist", "entries": ["192.0.2.1"]}: adds entries without the API',
    { entries: "strings" },
    forList,
    (world, { domain, list, entries }) => {
      const view = new WafView(findWaf(world, domain), world);
      return changesOf(entries, view.add(list ?? "blocklist", entries));
    },
  ),
  "DELETE /entries": command(
    "the same fields: removes entries without the API",
    { entries: "strings" },
    forList,
    (world, { domain, list, entries }) => {
      const view = new WafView(findWaf(world, domain), world);
      return changesOf(entries, view.remove(list ?? "blocklist", entries));
    },
  ),
  "POST /latency": command('{"latencyMs": 20}', { latencyMs: { min: 0, max: 600_000 } }, {}, changeSettings),
  "POST /spelling": command(
    '{"spelling": "Expanded", "deletionSpelling": "Shown" or "Any"}',
    {},
    { spelling: spellingModes, deletionSpelling: deletionSpellings },
    changeSettings,
  ),
  "POST /overlap": command('{"overlap": "Refuse" or "Record"}', { overlap: overlapModes }, {}, changeSettings),
  "POST /primary": command(
    '{"domain", "origin"}: changes the primary origin',
    { origin: "string" },
    forWaf,
    (world, { domain, origin }) => {
      const change = findWaf(world, domain).origins.makePrimary(origin);
      if (change !== "Done") throw new ControlProblem(`origin: ${change}`);
    },
  ),
  "POST /domain": command(
    '{"domain", "newDomain"}: the key belongs to a different domain',
    { newDomain: "string" },
    forWaf,
    (world, { domain, newDomain }) => {
      findWaf(world, domain).domain = newDomain;
    },
  ),
  "POST /key": command(
    '{"domain", "newKey"}: the previous key becomes invalid',
    { newKey: "string" },
    forWaf,
    (world, { domain, newKey }) => {
      if (!world.replaceKey(findWaf(world, domain), newKey))
        throw new ControlProblem("newKey is empty or belongs to another WAF");
    },
  ),
  "POST /logs": command(
    '{"domain", "entries": [...], "visibleInMs": 0}: adds log rows',
    { entries: "objects" },
    { ...forWaf, visibleInMs: "natural" },
    (world, { domain, entries, visibleInMs = 0 }) => {
      const { logs } = findWaf(world, domain);
      const rows = entries as readonly unknown[] as readonly LogEntry[];
      if (rows.some(({ timestamp }) => typeof timestamp !== "string" || Number.isNaN(Date.parse(timestamp)))) {
        throw new ControlProblem("each entry needs a timestamp in ISO 8601");
      }
      const visibleAtMs = world.clock.nowMs() + visibleInMs;
      if (!rows.every((row) => logs.add(row, visibleAtMs))) throw new ControlProblem("too many entries");
    },
  ),
  "POST /log-settings": command(
    '{"domain", "rowsPerDay", "lateMsMax", "emptyLastPage", "scenario", "plan"}: changes the logs',
    {},
    {
      ...forWaf,
      rowsPerDay: { min: 0, max: logRowsPerDayMax },
      lateMsMax: "natural",
      emptyLastPage: "boolean",
      scenario: logScenarios,
      plan: plans,
    },
    (world, { domain, ...settings }) => findWaf(world, domain).logs.change(settings),
  ),
  "POST /log-faults": command(
    '{"percent": 33, "pages": [2, 5], "kinds": [...], "seed": 1}: pages of logs fail from now on',
    {},
    { percent: { min: 0, max: 100 }, pages: "naturals", kinds: "strings", seed: "natural" },
    (world, { percent = 0, pages, kinds, seed }) => {
      if (kinds?.every(isLogFaultKind) === false)
        throw new ControlProblem(`kinds must be among ${logFaultKinds.join(", ")}`);
      world.logFaults.set({ share: percent / 100, pages, kinds: kinds?.filter(isLogFaultKind), seed });
    },
  ),
  "DELETE /log-faults": command("removes these faults", {}, {}, (world) => world.logFaults.set(undefined)),
  "DELETE /scrolls": command('{"domain"}: every scroll id becomes invalid', {}, forWaf, (world, { domain }) =>
    findWaf(world, domain).logs.forgetScrolls(),
  ),
  "POST /reset": command("resets everything to the initial state", {}, {}, (world) => world.reset()),
};

/** The text that the control port shows at `/`. */
export const controlHelp = `wafsync simulator: control port

${Object.entries(controlCommands)
  .map(([name, { help }]) => `${name.replace(/^\S+/u, (method) => method.padEnd(6)).padEnd(22)}${help}\n`)
  .join("")}
Kinds of fault: ${faultKinds.join(", ")}
For pages of logs: ${logFaultKinds.join(", ")}
Add "afterEffect": true or false to choose whether the request takes effect first.
Spellings: ${spellingModes.join(", ")}
Bodies are JSON. "domain" is optional if there is only one WAF.

curl -d '{"match": {"method": "POST"}, "effect": {"kind": "Timeout", "afterEffect": true}}' CONTROL/faults
`;

function stateOf(world: SimulatorWorld, withLists: boolean): unknown {
  const wafs = world.wafs().map((waf) => {
    const view = new WafView(waf, world);
    const { domain, primaryOrigin, origins, blocklist, allowlist, counters, inFlight, maxInFlight, overlaps } = view;
    const sizes = { blocklistSize: blocklist.length, allowlistSize: allowlist.length };
    const state = {
      domain,
      plan: waf.plan,
      primaryOrigin,
      origins,
      counters,
      inFlight,
      maxInFlight,
      overlaps,
      ...sizes,
    };
    return withLists ? { ...state, blocklist, allowlist } : state;
  });
  const { settings, unauthorized, unknownCalls, internalErrors } = world;
  return { wafs, settings, faults: world.faults.pending(), unauthorized, unknownCalls, internalErrors };
}

/** Accepts one rule or an array of rules. All of them are validated before the first is added. */
function addFaults(world: SimulatorWorld, input: unknown): unknown {
  const rules = (Array.isArray(input) ? input : [input]).map((rule) => readFaultRule(rule));
  if (!rules.every((rule) => world.faults.push(rule))) throw new ControlProblem("too many faults are pending");
  return { ok: true, faults: world.faults.pending() };
}

function changesOf(entries: readonly string[], changes: readonly ListChange[]): unknown {
  const problems = entries.flatMap((entry, index) =>
    changes[index] === "Done" ? [] : [{ entry, problem: changes[index] }],
  );
  return { ok: true, changed: entries.length - problems.length, problems };
}

function changeSettings({ settings }: SimulatorWorld, changed: Partial<SimulatorSettings>): void {
  Object.assign(settings, changed);
}

function isLogFaultKind(kind: string): kind is LogFaultKind {
  return logFaultKinds.some((known) => known === kind);
}

function findWaf(world: SimulatorWorld, domain: string | undefined): SimulatedWaf {
  const [first, second] = world.wafs();
  const found = domain === undefined && second === undefined ? first : world.wafOfDomain(domain ?? "");
  if (found !== undefined) return found;
  const domains = world.wafs().map((waf) => waf.domain);
  throw new ControlProblem(`domain must be one of ${domains.slice(0, 20).join(", ")}`);
}
