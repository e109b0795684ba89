// Where `wafsync run` shows its metrics: at an address, and in a file for the textfile collector of node_exporter.
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { listen, metricsOf } from "../app/health-server.ts";
import type { Standalone } from "../app/standalone.ts";
import { realClock } from "../async/clock.ts";
import { cannotListen, parseBindAddress, urlOf } from "../pages/server.ts";
import { fileProblem, writeFileAtomically } from "../source/directory/atomic-file.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import type { RunOptions } from "./commands/folder-commands.ts";
import { CommandError } from "./describe-error.ts";
import type { Session } from "./session.ts";

/** As often as Prometheus usually scrapes. */
const writeIntervalMs = 15_000;
/** node_exporter runs as another user. */
const readableByAll = 0o644;

/** @returns the metrics, and a function that shows them until the session ends, or throws a CommandError */
export function createMetricsOutput({ metricsAddress, metricsFile }: RunOptions) {
  const metrics = createMetrics({ version: packageJson.version, withProcess: metricsAddress !== undefined });
  const show = async (standalone: Standalone, session: Session): Promise<void> => {
    const read = (text: () => Promise<string>) => async () => {
      standalone.measureObjects(metrics);
      return await text();
    };
    if (metricsAddress !== undefined) await serve(metricsAddress, { ...metrics, text: read(metrics.text) }, session);
    if (metricsFile !== undefined) await keepFile(metricsFile, read(metrics.ownText), session);
  };
  return { metrics, show };
}

async function serve(address: string, metrics: Parameters<typeof metricsOf>[0], session: Session): Promise<void> {
  const { host, port } = parseBindAddress(address, "--metrics-address");
  const listening = listen(host, [{ handle: metricsOf(metrics), port }]);
  const server = await listening.catch(cannotListen("--metrics-address", address));
  session.atEnd(async () => await server.close());
  session.notes.line(`The metrics are at ${urlOf({ host, port: server.ports[0] ?? port })}metrics.`);
}

/** Removes the file at the end: the metrics of a process that has ended would hide that it has. */
async function keepFile(path: string, text: () => Promise<string>, { notes, atEnd }: Session): Promise<void> {
  // A folder that wafsync creates would be readable only by its owner.
  if (!path.endsWith(".prom") || !existsSync(dirname(path))) {
    throw new CommandError(
      `--metrics-file ${path} is not a .prom file in an existing folder`,
      "Set it to a file such as wafsync.prom in the folder of node_exporter's option --collector.textfile.directory.",
    );
  }
  const over = new AbortController();
  const write = async (): Promise<void> =>
    await writeFileAtomically(path, await text(), readableByAll, async (file) => await file.chmod(readableByAll));
  await write().catch((error: unknown) => {
    throw new CommandError(`--metrics-file ${path} cannot be written: ${fileProblem(error)}`);
  });
  const writing = (async () => {
    for (let reported = ""; ;) {
      await realClock.sleep(writeIntervalMs, over.signal);
      if (over.signal.aborted) return;
      const problem = await write().then(() => "", fileProblem);
      if (problem !== "" && problem !== reported)
        notes.remark("warning", `--metrics-file ${path} cannot be written: ${problem}`);
      reported = problem;
    }
  })();
  atEnd(async () => {
    over.abort();
    await writing;
    await rm(path, { force: true });
  });
}
