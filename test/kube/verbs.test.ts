import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { realClock } from "../../src/async/clock.ts";
import { createApiServer, type ApiServer } from "../../src/kube/api-server.ts";
import { clusterCredentials } from "../support/builders/cluster-credentials.ts";
import {
  createObject,
  deleteObject,
  getObject,
  jsonPatchObject,
  listObjects,
  mergePatchObject,
  replaceObject,
} from "../../src/kube/verbs.ts";
import { failure, listBody, startScriptedApiServer, testObject } from "../support/fakes/scripted-api-server.ts";
import { json, type ScriptedServer } from "../support/fakes/scripted-server.ts";

const widgets = { group: "test.dev", version: "v1", plural: "widgets", namespaced: true };
const address = { namespace: "default", name: "a" };
const collection = "/apis/test.dev/v1/namespaces/default/widgets";

let server: ScriptedServer;
let api: ApiServer;
beforeEach(async () => {
  server = await startScriptedApiServer();
  api = createApiServer({ credentials: clusterCredentials({ server: server.baseUrl }), clock: realClock });
});
afterEach(async () => {
  api.close();
  await server.stop();
});

describe("the verbs", () => {
  test("use the methods, paths and content types of the Kubernetes API", async () => {
    server.answers(json(200, testObject("a", 1)));
    await getObject(api, widgets, address);
    await createObject(api, widgets, "default", {});
    await replaceObject(api, widgets, address, {}, { subresource: "status" });
    await mergePatchObject(api, widgets, address, {}, { subresource: "status" });
    await jsonPatchObject(api, widgets, address, [{ op: "add", path: "/x", value: 1 }]);
    await deleteObject(api, widgets, address, { preconditions: { uid: "u" } });
    const asked = server.requests.map(({ method, path, headers, body }) => [
      method,
      path,
      headers["content-type"],
      body,
    ]);
    expect(asked).toStrictEqual([
      ["GET", `${collection}/a`, undefined, ""],
      ["POST", collection, "application/json", "{}"],
      ["PUT", `${collection}/a/status`, "application/json", "{}"],
      ["PATCH", `${collection}/a/status`, "application/merge-patch+json", "{}"],
      ["PATCH", `${collection}/a`, "application/json-patch+json", '[{"op":"add","path":"/x","value":1}]'],
      [
        "DELETE",
        `${collection}/a`,
        "application/json",
        '{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"}}',
      ],
    ]);
  });

  test("a response without a name, UID and version does not count as an object", async () => {
    server.next(json(200, { kind: "Widget", metadata: { name: "a" } }));
    expect(await getObject(api, widgets, address)).toMatchObject({ ok: false, fault: { code: "ContractBroken" } });
  });
});

describe("a list", () => {
  test("is read page by page", async () => {
    server.next(
      json(200, listBody([testObject("a", 1)], 7, "page 2")),
      json(200, listBody([testObject("b", 2)], 7, "page 3")),
      json(200, listBody([testObject("c", 3)], 7)),
    );
    const result = await listObjects(api, widgets, { namespace: "default", labelSelector: "x=y" });
    expect(result).toMatchObject({ ok: true, value: { resourceVersion: "7" } });
    expect(result.ok ? result.value.items.map(({ metadata }) => metadata.name) : []).toStrictEqual(["a", "b", "c"]);
    expect(server.requests.map(({ query }) => query)).toStrictEqual([
      { labelSelector: "x=y", limit: "500" },
      { labelSelector: "x=y", limit: "500", continue: "page 2" },
      { labelSelector: "x=y", limit: "500", continue: "page 3" },
    ]);
  });

  test("starts over if it expires between pages, and finally fails", async () => {
    server.next(
      json(200, listBody([testObject("a", 1)], 7, "page 2")),
      failure(410, "Expired"),
      json(200, listBody([testObject("b", 8)], 9)),
    );
    const result = await listObjects(api, widgets);
    expect(result.ok ? result.value.items.map(({ metadata }) => metadata.name) : []).toStrictEqual(["b"]);
    server.answers(failure(410, "Expired"));
    expect(await listObjects(api, widgets)).toMatchObject({ ok: false, fault: { code: "Gone" } });
    expect(server.requests).toHaveLength(3 + 3);
  });

  test("is read in smaller pages if a response is too large", async () => {
    const objects = Array.from({ length: 100 }, (_, index) => testObject(`w${index}`, 1));
    const credentials = clusterCredentials({ server: server.baseUrl });
    const small = createApiServer({ credentials, clock: realClock, bodyBytesMax: 10_000 });
    server.next(json(200, listBody(objects, 7)), json(200, listBody(objects.slice(0, 20), 7)));
    const result = await listObjects(small, widgets);
    small.close();
    expect(result).toMatchObject({ ok: true, value: { items: objects.slice(0, 20) } });
    expect(server.requests.map(({ query }) => query["limit"])).toStrictEqual(["500", "250"]);
  });

  test.each([
    ["nothing but braces", {}],
    ["no version", { metadata: {}, items: [] }],
    ["items that are not objects", { metadata: { resourceVersion: "1" }, items: [{}] }],
  ])("with %s is a fault, and never an empty list", async (_, body) => {
    server.next(json(200, body));
    expect(await listObjects(api, widgets)).toMatchObject({ ok: false, fault: { code: "ContractBroken" } });
  });

  test("that is empty may be null", async () => {
    server.next(json(200, { metadata: { resourceVersion: "1" }, items: null }));
    expect(await listObjects(api, widgets)).toMatchObject({ ok: true, value: { items: [], resourceVersion: "1" } });
  });
});
