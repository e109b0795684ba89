// A team's Git repository: files are written and committed, and Argo CD reads them from its folder.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runToEnd } from "../support/control-plane/run-to-end.ts";

export interface GitRepository {
  readonly folder: string;
  /** Writes the files, removes files whose content is undefined, and commits. Returns the commit. */
  commit(files: Readonly<Record<string, string | undefined>>): Promise<string>;
  /** The newest commit. */
  head(): Promise<string>;
}

export async function createGitRepository(folder: string): Promise<GitRepository> {
  await mkdir(folder, { recursive: true });
  const git = async (...args: readonly string[]): Promise<string> => {
    const identity = ["-c", "user.name=team", "-c", "user.email=team@example.com", "-c", "commit.gpgsign=false"];
    const ended = await runToEnd("git", [...identity, ...args], { directory: folder, environment: process.env });
    if (ended.code !== 0) throw new Error(`git ${args.join(" ")}: ${ended.stderr}`);
    return ended.stdout.trim();
  };
  await git("init", "--initial-branch=main", "--quiet");
  return {
    folder,
    head: () => git("rev-parse", "HEAD"),
    async commit(files) {
      for (const [path, content] of Object.entries(files)) {
        const file = join(folder, path);
        if (content === undefined) {
          await rm(file, { recursive: true, force: true });
          continue;
        }
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, content);
      }
      await git("add", "--all");
      await git("commit", "--quiet", "--allow-empty", "--message", "a change");
      return await git("rev-parse", "HEAD");
    },
  };
}
