// The control port: JSON over HTTP, on a separate port, so that it can't be confused with the WAF API.
// It has no password, so it rejects web pages: they must not reach it with a cross-origin request, nor with a host name of their own
// that resolves to this machine.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIP } from "node:net";
import * as z from "zod";
import { readBody } from "./request-body.ts";
import { type SimulatorWorld, overlapModes } from "./simulator-world.ts";
import { faultKinds, faultRule } from "./fault-rule.ts";
import { spellingModes } from "./network.ts";
import type { ListChange } from "./simulated-list.ts";
import { listNames, type SimulatedWaf } from "./simulated-waf.ts";

/** Suffixes of host names that no page on the Internet can have. */
const innerSuffixes = [".localhost", ".local", ".internal", ".svc", ".cluster.local"];
const controlBytesMax = 32 * 1024 * 1024;

interface ControlAnswer {
  readonly status: number;
  readonly body: unknown;
}

export function createControlServer(world: SimulatorWorld): Server {
  return createServer((request, response) => {
    answerControl(world, request, response).catch(() => response.destroy());
  });
}

async function answerControl(world: SimulatorWorld, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [pathname = "", ...search] = (request.url ?? "").split("?");
  const refusal = refusalOfPage(request);
  if (refusal !== undefined) return answerJson(response, { status: 403, body: { ok: false, message: refusal } });
  if (request.method === "GET" && pathname === "/") {
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8" }).end(controlHelp);
    return;
  }
  const query = request.method === "GET" ? new URLSearchParams(search.join("?")) : undefined;
  answerJson(response, await runCommand(world, `${request.method ?? ""} ${pathname}`, query, request));
}

function answerJson(response: ServerResponse, { status, body }: ControlAnswer): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(`${JSON.stringify(body, null, 2)}\n`);
}

async function runCommand(
  world: SimulatorWorld,
  name: string,
  query: URLSearchParams | undefined,
  request: IncomingMessage,
): Promise<ControlAnswer> {
  const command = Object.hasOwn(controlCommands, name) ? controlCommands[name] : undefined;
  if (command === undefined)
    return { status: 404, body: { ok: false, message: "unknown command; GET / lists all commands" } };
  const text = await readBody(request, controlBytesMax);
  if (text === undefined) return { status: 413, body: { ok: false, message: "the body is too long" } };
  const body = parseJson(text);
  if (body === undefined) return { status: 400, body: { ok: false, message: "the body is not JSON" } };
  try {
    const input = query === undefined ? body : Object.fromEntries(query);
    return { status: 200, body: command.act(world, input) ?? { ok: true } };
  } catch (error) {
    const isOfUser = error instanceof ControlProblem || error instanceof RangeError;
    if (isOfUser) return { status: 400, body: { ok: false, message: error.message } };
    return { status: 500, body: { ok: false, message: "the simulator itself failed" } };
  }
}

