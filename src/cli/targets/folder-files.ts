// What commands write into a folder: their rules, one per file and suitable for Git, and approvals, of which only the annotation is
// inserted into the file of the instance: comments, line ends and JSON stay.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isMap, parseAllDocuments, stringify, isNode, isScalar, type Document, type YAMLMap } from "yaml";
import { defaultNamespace } from "../../kinds/parse-resource.ts";
import { approvalAnnotation, type ObjectName, type ResourceMeta, nameKey } from "../../model/resource.ts";
import { removeFileDurably, writeUserFile } from "../../source/directory/atomic-file.ts";
import type { DirectorySnapshot } from "../../source/directory/snapshot.ts";
import { objectFileName } from "../../source/directory/status-files.ts";
import { type CommandRule, createdByAnnotation, ruleDocument } from "../command-rule.ts";
import { asCommandError, CommandError } from "../describe-error.ts";

/** The same as for other files of a repository. */
const fileMode = 0o644;

/** The path of the rule, relative to the folder. @throws CommandError if it can't be written there */
export async function fileOfRule(directory: string, snapshot: DirectorySnapshot, name: ObjectName): Promise<string> {
  const item = snapshot.items.get(`WafIpRule ${nameKey(name)}`);
  const files =
    item === undefined ? [objectFileName(name.name), objectFileName(`${name.name}.${name.namespace}`)] : [item.file];
  for (const file of files) {
    const text = await readIfExists(join(directory, file));
    // Another command may have written or removed it since the snapshot.
    if (text === undefined || isOnlyTheRule(text, name)) return file;
  }
  if (item === undefined) throw new CommandError(`the file ${files[0]} already exists and declares something else`);
  throw new CommandError(
    `WafIpRule ${nameKey(name)} is already declared in ${item.file}, and not only by this command`,
    "Change the rule there.",
  );
}

export async function writeRuleFile(directory: string, file: string, rule: CommandRule): Promise<void> {
  await writeUserFile(join(directory, file), textOf(rule), fileMode).catch(asCommandError());
}

function textOf(rule: CommandRule): string {
  return `# Written by \`wafsync block\` or \`wafsync allow\`, which overwrite it.\n${stringify(ruleDocument(rule), { lineWidth: 0 })}`;
}

/** What another command has done to the file since this rule was written; undefined if nothing. */
export async function changeOf(
  directory: string,
  file: string,
  written: CommandRule,
): Promise<"removed" | "changed" | undefined> {
  const text = await readIfExists(join(directory, file));
  if (text === textOf(written)) return undefined;
  return text === undefined ? "removed" : "changed";
}

/** @param written if set, a file with anything other than this rule stays: another command has blocked the address again */
export async function removeRuleFile(directory: string, file: string, written?: CommandRule): Promise<void> {
  if (written !== undefined && (await changeOf(directory, file, written)) !== undefined) return;
  await removeFileDurably(join(directory, file)).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${join(directory, file)} cannot be removed: ${error.code ?? error.message}`);
  });
}

/** Whether the file holds this rule, written by a command, and nothing else: whatever else is in it must not be overwritten. */
function isOnlyTheRule(text: string, name: ObjectName): boolean {
  const [value, ...others] = documentsOf(text).map(valueOf);
  const isRule = others.length === 0 && isObject(value, "WafIpRule", name);
  return isRule && Object.hasOwn(value?.metadata?.annotations ?? {}, createdByAnnotation);
}

/** Empty if it can't be read. */
async function readIfExists(path: string): Promise<string | undefined> {
  return await readFile(path, "utf8").catch(({ code }: NodeJS.ErrnoException) => (code === "ENOENT" ? undefined : ""));
}

/** The fields of an object that are needed here; any of them may be missing. */
interface Fields {
  readonly kind?: unknown;
  readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown; annotations?: Record<string, unknown> };
  readonly items?: unknown;
}

/** @returns the path of the file. @throws CommandError if it can't be edited */
export async function approveInFile(directory: string, meta: ResourceMeta, hash: string): Promise<string> {
  const path = join(directory, meta.location.replace(/:\d+$/, ""));
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${path} cannot be read: ${error.code ?? error.message}`);
  });
  const edited = withApproval(text, meta, hash);
  const hint = `Add this line to its metadata.annotations: ${approvalAnnotation}: "${hash}"`;
  if (edited === undefined) {
    throw new CommandError(`WafInstance ${nameKey(meta)} in ${path} cannot be edited by wafsync`, hint);
  }
  await writeUserFile(path, edited, fileMode).catch(asCommandError(hint));
  return path;
}

