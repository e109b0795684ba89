// Rules of commands as files in a folder, one rule per file, suitable for Git.
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { removeFileDurably, writeUserFile } from "../../source/directory/atomic-file.ts";
import { objectFileName } from "../../source/directory/object-file-name.ts";
import type { DirectorySnapshot } from "../../source/directory/snapshot.ts";
import type { CommandRule } from "../command-rule.ts";
import { isCommandRule, ruleDocument } from "../command-rule.ts";
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
    if ((await stat(join(directory, file)).catch(() => undefined)) === undefined) return file;
  }
  throw new CommandError(`the file ${objectFileName(name.name)} already exists and declares something else`);
}

export async function writeRuleFile(directory: string, file: string, rule: CommandRule): Promise<void> {
  const text = `# Written by \`wafsync block\` or \`wafsync unblock\`, which overwrite it.\n${stringify(ruleDocument(rule), { lineWidth: 0 })}`;
  await writeUserFile(join(directory, file), text, fileMode).catch(asCommandError());
}

export async function removeRuleFile(directory: string, file: string): Promise<void> {
  await removeFileDurably(join(directory, file)).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${join(directory, file)} cannot be removed: ${error.code ?? error.message}`);
  });
}

/** Whatever else is in the file, be it invalid or of an unknown kind, must not be overwritten. */
async function holdsOnlyARule(path: string): Promise<boolean> {
  const documents = parseAllDocuments(await readFile(path, "utf8").catch(() => ""));
  return documents.length === 1 && documents[0]?.get("kind") === "WafIpRule";
}
