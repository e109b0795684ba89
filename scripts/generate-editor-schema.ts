// Makes the JSON schema of the files in a folder, with which editors complete fields and mark errors.
import { servedDefinitions } from "../src/kinds/custom-resource.ts";
import { apiGroup, apiVersionName, recordKind } from "../src/kinds/kinds.ts";
import { type GeneratedFile, objectSchema } from "./generate-crds.ts";

/** Unlike the API server, editors accept unknown fields unless the schema forbids them. Rules in CEL mean nothing to them. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== "object" || schema === null) return schema;
  const fields = Object.entries(schema).filter(([name]) => !name.startsWith("x-kubernetes-"));
  const strictly = Object.fromEntries(fields.map(([name, value]) => [name, strict(value)]));
  const hasFields = "type" in schema && schema.type === "object" && "properties" in schema;
  return hasFields && !("additionalProperties" in schema) ? { ...strictly, additionalProperties: false } : strictly;
}

/** One schema for all kinds, because a file may hold several. Secrets and ConfigMaps are not checked. */
export function editorSchema(): GeneratedFile {
  const kinds = servedDefinitions.filter(({ kind }) => kind !== recordKind);
  const schema = {
    $comment: "Written by `npm run generate`. Edit the schemas in src/kinds instead.",
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    required: ["apiVersion", "kind", "metadata"],
    allOf: kinds.map((definition) => {
      const apiVersion = { const: `${apiGroup}/${apiVersionName}` };
      const kind = { const: definition.kind };
      // JSON schema names it `then`, and nothing awaits it.
      // oxlint-disable-next-line unicorn/no-thenable
      return { if: { required: ["kind"], properties: { apiVersion, kind } }, then: strict(objectSchema(definition)) };
    }),
  };
  return { path: "schemas/wafsync.json", text: `${JSON.stringify(schema, undefined, 1)}\n` };
}
