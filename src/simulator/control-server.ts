// The control port: JSON over HTTP, on a separate port, so that it can't be confused with the WAF API.
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { types } from "node:util";
import { refusalOfPage } from "./control-guard.ts";
import { controlCommands } from "./control-commands.ts";
import { controlHelp } from "./control-help.ts";
import { readBody } from "./request-body.ts";
import type { SimulatorWorld } from "./simulator-world.ts";

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
  const query = new URLSearchParams(search.join("?"));
  answerJson(response, await runCommand(world, `${request.method ?? ""} ${pathname}`, query, request));
}

function answerJson(response: ServerResponse, { status, body }: ControlAnswer): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(`${JSON.stringify(body, null, 2)}\n`);
}

async function runCommand(
  world: SimulatorWorld,
  name: string,
  query: URLSearchParams,
  request: IncomingMessage,
): Promise<ControlAnswer> {
  const command = Object.hasOwn(controlCommands, name) ? controlCommands[name] : undefined;
  if (command === undefined)
    return { status: 404, body: { ok: false, message: "unknown command; GET / lists all commands" } };
  const text = await readBody(request, controlBytesMax);
  if (!text.ok) return { status: 413, body: { ok: false, message: "the body is too long" } };
  const body = parseJson(text.text);
  if (body === undefined) return { status: 400, body: { ok: false, message: "the body is not JSON" } };
  try {
    return { status: 200, body: command({ world, query, body }) };
  } catch (error) {
    if (!isControlProblem(error)) return { status: 500, body: { ok: false, message: "the simulator itself failed" } };
    return { status: 400, body: { ok: false, message: error.message } };
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

function isControlProblem(error: unknown): error is Error {
  return types.isNativeError(error) && "code" in error && error.code === "ControlProblem";
}
