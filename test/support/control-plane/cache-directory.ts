// Where tests keep what can be created again, such as the programs that they have built.
import { homedir } from "node:os";
import { join } from "node:path";

/** The folder for files that can be recreated. It is never inside the repository. */
export function cacheDirectory(environment: NodeJS.ProcessEnv): string {
  const own = environment["WAFSYNC_CACHE"];
  if (own !== undefined && own !== "") return own;
  const shared = environment["XDG_CACHE_HOME"];
  return join(shared !== undefined && shared !== "" ? shared : join(homedir(), ".cache"), "wafsync");
}
