// Reads and judges the logs of a directory's instances, in the lanes of their keys. `run` loads this with the first WafAutoBlock.
import type { ChangeSignal } from "../async/change-signal.ts";
import type { Clock } from "../async/clock.ts";
import type { Gathered } from "../model/gathered.ts";
import { nameKey } from "../model/resource.ts";
import { autoBlockPublisher, type BlockBook } from "../blocks/block-book.ts";
import type { ReconcilePorts, SourcePort } from "../reconcile/ports.ts";
import type { DirectorySource } from "../source/directory/directory-source.ts";
import type { ForwardLogsPorts } from "../logs/forward-ports.ts";
import type { LogRecords } from "../logs/log-records.ts";
import { LogForwardingController } from "./log-forwarding-controller.ts";
import type { WafClients } from "./waf-clients.ts";

export interface JudgingOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly source: DirectorySource;
  /** Includes the entries of feeds, because allowed addresses are never blocked. */
  readonly fed: SourcePort;
  /** The ports of reconcile runs. */
  readonly ports: Pick<ReconcilePorts, "status" | "baseUrlObjection">;
  readonly records: LogRecords;
  readonly wafClients: WafClients;
  readonly book: BlockBook;
  /** Notified when the files have changed. */
  readonly changed: ChangeSignal;
}

export async function judgeLogs(options: JudgingOptions, signal: AbortSignal): Promise<void> {
  const { source, clock, random, changed } = options;
  const ports = portsOf(options, signal);
  const controller = new LogForwardingController({
    startRun: () => ({ ports }),
    concerns: (instance) => {
      return source.snapshot().autoBlocks.some((block) => nameKey(block.instance) === nameKey(instance));
    },
    clock,
    random,
  });
  const running = controller.run(signal);
  while (!signal.aborted) {
    const { version } = changed;
    for (const instance of source.instances()) controller.wake(instance, "files changed");
    await changed.wait(version, signal);
  }
  await running;
}

function portsOf(
  { fed, ports, records, wafClients, clock, random, book }: JudgingOptions,
  stopping: AbortSignal,
): ForwardLogsPorts {
  const { status, baseUrlObjection } = ports;
  return {
    source: { gather: async (instance) => withoutForwarding(await fed.gather(instance)) },
    baseUrlObjection,
    // Only forwarded rows need a domain.
    domainOf: () => "",
    openLogs: (instance, key) => wafClients.open(instance, key),
    outputOf: () => ({ write: async () => "In a directory, logs are not forwarded." }),
    records,
    blocks: autoBlockPublisher(book, status),
    status: {
      read: (meta) => status.read(meta),
      event: (meta, event) => status.event(meta, event),
      update: async () => undefined,
    },
    clock,
    random,
    mayForward: () => !stopping.aborted,
    stopping,
    observer: {},
  };
}

/** In a directory, logs are only judged: `wafsync logs` prints them. */
function withoutForwarding(gathered: Gathered | undefined): Gathered | undefined {
  if (gathered === undefined) return undefined;
  const { instance } = gathered;
  return { ...gathered, instance: { ...instance, logs: { ...instance.logs, enabled: false } } };
}
