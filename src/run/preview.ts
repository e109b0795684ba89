// Ports of a preview: the same run, but saves and calls change only memory, and every call is accepted.
import type { ListName } from "../model/declared.ts";
import { emptyInventory, type LoadedInventory } from "../model/inventory.ts";
import type { Operation } from "../model/operation.ts";
import { nameKey } from "../model/resource.ts";
import type { OriginsRead, WafResult, WriteAccepted } from "../model/waf-result.ts";
import type { InventoryPort, ReconcilePorts, SourcePort, WafPort } from "./ports.ts";

/** @param calls the operations that a run would perform, added in their order */
export function inMemory(ports: ReconcilePorts, calls: Operation[]): ReconcilePorts {
  return {
    ...ports,
    source: unchanging(ports.source),
    inventory: remembering(ports.inventory),
    lifecycle: { ensureFinalizer: async () => undefined, removeFinalizer: async () => undefined },
    openWaf: (instance, key) => accepting(ports.openWaf(instance, key)),
    status: { read: (object) => ports.status.read(object), write: async () => undefined, event: () => undefined },
    history: undefined,
    observer: { ...ports.observer, operationDone: (_instance, operation) => void calls.push(operation) },
  };
}

/** What is declared now counts as confirmed: a preview waits for no change to be complete, and follows none. */
function unchanging(source: SourcePort): SourcePort {
  return {
    gather: async (instance) => await source.gather(instance),
    confirm: async (instance) => ({ state: "Read", gathered: await source.gather(instance) }),
    version: () => 0,
  };
}

function remembering(port: InventoryPort): InventoryPort {
  const saved = new Map<string, LoadedInventory>();
  return {
    load: async (instance) => saved.get(nameKey(instance)) ?? (await port.load(instance)),
    save: async (instance, inventory) => {
      saved.set(nameKey(instance), { state: "Loaded", inventory, revision: "previewed" });
      return { state: "Saved", revision: "previewed" };
    },
    remove: async (instance) => {
      saved.set(nameKey(instance), { state: "Loaded", inventory: emptyInventory, revision: "" });
      return undefined;
    },
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