/** Returns an empty object for an empty body, and undefined for a body that is not JSON. */
function parseJson(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Why the request may come from a web page; undefined if it does not. */
function refusalOfPage({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  if (headers.origin !== undefined)
    return "the control port rejects requests with an Origin header, because they come from web pages";
  if (isInner(hostnameOf(headers.host ?? ""))) return undefined;
  return "the control port only accepts IP addresses and internal names as the host: call it by its IP address";
}

function hostnameOf(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}

function isInner(name: string): boolean {
  if (isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0) return true;
  return name !== "" && (!name.includes(".") || innerSuffixes.some((suffix) => name.endsWith(suffix)));
}

// The commands of the control port, by method and path, each with its fields and its line of the help. Commands accept keys but never
// return them: a WAF is selected by its domain, which may be omitted if there is only one WAF.
//
// Every field is validated, and an unknown field is an error, because a misspelled fault would never happen.

/** A mistake of a user of the control port, identified by its code. */
class ControlProblem extends Error {
  readonly code = "ControlProblem";
}

interface ControlCommand {
  readonly help: string;
  /** @returns the response; `{"ok": true}` if undefined. The input is the JSON body, or the query of a GET request. */
  readonly act: (world: SimulatorWorld, input: unknown) => unknown;
}

function command<const Shape extends z.core.$ZodShape>(
  help: string,
  shape: Shape,
  act: (world: SimulatorWorld, fields: z.infer<z.ZodObject<Shape>>) => unknown,
): ControlCommand {
  const fields = z.strictObject(shape);
  return { help, act: (world, input) => act(world, readFields(fields, input)) };
}

/** @throws ControlProblem that names the field */
function readFields<T>(fields: z.ZodType<T>, input: unknown): T {
  const read = fields.safeParse(input);
  if (read.success) return read.data;
  const problems = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new ControlProblem(problems.join("; "));
}

const forWaf = { domain: z.string().optional() };
const forList = { ...forWaf, list: z.enum(listNames).optional(), entries: z.array(z.string()) };

const requestsShown = 100;

const controlCommands: Readonly<Record<string, ControlCommand>> = {
  "GET /state": command(
    "lists (not with ?lists=false), origins, counters, overlaps, settings, pending faults",
    { lists: z.string().optional() },
    (world, { lists }) => stateOf(world, lists !== "false"),
  ),
  "GET /requests": command(
    `the latest ${requestsShown} requests, or ?limit=N, without their keys`,
    { limit: z.coerce.number().int().min(1).default(requestsShown) },
    (world, { limit }) => world.requests().slice(-limit),
  ),
  "POST /faults": {
    help: 'one rule or an array: {"match": {"method", "path", "ip", "domain", "nth", "share"}, "times": 1, "effect": {"kind", ...}}',
    act: addFaults,
  },
  "DELETE /faults": command("removes all faults", {}, (world) => world.faults.clear()),
  "POST /entries": command(
    '{"domain", "list": "blocklist", "entries": ["192.0.2.1"]}: adds entries without the API',
    forList,
    (world, { domain, list, entries }) => changesOf(entries, findWaf(world, domain).add(list ?? "blocklist", entries)),
  ),
  "DELETE /entries": command(
    "the same fields: removes entries without the API",
    forList,
    (world, { domain, list, entries }) =>
      changesOf(entries, findWaf(world, domain).remove(list ?? "blocklist", entries)),
  ),
  "POST /settings": command(
    '{"latencyMs": 20, "spelling": "Expanded", "overlap": "Refuse" or "Record"}: changes these settings',
    {
      latencyMs: z.int().min(0).max(600_000).exactOptional(),
      spelling: z.enum(spellingModes).exactOptional(),
      overlap: z.enum(overlapModes).exactOptional(),
    },
    ({ settings }, changed) => void Object.assign(settings, changed),
  ),
  "POST /waf": command(
    '{"domain", "newDomain", "newKey", "primaryOrigin"}: the previous key becomes invalid',
    {
      ...forWaf,
      newDomain: z.string().optional(),
      newKey: z.string().optional(),
      primaryOrigin: z.string().optional(),
    },
    (world, { domain, newDomain, newKey, primaryOrigin }) => {
      const waf = findWaf(world, domain);
      if (primaryOrigin !== undefined && !waf.originHosts.makePrimary(primaryOrigin)) {
        throw new ControlProblem("primaryOrigin: not a host");
      }
      if (newKey !== undefined) world.replaceKey(waf, newKey);
      waf.domain = newDomain ?? waf.domain;
    },
  ),
  "POST /reset": command("resets everything to the initial state", {}, (world) => world.reset()),
};

/** The text that the control port shows at `/`. */
const controlHelp = `wafsync simulator: control port

${Object.entries(controlCommands)
  .map(([name, { help }]) => `${name.replace(/^\S+/u, (method) => method.padEnd(6)).padEnd(22)}${help}\n`)
  .join("")}
Kinds of fault: ${faultKinds.join(", ")}
Add "afterEffect": true or false to choose whether the request takes effect first.
Spellings: ${spellingModes.join(", ")}
Bodies are JSON. "domain" is optional if there is only one WAF.

curl -d '{"match": {"method": "POST"}, "effect": {"kind": "Timeout", "afterEffect": true}}' CONTROL/faults
`;

function stateOf(world: SimulatorWorld, withLists: boolean): unknown {
  const wafs = world.wafs().map((waf) => {
    const { domain, originHosts, origins, counters, flights, blocklist, allowlist } = waf;
    const ofFlights = { maxInFlight: flights.max, overlaps: flights.overlaps };
    const sizes = { blocklistSize: blocklist.length, allowlistSize: allowlist.length };
    const state = { domain, primaryOrigin: originHosts.primary, origins, counters, ...ofFlights, ...sizes };
    return withLists ? { ...state, blocklist, allowlist } : state;
  });
  const { settings, unauthorized, unknownCalls, internalErrors } = world;
  return { wafs, settings, faults: world.faults.pending(), unauthorized, unknownCalls, internalErrors };
}

/** Accepts one rule or an array of rules. All of them are validated before the first is added. */
function addFaults(world: SimulatorWorld, input: unknown): unknown {
  world.addFaults(...(Array.isArray(input) ? input : [input]).map((rule) => readFields(faultRule, rule)));
  return { ok: true, faults: world.faults.pending() };
}

function changesOf(entries: readonly string[], changes: readonly ListChange[]): unknown {
  const problems = entries.flatMap((entry, index) =>
    changes[index] === "Done" ? [] : [{ entry, problem: changes[index] }],
  );
  return { ok: true, changed: entries.length - problems.length, problems };
}

function findWaf(world: SimulatorWorld, domain: string | undefined): SimulatedWaf {
  const wafs = world.wafs();
  const found = domain === undefined && wafs.length === 1 ? wafs[0] : wafs.find((waf) => waf.domain === domain);
  if (found !== undefined) return found;
  const domains = wafs.map((waf) => waf.domain);
  throw new ControlProblem(`domain must be one of ${domains.slice(0, 20).join(", ")}`);
}
