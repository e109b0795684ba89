// `wafsync version`: what a bug report needs to know about this program.
import packageJson from "../../package.json" with { type: "json" };
import type { VersionOptions } from "./commands/process-commands.ts";

declare const WAFSYNC_COMMIT: string | undefined;

export async function runVersion({ output }: VersionOptions): Promise<number> {
  const { version } = packageJson;
  // The Git commit of the build, with the suffix `-dirty` if there were uncommitted changes.
  const commit = typeof WAFSYNC_COMMIT === "string" && WAFSYNC_COMMIT !== "" ? WAFSYNC_COMMIT : null;
  const node = process.versions.node;
  const platform = `${process.platform}-${process.arch}`;
  const lines = [
    `wafsync      ${version}`,
    `Commit       ${commit ?? "unknown: running from source"}`,
    `Node.js      ${node} (${platform})`,
  ];
  const text = output === "json" ? JSON.stringify({ version, commit, node, platform }) : lines.join("\n");
  process.stdout.write(`${text}\n`);
  return await Promise.resolve(0);
}
