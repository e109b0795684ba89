// Builds the Go programs that wafsync is compared with. Each is a module in a folder of bench/.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const buildMsMax = 300_000;

/** The first build downloads the module's dependencies through the Go module proxy. @throws Error if Go is not installed */
export async function buildGoProgram(name: string, folder: string): Promise<string> {
  const program = join(folder, name);
  const how = { cwd: join(import.meta.dirname, name), env: { ...process.env, CGO_ENABLED: "0" }, timeout: buildMsMax };
  await run("go", ["build", "-buildvcs=false", "-o", program, "."], how);
  return program;
}
