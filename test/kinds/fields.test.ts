// Every field of every spec, from the schemas, so that a new field is not forgotten anywhere.
import { describe, expect, test } from "@jest/globals";
import { objectSchema, type StructuralSchema } from "../../scripts/generate-crds.ts";
import { type CustomResource, kindDefinitions } from "../../src/kinds/custom-resource.ts";
import { parseResource } from "../../src/kinds/parse-resource.ts";
import { toDeclared } from "../../src/kinds/to-declared.ts";
import { resourceKinds } from "../../src/model/resource.ts";
import { validDocuments } from "./document-cases.ts";

/** Fields that wafsync itself never reads. */
const onlyForPeople: readonly string[] = ["WafIpRule description"];

/** Paths such as `guards.neverBlock` or `addressesFrom[].configMapKeyRef.name`. */
function leavesOf(schema: StructuralSchema | undefined, path = ""): string[] {
  if (schema?.properties !== undefined) {
    const prefix = path === "" ? "" : `${path}.`;
    return Object.entries(schema.properties).flatMap(([name, field]) => leavesOf(field, `${prefix}${name}`));
  }
  return schema?.items === undefined ? [path] : leavesOf(schema.items, `${path}[]`);
}

function isSet(value: unknown, path: string): boolean {
  if (path === "") return true;
  if (path.startsWith("[]")) {
    return Array.isArray(value) && value.some((item) => isSet(item, path.slice(path[2] === "." ? 3 : 2)));
  }
  const [, name = "", rest = ""] = /^(\w+)\.?(.*)$/.exec(path) ?? [];
  return typeof value === "object" && value !== null && name in value && isSet(Reflect.get(value, name), rest);
}

describe.each(resourceKinds)("Each field of the spec of %s", (kind) => {
  const spec = objectSchema(kindDefinitions[kind]).properties?.["spec"];

  test("is set by a valid document, which the parser and a real API server then validate", () => {
    const documents = validDocuments.map(([, document]) => document).filter((document) => document.kind === kind);
    const leaves = leavesOf(spec);
    expect(leaves.length).toBeGreaterThan(3);
    expect(leaves.filter((path) => !documents.some((document) => isSet(document.spec, path)))).toStrictEqual([]);
  });

  test("is converted to a declaration, or is only for people", () => {
    const parsed = validDocuments.flatMap(([, document]) => {
      const read = parseResource(document, "shop");
      return document.kind === kind && read.ok ? [read.value] : [];
    });
    const isRead = (name: string): boolean =>
      parsed.some((resource) => {
        const { [name]: _, ...spec } = { ...resource.spec } as Record<string, unknown>;
        return declarationOf({ ...resource, spec } as typeof resource) !== declarationOf(resource);
      });
    const unread = Object.keys(spec?.properties ?? {}).filter((name) => !isRead(name));
    expect(unread.filter((name) => !onlyForPeople.includes(`${kind} ${name}`))).toStrictEqual([]);
  });
});

/** A missing field may also be an error: then it is read. */
function declarationOf(resource: CustomResource): string {
  try {
    return JSON.stringify(toDeclared(resource));
  } catch (error) {
    return String(error);
  }
}
