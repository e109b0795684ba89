// Ports of a preview: the same run, but saves and calls change only memory, and every call is accepted.
import type { ListName } from "../model/declared.ts";
import { emptyInventory, type Inventory, type LoadedInventory } from "../model/inventory.ts";
import type { Operation } from "../model/operation.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import type { OriginsRead, WafResult, WriteAccepted, WafPort } from "../model/waf-result.ts";
import type { ReconcilePorts } from "./ports.ts";

/** @param calls the operations that a run would perform, added in their order */
export function inMemory(ports: ReconcilePorts, calls: Operation[]): ReconcilePorts {
  const { source, inventory, status } = ports;
  const saved = new Map<string, LoadedInventory>();
  const save = (instance: ObjectName, next: Inventory, revision: string): undefined => {
    saved.set(nameKey(instance), { state: "Loaded", inventory: next, revision });
  };
  return {
    ...ports,
    // What is declared now counts as confirmed: a preview waits for no change to be complete, and follows none.
    source: {
      gather: async (instance) => await source.gather(instance),
      confirm: async (instance) => ({ state: "Read", gathered: await source.gather(instance) }),
      version: () => 0,
      ...(source.isSettled === undefined ? {} : { isSettled: () => true }),
    },
    inventory: {
      load: async (instance) => saved.get(nameKey(instance)) ?? (await inventory.load(instance)),
      save: async (instance, next) => {
        save(instance, next, "previewed");
        return { state: "Saved", revision: "previewed" };
      },
      remove: async (instance) => save(instance, emptyInventory, ""),
    },
    lifecycle: { ensureFinalizer: async () => undefined, removeFinalizer: async () => undefined },
    openWaf: (instance, key) => accepting(ports.openWaf(instance, key)),
    status: { read: (object) => status.read(object), write: async () => undefined, event: () => undefined },
    history: undefined,
    observer: { ...ports.observer, operationDone: (_instance, operation) => void calls.push(operation) },
  };
}

/** The WAF as it is now, with the writes of the preview. */
function accepting(waf: WafPort): WafPort {
  const lists = new Map<ListName, Set<string>>();
  let origins: WafResult<OriginsRead> | undefined;
  const accepted = async (): Promise<WafResult<WriteAccepted>> => {
    return { ok: true, value: { domain: origins?.ok === true ? origins.value.domain : "", message: "" } };
  };
  return {
    readOrigins: async (options) => (origins ??= await waf.readOrigins(options)),
    readList: async (list, options) => {
      const known = lists.get(list);
      if (known !== undefined) return { ok: true, value: [...known] };
      const read = await waf.readList(list, options);
      if (read.ok) lists.set(list, new Set(read.value));
      return read;
    },
    addEntry: async (list, text) => {
      lists.get(list)?.add(text);
      return await accepted();
    },
    removeEntry: async (list, text) => {
      lists.get(list)?.delete(text);
      return await accepted();
    },
    addOrigin: accepted,
    removeOrigin: accepted,
    clearCache: accepted,
  };
}
