// Rules of commands as files in a folder, one rule per file, suitable for Git.
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { removeFileDurably, writeFileAtomically } from "../../source/directory/atomic-file.ts";
import { objectFileName } from "../../source/directory/object-file-name.ts";
import type { DirectorySnapshot } from "../../source/directory/snapshot.ts";
import type { CommandRule } from "../command-rule.ts";
import { isCommandRule, ruleDocument } from "../command-rule.ts";
import { CommandError } from "../describe-error.ts";

/** The same as for other files of a repository. */
const fileMode = 0o644;

/** The path of the rule, relative to the folder. @throws CommandError if it can't be written there */
export async function fileOfRule(directory: string, snapshot: DirectorySnapshot, name: ObjectName): Promise<string> {
  const item = snapshot.items.get(`WafIpRule ${nameKey(name)}`);
  if (item !== undefined) {
    const isOwn = "declared" in item && isCommandRule(item.declared.meta);
    const shares = [...snapshot.items.values()].filter(({ file }) => file === item.file).length > 1;
    if (isOwn && !shares) return item.file;
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
  await writeFileAtomically(join(directory, file), text, fileMode).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${join(directory, file)} cannot be written: ${error.code ?? error.message}`);
  });
}

export async function removeRuleFile(directory: string, file: string): Promise<void> {
  await removeFileDurably(join(directory, file)).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${join(directory, file)} cannot be removed: ${error.code ?? error.message}`);
  });
}
