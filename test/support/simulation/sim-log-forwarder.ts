// Log forwarding in one process of a simulation: the real controller, with ports to the simulated world.
import type { LogPort } from "../../../src/model/waf-result.ts";
import { LogController } from "../../../src/app/log-controller.ts";
import type { Clock } from "../../../src/async/clock.ts";
import type { ApiKey } from "../../../src/model/api-key.ts";
import type { DeclaredInstance } from "../../../src/model/declared.ts";
import { nameKey, type ObjectName, type ResourceMeta } from "../../../src/model/resource.ts";
import type { BlockBook } from "../../../src/blocks/block-book.ts";
import type { ForwardLogsPorts } from "../../../src/logs/forward-ports.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimWorld } from "./sim-world.ts";

/** The parts of the process that it uses. */
interface ForwarderParts {
  readonly clock: Clock;
  readonly call: <T>(where: string, effect: () => T) => Promise<T>;
  readonly open: (instance: DeclaredInstance, key: ApiKey) => LogPort;
  readonly isPermitted: () => boolean;
  readonly book: BlockBook;
  readonly stopping: AbortSignal;
}

const shop = "edge/shop";

export function logForwarder(world: SimWorld, process: SimProcess, parts: ForwarderParts): LogController {
  const { clock } = parts;
  return new LogController({
    startRun: (instance) => {
      return {
        ports: portsOf(world, process, parts),
        onError: (error) => world.defect(process, `Forwarding the logs of ${nameKey(instance)} threw ${String(error)}`),
      };
    },
    concerns: (instance) => (world.logs.isUsed || world.blocks.isUsed) && nameKey(instance) === shop,
    clock,
    random: world.random,
  });
}

function portsOf(
  world: SimWorld,
  process: SimProcess,
  { clock, call, open, isPermitted, book, stopping }: ForwarderParts,
): ForwardLogsPorts {
  const { logs, cluster } = world;
  const status: Pick<ForwardLogsPorts["status"], "read" | "event"> = {
    read: (object) => world.status.read(object),
    event: (object, event) => {
      if (process.life.alive) world.event(process, object, event);
    },
  };
  const metaOf = (instance: ObjectName): ResourceMeta => instance as ResourceMeta;
  return {
    source: {
      gather: async (instance) => await call("gather", () => cluster.gathered(process.seen, instance)),
    },
    baseUrlObjection: () => undefined,
    domainOf: () => ({ domain: world.waf.domain }),
    openLogs: (instance, key) => open(instance, key),
    outputOf: () => ({
      write: async ({ instance }, entries) => await call("write", () => logs.write(process, metaOf(instance), entries)),
    }),
    records: {
      load: async (instance) => await call("loadLogs", () => logs.load(process, metaOf(instance))),
      save: async (instance, record, revision) =>
        await call("saveLogs", () => logs.save(process, metaOf(instance), record, revision)),
    },
    status: {
      ...status,
      // The log fields of the status are not simulated.
      update: async (_, change) => {
        await Promise.resolve();
        change({ conditions: [{ type: "Ready" }] });
      },
    },
    blocks: {
      publish: (instance, judgements) => {
        book.publish(instance, judgements);
        if (process.life.alive) world.blocks.published(process, metaOf(instance), judgements);
      },
      report: (instance, reading) => book.report(instance, reading),
    },
    clock,
    random: world.random,
    mayForward: () => isPermitted() && !stopping.aborted,
    stopping,
    observer: {},
  };
}
