// The real lists that exist next to the repository on some machines. They are only read, never copied into the repository.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
/** Next to the repository, or next to the folder of its worktrees. */
const folders = ["../shared/data", "../../shared/data"].map((folder) => join(root, folder));

/** Returns undefined, and prints a line on stderr, if the machine does not have the file. */
export async function readSharedList(name: string): Promise<Buffer | undefined> {
  const texts = await Promise.all(folders.map((folder) => readFile(join(folder, name)).catch(() => undefined)));
  const text = texts.find((one) => one !== undefined);
  if (text === undefined) {
    process.stderr.write(`wafsync: ../shared/data/${name} is missing, so the real list is not tested\n`);
  }
  return text;
}