/** The text with the annotation in place; undefined if wafsync can't insert it without changing anything else. */
export function withApproval(text: string, name: ObjectName, hash: string): string | undefined {
  const documents = documentsOf(text);
  const values = documents.map(valueOf);
  for (const [at, value] of values.entries()) {
    const items = Array.isArray(value.items) ? (value.items as (Fields | null)[]) : [];
    const objects = [{ path: [], object: value }, ...items.map((object, item) => ({ path: ["items", item], object }))];
    const { path, object } = objects.find((one) => isObject(one.object, "WafInstance", name)) ?? {};
    const metadata = path && documents[at]?.getIn([...path, "metadata"], true);
    if (!object?.metadata || !isMap(metadata)) continue;
    const edited = inserted(text, metadata, hash);
    object.metadata.annotations = { ...object.metadata.annotations, [approvalAnnotation]: hash };
    // `values` is now what the edited text must mean.
    return edited !== undefined && isDeepStrictEqual(documentsOf(edited).map(valueOf), values) ? edited : undefined;
  }
  return undefined;
}

/** With the options that files are read with. */
function documentsOf(text: string): readonly Document[] {
  const documents = parseAllDocuments(text, { merge: true, uniqueKeys: false, logLevel: "silent" });
  return Array.isArray(documents) ? documents : [];
}

function valueOf(document: Document): Fields {
  try {
    // A copy, because aliases of one node have the same value.
    return (JSON.parse(JSON.stringify(document.toJS())) as Fields | null) ?? {};
  } catch {
    return {};
  }
}

function isObject(value: Fields | null | undefined, kind: string, { namespace, name }: ObjectName): boolean {
  const { kind: found, metadata } = value ?? {};
  return found === kind && metadata?.name === name && (metadata.namespace ?? defaultNamespace) === namespace;
}

function inserted(text: string, metadata: YAMLMap, hash: string): string | undefined {
  const value = `"${hash}"`;
  const pair = `"${approvalAnnotation}": ${value}`;
  const annotations = metadata.get("annotations", true);
  if (annotations === undefined) return insertedFirst(text, metadata, `"annotations": {${pair}}`);
  if (isMap(annotations)) {
    const former = annotations.get(approvalAnnotation, true);
    return former === undefined ? insertedFirst(text, annotations, pair) : replaced(text, former, value);
  }
  return isScalar(annotations) && annotations.value === null ? replaced(text, annotations, ` {${pair}}`) : undefined;
}

function replaced(text: string, node: unknown, by: string): string | undefined {
  if (!isNode(node) || !node.range) return undefined;
  const [start, end] = node.range;
  return `${text.slice(0, start)}${by}${text.slice(end)}`;
}

/** With the pair as the first one of the map, in braces or in a line of its own. */
function insertedFirst(text: string, map: YAMLMap, pair: string): string | undefined {
  const key = map.items[0]?.key;
  const first = isNode(key) ? key.range?.[0] : undefined;
  const start = first ?? (map.flow === true ? (map.range?.[0] ?? 0) + 1 : undefined);
  if (start === undefined) return undefined;
  const lineEnd = text.includes("\r\n") ? "\r\n" : "\n";
  const indent = " ".repeat(start - (text.lastIndexOf("\n", start - 1) + 1));
  const gap = first === undefined ? "" : map.flow === true ? ", " : `${lineEnd}${indent}`;
  return `${text.slice(0, start)}${pair}${gap}${text.slice(start)}`;
}
