// Creates the schemas for kubeconform from the OpenAPI documents of a real API server, so they match its
// version, include custom resources, and need no download.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClusterAccess } from "../control-plane/cluster-access.ts";

interface Schema {
  [field: string]: unknown;
  properties?: Record<string, Schema>;
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface OpenApi {
  readonly definitions: Record<string, Schema>;
}

/** Writes one file for each kind into the folder, and returns their `-schema-location`. */
export async function writeKubeSchemas(cluster: ClusterAccess, folder: string): Promise<string> {
  const answer = await cluster.request({ path: "/openapi/v2" });
  const { definitions } = answer.body as OpenApi;
  const strict = Object.fromEntries(Object.entries(definitions).map(([name, schema]) => [name, strictly(schema)]));
  await mkdir(folder, { recursive: true });
  for (const [name, schema] of Object.entries(definitions)) {
    const kinds = (schema["x-kubernetes-group-version-kind"] ?? []) as GroupVersionKind[];
    for (const { group, version, kind } of kinds) {
      // kubeconform uses the version of the core group as its name.
      const file = join(folder, `${kind.toLowerCase()}-${group === "" ? version : group}-${version}.json`);
      const needed = closureOf(name, strict);
      await writeFile(file, JSON.stringify({ $ref: `#/definitions/${name}`, definitions: needed }));
    }
  }
  return join(folder, "{{.ResourceKind}}-{{.Group}}-{{.ResourceAPIVersion}}.json");
}

/** Rejects fields that the schema does not contain, and allows a number or a name for a port. */
function strictly(schema: Schema): Schema {
  if (schema["format"] === "int-or-string" || schema["x-kubernetes-int-or-string"] === true) {
    return { anyOf: [{ type: "integer" }, { type: "string" }] };
  }
  const { properties, items, additionalProperties, ...others } = schema;
  delete others["format"];
  const result: Schema = others;
  if (properties !== undefined) {
    result.properties = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, strictly(one)]));
    const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true;
    if (additionalProperties === undefined && !isOpen) result["additionalProperties"] = false;
  }
  if (items !== undefined) result["items"] = strictly(items as Schema);
  if (typeof additionalProperties === "object")
    result["additionalProperties"] = strictly(additionalProperties as Schema);
  return result;
}

function closureOf(start: string, definitions: Readonly<Record<string, Schema>>): Record<string, Schema> {
  const needed: Record<string, Schema> = {};
  const open = [start];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const schema = definitions[name];
    if (needed[name] !== undefined || schema === undefined) continue;
    needed[name] = schema;
    for (const [, other = ""] of JSON.stringify(schema).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g))
      open.push(other);
  }
  return needed;
}
