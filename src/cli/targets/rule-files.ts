// Rules of commands as files in a folder, one rule per file, suitable for Git.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isMap, parseAllDocuments, stringify } from "yaml";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { removeFileDurably, writeUserFile } from "../../source/directory/atomic-file.ts";
import { objectFileName } from "../../source/directory/status-files.ts";
import type { DirectorySnapshot } from "../../source/directory/snapshot.ts";
import type { CommandRule } from "../command-rule.ts";
import { createdByAnnotation, isCommandRule, ruleDocument } from "../command-rule.ts";
import { asCommandError, CommandError } from "../describe-error.ts";

/** The same as for other files of a repository. */
const fileMode = 0o644;

/** The path of the rule, relative to the folder. @throws CommandError if it can't be written there */
export async function fileOfRule(directory: string, snapshot: DirectorySnapshot, name: ObjectName): Promise<string> {
  const item = snapshot.items.get(`WafIpRule ${nameKey(name)}`);
  if (item !== undefined) {
    const isOwn = "declared" in item && isCommandRule(item.declared.meta);
    if (isOwn && (await holdsOnlyARule(join(directory, item.file)))) return item.file;
    throw new CommandError(
      `WafIpRule ${nameKey(name)} is already declared in ${item.file}, and not only by this command`,
      "Change the rule there.",
    );
  }
  for (const file of [objectFileName(name.name), objectFileName(`${name.name}.${name.namespace}`)]) {
    const text = await readIfExists(join(directory, file));
    // Another command may have written the rule since the snapshot.
    if (text === undefined || isOnlyTheRule(text, name)) return file;
  }
  throw new CommandError(`the file ${objectFileName(name.name)} already exists and declares something else`);
}

export async function writeRuleFile(directory: string, file: string, rule: CommandRule): Promise<void> {
  await writeUserFile(join(directory, file), textOf(rule), fileMode).catch(asCommandError());
}

function textOf(rule: CommandRule): string {
  return `# Written by \`wafsync block\` or \`wafsync unblock\`, which overwrite it.\n${stringify(ruleDocument(rule), { lineWidth: 0 })}`;
}

/** @param written if set, a file with anything other than this rule stays: another command has blocked the address again */
export async function removeRuleFile(directory: string, file: string, written?: CommandRule): Promise<void> {
  if (written !== undefined && (await readIfExists(join(directory, file))) !== textOf(written)) return;
  await removeFileDurably(join(directory, file)).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${join(directory, file)} cannot be removed: ${error.code ?? error.message}`);
  });
}

/** Whatever else is in the file, be it invalid or of an unknown kind, must not be overwritten. */
async function holdsOnlyARule(path: string): Promise<boolean> {
  const text = await readIfExists(path);
  // Another command may have removed it since the snapshot.
  if (text === undefined) return true;
  const documents = parseAllDocuments(text);
  return documents.length === 1 && documents[0]?.get("kind") === "WafIpRule";
}

/** Whether the file holds this rule, written by a command, and nothing else. */
function isOnlyTheRule(text: string, { namespace, name }: ObjectName): boolean {
  const [document, ...others] = parseAllDocuments(text);
  return (
    others.length === 0 &&
    isMap(document?.contents) &&
    document.get("kind") === "WafIpRule" &&
    document.getIn(["metadata", "name"]) === name &&
    document.getIn(["metadata", "namespace"]) === namespace &&
    document.hasIn(["metadata", "annotations", createdByAnnotation])
  );
}

/** Empty if it can't be read. */
async function readIfExists(path: string): Promise<string | undefined> {
  return await readFile(path, "utf8").catch(({ code }: NodeJS.ErrnoException) => (code === "ENOENT" ? undefined : ""));
}
