// Inventories as readable YAML files, one per instance: `inventory/<namespace>/<name>.yaml`. The revision is a hash of the file, so
// a change by another writer is detected before the file is overwritten.
import { hexDigest } from "../../model/hex-digest.ts";
import { stringify } from "yaml";
import { Turns } from "../../async/turns.ts";
import type { Inventory, LoadedInventory, SavedInventory } from "../../model/inventory.ts";
import { emptyInventory } from "../../model/inventory.ts";
import { isNameOfNamespace, isNameOfObject, nameKey } from "../../model/resource.ts";
import type { ObjectName } from "../../model/resource.ts";
import { decodeInventory, encodeInventory } from "../inventory-codec.ts";
import { objectFileName } from "./object-file-name.ts";
import type { FilePath, FileResult, StateDirectory } from "./state-directory.ts";
import { readYamlDocuments } from "./yaml-documents.ts";

const folder = "inventory";
/** Far more than 100,000 entries require. */
const fileBytesMax = 64 * 1024 * 1024;

export interface InventoryFiles {
  /** An empty inventory with an empty revision if there is no file. */
  load(instance: ObjectName): Promise<LoadedInventory>;
  /** Durable when it resolves with `Saved`. `Conflict` if the file does not match `revision`. */
  save(instance: ObjectName, inventory: Inventory, revision: string): Promise<SavedInventory>;
  /** Undefined if the file was removed, otherwise the reason. */
  remove(instance: ObjectName): Promise<string | undefined>;
  /** Every instance that has an inventory, declared or not, ordered by name. */
  list(): Promise<FileResult<readonly ObjectName[]>>;
}

export function createInventoryFiles(state: StateDirectory): InventoryFiles {
  // Writes of one process are sequential, so that no other write can occur between the check and the write.
  const turns = new Turns();
  return {
    load: async (instance) => await loadInventory(state, instance),
    save: async (instance, inventory, revision) =>
      await turns.run(async () => await saveInventory(state, instance, inventory, revision)),
    remove: async (instance) => {
      const result = await turns.run(async () => await state.remove(fileOf(instance)));
      return result.ok ? undefined : result.problem;
    },
    list: async () => await listInstances(state),
  };
}

async function loadInventory(state: StateDirectory, instance: ObjectName): Promise<LoadedInventory> {
  const file = fileOf(instance);
  const read = await state.read(file, fileBytesMax);
  if (!read.ok) return { state: "Unreadable", problem: read.problem };
  if (read.value === undefined) return { state: "Loaded", inventory: emptyInventory, revision: "" };
  const parsed = parseFile(read.value);
  const decoded = parsed.ok ? decodeInventory(parsed.record) : parsed;
  if (!decoded.ok) return { state: "Unreadable", problem: `${state.pathOf(file)}: ${decoded.problem}` };
  if (parsed.ok && parsed.instance !== nameKey(instance)) {
    return { state: "Unreadable", problem: `${state.pathOf(file)} belongs to another instance.` };
  }
  return { state: "Loaded", inventory: decoded.inventory, revision: revisionOf(read.value) };
}

async function saveInventory(
  state: StateDirectory,
  instance: ObjectName,
  inventory: Inventory,
  revision: string,
): Promise<SavedInventory> {
  const file = fileOf(instance);
  const stored = await state.read(file, fileBytesMax);
  if (!stored.ok) return { state: "Failed", problem: stored.problem };
  const storedRevision = stored.value === undefined ? "" : revisionOf(stored.value);
  if (storedRevision !== revision) {
    return { state: "Conflict", problem: `${state.pathOf(file)} was changed by another writer after wafsync read it.` };
  }
  const text = formatFile(instance, inventory);
  if (text === stored.value) return { state: "Saved", revision };
  const written = await state.write(file, text);
  return written.ok ? { state: "Saved", revision: revisionOf(text) } : { state: "Failed", problem: written.problem };
}

async function listInstances(state: StateDirectory): Promise<FileResult<readonly ObjectName[]>> {
  const namespaces = await state.list([folder]);
  if (!namespaces.ok) return namespaces;
  const instances: ObjectName[] = [];
  for (const namespace of namespaces.value) {
    const files = await state.list([folder, namespace]);
    if (!files.ok) return files;
    for (const file of files.value.filter((name) => name.endsWith(".yaml"))) {
      const name = await nameOfFile(state, namespace, file);
      // A repository can contain files with other names and contents.
      if (isNameOfNamespace(namespace) && isNameOfObject(name)) instances.push({ namespace, name });
    }
  }
  return { ok: true, value: instances };
}

/** If the file name was truncated, the full name is in the file. */
async function nameOfFile(state: StateDirectory, namespace: string, file: string): Promise<string> {
  const name = file.slice(0, -".yaml".length);
  if (!name.includes("~")) return name;
  const read = await state.read([folder, namespace, file], fileBytesMax);
  const parsed = read.ok && read.value !== undefined ? parseFile(read.value) : undefined;
  return parsed?.ok === true ? parsed.instance.slice(namespace.length + 1) : name;
}

function fileOf({ namespace, name }: ObjectName): FilePath {
  return [folder, namespace, objectFileName(name)];
}

function formatFile(instance: ObjectName, inventory: Inventory): string {
  const record = { instance: nameKey(instance), ...encodeInventory(inventory) };
  return `# The entries that wafsync manages on this WAF. wafsync writes this file: do not edit it.\n${stringify(record, { lineWidth: 0 })}`;
}

type ParsedFile =
  | { readonly ok: true; readonly record: Record<string, string>; readonly instance: string }
  | { readonly ok: false; readonly problem: string };

function parseFile(text: string): ParsedFile {
  const { documents, faults } = readYamlDocuments(text);
  const [fault] = faults;
  if (fault !== undefined)
    return { ok: false, problem: `The inventory is damaged: line ${fault.line}, ${fault.message}.` };
  const value = documents[0]?.value;
  if (documents.length !== 1 || typeof value !== "object" || value === null) {
    return { ok: false, problem: "The inventory is damaged: the file is empty, or not one document." };
  }
  const { instance = "", ...record } = value as Record<string, unknown>;
  const wrong = Object.entries({ instance, ...record }).find(([, section]) => typeof section !== "string");
  if (wrong !== undefined)
    return { ok: false, problem: `The inventory is damaged: section ${wrong[0]} is not a string.` };
  return { ok: true, record: record as Record<string, string>, instance: instance as string };
}

function revisionOf(text: string): string {
  return hexDigest(text, 32);
}
