// Writes an approval into the file that declares an instance. Only that document is rewritten, and its comments are kept.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Document } from "yaml";
import { isMap, isSeq, parseAllDocuments, parseDocument } from "yaml";
import { approvalAnnotation } from "../../model/approval-annotation.ts";
import type { ObjectName, ResourceMeta } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { writeFileAtomically } from "../../source/directory/atomic-file.ts";
import { CommandError } from "../describe-error.ts";

const fileMode = 0o644;
/** The library compares each key with every other key; the folder was checked for duplicates when it was read. */
const parseOptions = { uniqueKeys: false } as const;
const defaultNamespace = "default";

/** @returns the path of the file. @throws CommandError if it can't be edited */
export async function approveInFile(directory: string, meta: ResourceMeta, hash: string): Promise<string> {
  const path = join(directory, meta.location.replace(/:\d+$/, ""));
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${path} cannot be read: ${error.code ?? error.message}`);
  });
  const edited = withApproval(text, meta, hash);
  const annotation = `${approvalAnnotation}: "${hash}"`;
  if (edited === undefined) {
    throw new CommandError(
      `WafInstance ${nameKey(meta)} was not found in ${path}`,
      `Add this line to its metadata.annotations: ${annotation}`,
    );
  }
  await writeFileAtomically(path, edited, fileMode).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(
      `${path} cannot be written: ${error.code ?? error.message}`,
      `Add this annotation to it: ${annotation}`,
    );
  });
  return path;
}

/** The text with the annotation in place; undefined if it declares no such instance. */
export function withApproval(text: string, name: ObjectName, hash: string): string | undefined {
  const documents = parseAllDocuments(text, parseOptions);
  if (!Array.isArray(documents)) return undefined;
  for (const { contents } of documents) {
    const [start, , end] = contents?.range ?? [];
    if (start === undefined || end === undefined) continue;
    // Edited separately, so that all other bytes of the file stay unchanged.
    const own = text.slice(start, end);
    const document = parseDocument(own, parseOptions);
    const path = pathOfInstance(document, name);
    if (path === undefined) continue;
    const value = document.createNode(hash);
    // Twelve digits without quotes would be parsed as a number.
    value.type = "QUOTE_DOUBLE";
    document.setIn([...path, "metadata", "annotations", approvalAnnotation], value);
    const indentSeq = !/^( *)\S.*:[ \t]*\n\1- /m.test(own);
    return `${text.slice(0, start)}${document.toString({ lineWidth: 0, indentSeq })}${text.slice(end)}`;
  }
  return undefined;
}

/** The path of the instance in the document, which may be a List. */
function pathOfInstance(document: Document, name: ObjectName): (string | number)[] | undefined {
  if (isInstance(document, [], name)) return [];
  const items = document.get("items", true);
  if (!isSeq(items)) return undefined;
  const index = items.items.findIndex((item, place) => isMap(item) && isInstance(document, ["items", place], name));
  return index === -1 ? undefined : ["items", index];
}

function isInstance(document: Document, path: readonly (string | number)[], { namespace, name }: ObjectName): boolean {
  const at = (...fields: string[]): unknown => document.getIn([...path, ...fields]);
  return (
    at("kind") === "WafInstance" &&
    at("metadata", "name") === name &&
    (at("metadata", "namespace") ?? defaultNamespace) === namespace
  );
}
