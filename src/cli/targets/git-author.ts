// The last author of a file, if it is in a Git repository and Git is installed. For information only.
import { execFile } from "node:child_process";
import { environmentForPrograms } from "../../app/config.ts";
import type { FieldSetter } from "../../model/resource.ts";

const timeoutMs = 2_000;

/**
 * With `--no-show-signature` and without transports, the configuration of an untrusted repository starts no program. A folder from a
 * pull request can itself look like a bare repository.
 */
const safeSettings = ["safe.bareRepository=explicit", "core.fsmonitor=false", "core.hooksPath=/dev/null"];
/** Otherwise Git would fetch missing objects. */
const safeEnvironment = { GIT_ALLOW_PROTOCOL: "", GIT_TERMINAL_PROMPT: "0" };

/** @param file below the directory */
export async function lastCommitOf(directory: string, file: string): Promise<FieldSetter | undefined> {
  const settings = safeSettings.flatMap((setting) => ["-c", setting]);
  const query = ["--no-pager", "log", "-1", "--no-show-signature", "--format=%an%x09%aI", "--", file];
  const options = { timeout: timeoutMs, env: environmentForPrograms(safeEnvironment) };
  const output = await new Promise<string>((done) => {
    execFile("git", ["-C", directory, ...settings, ...query], options, (error, stdout) =>
      done(error === null ? stdout : ""),
    );
  });
  const [author = "", time = ""] = output.trim().split("\t");
  return author === "" || time === "" ? undefined : { manager: author, time };
}
