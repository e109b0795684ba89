// Where the commands of a page run: a folder with the examples, and a WAF whose API the simulator provides.
import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Simulator, startSimulator } from "../../../src/simulator/start-simulator.ts";
import { findFreePorts } from "../control-plane/free-ports.ts";
import { root } from "../tidy/markdown-pages.ts";
import { scratchDirectory } from "../worlds/scratch-directory.ts";
import { demoKey, PageSession, type SessionOptions } from "./page-session.ts";
import type { PageScript } from "./page-steps.ts";

const domain = "www.example.com";
const exampleUrl = "http://127.0.0.1:8080";
const logRowsPerDay = 500;

/** Runs the work in a new folder, whose `waf` is a copy of examples/directory. */
export async function withPageSession(
  { steps }: PageScript,
  more: Pick<SessionOptions, "programs" | "environment">,
  work: (session: PageSession, world: { readonly baseUrl: string; readonly directory: string }) => Promise<void>,
): Promise<void> {
  const startsItsOwn = steps.some((step) => step.kind === "Command" && step.script.includes("wafsync simulator"));
  const [api = 0, control = 0, page = 0] = await findFreePorts(3);
  let simulator: Simulator | undefined;
  if (!startsItsOwn) {
    const keys = [{ key: demoKey, domain }];
    simulator = await startSimulator({ keys, port: api, controlPort: control, logRowsPerDay });
  }
  const baseUrl = `http://127.0.0.1:${api}`;
  await using scratch = await scratchDirectory();
  const directory = join(scratch.path, "work");
  await mkdir(join(scratch.path, "tmp"), { recursive: true });
  await mkdir(directory);
  for (const folder of ["crds", "deploy"]) await symlink(join(root, folder), join(directory, folder));
  await cp(join(root, "examples"), join(directory, "examples"), { recursive: true });
  await replaceInFiles(join(directory, "examples"), exampleUrl, baseUrl);
  await cp(join(directory, "examples/directory"), join(directory, "waf"), { recursive: true });
  const replaced = [
    ["/tmp", join(scratch.path, "tmp")],
    ["/var/lib/wafsync", join(scratch.path, "tmp/state")],
    ["8080", `${api}`],
    ["8081", `${control}`],
    ["8082", `${page}`],
  ] as const;
  try {
    await using session = await PageSession.begin({
      scratch,
      directory,
      wafUrl: baseUrl,
      pagePort: page,
      replaced,
      ...more,
    });
    await work(session, { baseUrl, directory });
  } finally {
    await simulator?.close();
  }
}

async function replaceInFiles(folder: string, from: string, to: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith(".yaml")) continue;
    const text = await readFile(join(folder, name), "utf8");
    await writeFile(join(folder, name), text.replaceAll(from, to));
  }
}
