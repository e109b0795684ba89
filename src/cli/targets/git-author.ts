// The last author of a file, if it is in a Git repository and Git is installed. For information only.
import { execFile } from "node:child_process";
import type { FieldSetter } from "../../model/resource.ts";

const timeoutMs = 2_000;

/** @param file below the directory */
export async function lastCommitOf(directory: string, file: string): Promise<FieldSetter | undefined> {
  // Without hooks and helpers that the repository configures: the folder may be untrusted.
  const safe = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
  const parameters = ["-C", directory, ...safe, "log", "-1", "--format=%an%x09%aI", "--", file];
  const output = await new Promise<string>((done) => {
    execFile("git", parameters, { timeout: timeoutMs }, (error, stdout) => done(error === null ? stdout : ""));
  });
  const [author = "", time = ""] = output.trim().split("\t");
  return author === "" || time === "" ? undefined : { manager: author, time };
}
