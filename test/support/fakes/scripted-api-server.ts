// Responses of an API server, for a server with scripted responses: it has no Kubernetes semantics. The test defines the responses
// and their order, and checks the requests.
import type { ServerResponse } from "node:http";
import { type Answer, json, ScriptedServer, type ScriptedServerOptions } from "./scripted-server.ts";

/** Each request gets the next response, or waits for it. */
export async function startScriptedApiServer(options: ScriptedServerOptions = {}): Promise<ScriptedServer> {
  const server = await ScriptedServer.start(options);
  server.answers(undefined);
  return server;
}

export function statusBody(code: number, reason: string, causes: readonly string[] = []): unknown {
  return {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code,
    reason,
    message: `${reason} (from the test)`,
    details: { causes: causes.map((cause) => ({ reason: cause, message: cause })) },
  };
}

/** A failure as a Status object. */
export function failure(status: number, reason: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return json(status, statusBody(status, reason), headers);
}

export interface TestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly managedFields?: readonly unknown[];
  };
  readonly spec: { readonly color: string };
}

/** An object of the test's kind. By default, its UID is its name. */
export function testObject(name: string, resourceVersion: number, uid = name, color = "red"): TestObject {
  return {
    apiVersion: "test.dev/v1",
    kind: "Widget",
    metadata: { name, namespace: "default", uid, resourceVersion: String(resourceVersion) },
    spec: { color },
  };
}

/** The answer to a list of all objects. */
export function listed(objects: readonly TestObject[], resourceVersion: number): Answer {
  return json(200, listBody(objects, resourceVersion));
}

export function listBody(objects: readonly TestObject[], resourceVersion: number, continueToken = ""): unknown {
  const metadata = {
    resourceVersion: String(resourceVersion),
    ...(continueToken === "" ? {} : { continue: continueToken }),
  };
  return { kind: "WidgetList", apiVersion: "test.dev/v1", metadata, items: objects };
}

export interface ScriptedStream {
  readonly answer: Answer;
  event(type: "ADDED" | "MODIFIED" | "DELETED", object: TestObject): void;
  bookmark(resourceVersion: number): void;
  error(status: unknown): void;
  raw(data: string | Uint8Array): void;
  end(): void;
  cut(): void;
}

/** A watch whose lines the test sends. Lines that are sent before the request arrives are buffered. */
export function scriptedStream(): ScriptedStream {
  const pending: ((response: ServerResponse) => void)[] = [];
  let open: ServerResponse | undefined;

  function act(action: (response: ServerResponse) => void): void {
    if (open === undefined) pending.push(action);
    else action(open);
  }
  function line(value: unknown): void {
    act((response) => void response.write(`${JSON.stringify(value)}\n`));
  }

  return {
    answer(_, response) {
      response.writeHead(200, { "content-type": "application/json" });
      response.flushHeaders();
      open = response;
      for (const action of pending.splice(0)) action(response);
    },
    event: (type, object) => line({ type, object }),
    bookmark: (resourceVersion) =>
      line({ type: "BOOKMARK", object: { kind: "Widget", metadata: { resourceVersion: String(resourceVersion) } } }),
    error: (object) => line({ type: "ERROR", object }),
    raw: (data) => act((response) => void response.write(data)),
    end: () => act((response) => void response.end()),
    cut: () => act((response) => void response.socket?.destroy()),
  };
}
