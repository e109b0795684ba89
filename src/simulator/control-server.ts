// The control port: JSON over HTTP, on a separate port, so that it can't be confused with the WAF API.
// It has no password, so it rejects web pages: they must not reach it with a cross-origin request, nor with a host name of their own
// that resolves to this machine.
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { controlCommands, controlHelp, ControlProblem } from "./control-commands.ts";
import { readBody } from "./request-body.ts";
import type { SimulatorWorld } from "./simulator-world.ts";

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
