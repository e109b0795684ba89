// A renamed or moved instance and its rules arrive one object after another. A rule that is missing right after the start may
// still arrive, so nothing is removed for a moment. In directory mode, removals already wait for a quiet folder.
import { wallTimeOf } from "../../async/clock.ts";
import type { Gathered } from "../../model/gathered.ts";
import { nameKey } from "../../model/resource.ts";
import { continuesOf } from "../../model/continues.ts";
import type { ReconcilePorts } from "../ports.ts";
import type { InstanceMemory } from "./instance-memory.ts";

/** How long nothing is removed after this process first saw an instance that continues another one. */
export const arrivalMs = 30_000;

/** The ports of a run, with a source that counts as incomplete while the objects of the instance are arriving. */
export function holdDuringArrival(ports: ReconcilePorts, memory: InstanceMemory): ReconcilePorts {
  const { source, clock } = ports;
  if (source.isSettled !== undefined) return ports;
  const holding = (gathered: Gathered): Gathered => {
    const continues = continuesOf(gathered.instance.meta);
    if (continues.state !== "Named") return gathered;
    memory.arrivedAtMs ??= clock.monotonicMs() + arrivalMs;
    if (clock.monotonicMs() >= memory.arrivedAtMs) return gathered;
    const until = new Date(wallTimeOf(clock, memory.arrivedAtMs)).toISOString();
    const reason = `The instance continues WafInstance ${nameKey(continues.former)}: wafsync removes nothing until ${until}, in case some of its rules have not arrived yet.`;
    return { ...gathered, brokenSources: [...gathered.brokenSources, reason] };
  };
  return {
    ...ports,
    source: {
      gather: async (name) => {
        const gathered = await source.gather(name);
        return gathered === undefined ? undefined : holding(gathered);
      },
      confirm: async (name, options) => {
        const confirmed = await source.confirm(name, options);
        if (confirmed.state !== "Read" || confirmed.gathered === undefined) return confirmed;
        return { ...confirmed, gathered: holding(confirmed.gathered) };
      },
      version: (name) => source.version(name),
      ...(source.isUninstalling === undefined
        ? {}
        : { isUninstalling: async () => (await source.isUninstalling?.()) === true }),
      ...(source.removeObject === undefined
        ? {}
        : { removeObject: async (object) => await source.removeObject?.(object) }),
    },
  };
}
