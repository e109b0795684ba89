// The ports of an instance's reconcile run in a directory.
import type { ReconcileObserver, ReconcilePorts, StatusPort } from "../reconcile/ports.ts";
import type { DirectorySource } from "../source/directory/directory-source.ts";
import type { Clock } from "../async/clock.ts";
import type { Redactor } from "../model/redactor.ts";
import type { BaseUrlPolicy } from "./base-url-policy.ts";
import { baseUrlObjection } from "./base-url-policy.ts";
import type { OpenedStore } from "./standalone-store.ts";
import { safeStatusPort } from "./status-texts.ts";
import type { Stopping } from "./stopping.ts";
import type { WafClients } from "./waf-clients.ts";

export interface StandalonePortsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer: ReconcileObserver;
  readonly stopping: Stopping;
  readonly baseUrls: BaseUrlPolicy;
  readonly redactor: Redactor;
  readonly onEvent?: StatusPort["event"];
}

export function standalonePorts(
  { clock, random, observer, stopping, baseUrls, redactor, onEvent }: StandalonePortsOptions,
  source: DirectorySource,
  { inventory, history, status }: OpenedStore,
  wafClients: WafClients,
): ReconcilePorts {
  return {
    source: {
      gather: async (name) => {
        const gathered = await source.gather(name);
        if (gathered?.key.state === "Present") redactor.add(gathered.key.key, name);
        return gathered;
      },
      confirm: async (name, how) => await source.confirm(name, how),
      isSettled: () => source.isSettled(),
      version: () => source.version(),
    },
    inventory,
    history,
    // There is no finalizer, because a deleted file is gone immediately.
    lifecycle: { ensureFinalizer: async () => undefined, removeFinalizer: async () => undefined },
    openWaf: (instance, key) => wafClients.open(instance, key),
    status: safeStatusPort(status, redactor, onEvent),
    clock,
    random,
    observer,
    baseUrlObjection: (baseUrl) => baseUrlObjection(baseUrls, baseUrl),
    stopping: stopping.stop,
    abandon: stopping.abandon,
  };
}
