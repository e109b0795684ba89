// Starts the runs of the operator.
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import type { Logger } from "../telemetry/log.ts";
import type { InstanceRun } from "./instance-controller.ts";
import type { ForwardRun } from "./log-forwarding-controller.ts";
import { type LogForwardingParts, logForwardingPorts } from "./log-forwarding-ports.ts";
import { type LoggedStatusOptions, loggedStatus } from "./logged-status.ts";
import { measureOutcome } from "./measure-reconciles.ts";
import { type OperatorParts, operatorPorts } from "./operator-ports.ts";
import { runFields } from "./run-fields.ts";

export interface OperatorRunsOptions {
  readonly parts: OperatorParts;
  readonly forwarding: Omit<LogForwardingParts, keyof OperatorParts>;
  readonly statusOptions: LoggedStatusOptions;
  readonly log: Logger;
  /** Called when nothing about an instance needs to be remembered any longer. */
  readonly onForgotten: (instance: ObjectName) => void;
  /** Called when the domain of an instance is known, which log forwarding waits for. */
  readonly onDomain: (instance: ObjectName) => void;
}

export class OperatorRuns {
  readonly #options: OperatorRunsOptions;
  /** The domain of each instance's key, as its last run found. */
  readonly #domains = new Map<string, string>();

  readonly #logPorts: ReturnType<typeof logForwardingPorts>;

  constructor(options: OperatorRunsOptions) {
    this.#options = options;
    this.#logPorts = logForwardingPorts({ ...options.parts, ...options.forwarding });
  }

  startRun(instance: ObjectName, reasons: readonly string[]): InstanceRun {
    const { statusOptions, parts } = this.#options;
    const { metrics, clock } = parts;
    const fields = runFields(instance, reasons);
    const log = this.#options.log.child(fields);
    return {
      ports: operatorPorts(parts, loggedStatus(statusOptions, fields), log),
      onOutcome: (outcome, result, durationMs) => {
        const isGone = outcome.result.kind === "Gone";
        log.debug("reconcile finished", { result, outcome: outcome.result.kind, durationMs: Math.round(durationMs) });
        if (isGone && outcome.facts !== undefined) log.info("instance released");
        measureOutcome(metrics, clock, instance, outcome);
        this.#noteDomain(instance, outcome.facts?.inventory?.domain);
        if (isGone) this.forget(instance);
      },
      onError: (error) => log.error("reconcile panicked", { error }),
    };
  }

  startForwarding(instance: ObjectName, reasons: readonly string[]): ForwardRun {
    const fields = runFields(instance, reasons);
    const log = this.#options.log.child(fields);
    return {
      ports: this.#logPorts(loggedStatus(this.#options.statusOptions, fields), log),
      onError: (error) => log.error("log forwarding panicked", { error }),
    };
  }

  domainOf(instance: ObjectName): string | undefined {
    return this.#domains.get(nameKey(instance));
  }

  /** Forgets everything about the instance. */
  forget(instance: ObjectName): void {
    this.#domains.delete(nameKey(instance));
    this.#options.onForgotten(instance);
    void this.#options.parts.wafClients.forget(nameKey(instance));
  }

  /** Log forwarding waits for the domain, which is part of every entry. */
  #noteDomain(instance: ObjectName, domain: string | undefined): void {
    const name = nameKey(instance);
    if (domain === undefined || this.#domains.get(name) === domain) return;
    this.#domains.set(name, domain);
    this.#options.onDomain(instance);
  }
}
