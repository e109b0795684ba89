// Starts the runs of the operator, with the permissions of the leader or of the shard that the instance belongs to.
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import type { Logger } from "../telemetry/log.ts";
import type { HeldShard } from "./held-shard.ts";
import type { InstanceRun } from "./instance-controller.ts";
import type { ForwardRun } from "./log-forwarding-controller.ts";
import { type LogForwardingParts, logForwardingPorts } from "./log-forwarding-ports.ts";
import { type LoggedStatusOptions, loggedStatus } from "./logged-status.ts";
import { measureOutcome } from "./measure-reconciles.ts";
import { type OperatorParts, operatorPorts } from "./operator-ports.ts";
import type { OperatorShards } from "./operator-shards.ts";
import { runFields } from "./run-fields.ts";
import { logPortsWithin, portsWithin } from "./shard-ports.ts";
import type { RunElsewhere } from "./started-run.ts";

export interface OperatorRunsOptions {
  readonly parts: OperatorParts;
  readonly forwarding: Omit<LogForwardingParts, keyof OperatorParts>;
  readonly statusOptions: LoggedStatusOptions;
  readonly log: Logger;
  /** Undefined if the leader does everything. */
  readonly shards: OperatorShards | undefined;
  /** Called when nothing about an instance needs to be remembered any longer. */
  readonly onForgotten: (instance: ObjectName) => void;
  /** Called when the domain of an instance is known, which log forwarding waits for. */
  readonly onDomain: (instance: ObjectName) => void;
  readonly requeue: (instance: ObjectName, reason: string) => void;
}

/** The permissions for an instance that no longer exists: each process forgets it, and none may write. */
const nobody = { mayWrite: () => false, mayRecord: () => false };

export class OperatorRuns {
  readonly #options: OperatorRunsOptions;
  /** The domain of each instance's key, as its last run found. */
  readonly #domains = new Map<string, string>();

  readonly #logPorts: ReturnType<typeof logForwardingPorts>;

  constructor(options: OperatorRunsOptions) {
    this.#options = options;
    this.#logPorts = logForwardingPorts({ ...options.parts, ...options.forwarding });
  }

  startRun(instance: ObjectName, reasons: readonly string[]): InstanceRun | Promise<InstanceRun | RunElsewhere> {
    const { shards, parts } = this.#options;
    if (shards === undefined) return this.#run(instance, reasons, parts, undefined);
    return this.#within(shards, instance, reasons, (own, held) => this.#run(instance, reasons, own, held));
  }

  startForwarding(instance: ObjectName, reasons: readonly string[]): ForwardRun | Promise<ForwardRun | RunElsewhere> {
    const { shards, parts } = this.#options;
    if (shards === undefined) return this.#forwardRun(instance, reasons, parts, undefined);
    return this.#within(shards, instance, reasons, (own, held) => this.#forwardRun(instance, reasons, own, held));
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

  /** Starts a run with the permissions and the signals of the instance's shard. */
  async #within<Run extends { readonly onEnd?: () => void }>(
    { admission }: OperatorShards,
    instance: ObjectName,
    reasons: readonly string[],
    start: (parts: OperatorParts, held: HeldShard | undefined) => Run,
  ): Promise<Run | RunElsewhere> {
    const { parts } = this.#options;
    const admitted = await admission.admit(instance, reasons.some(isChange));
    if (admitted.kind === "Elsewhere") return { elsewhereUntilMs: admitted.wakeAtMs };
    if (admitted.kind === "Gone") return start({ ...parts, leadership: nobody }, undefined);
    const { held } = admitted;
    const onEnd = held.begin(instance);
    return { ...start({ ...parts, leadership: held, stopping: held.stopping }, held), onEnd };
  }

  #run(
    instance: ObjectName,
    reasons: readonly string[],
    parts: OperatorParts,
    held: HeldShard | undefined,
  ): InstanceRun {
    const { statusOptions, shards, requeue } = this.#options;
    const { metrics, clock, leadership } = parts;
    const fields = runFields(instance, reasons);
    const log = this.#options.log.child(fields);
    const ports = operatorPorts(parts, loggedStatus(statusOptions, fields), log);
    return {
      ports: shards === undefined ? ports : portsWithin(ports, leadership),
      onOutcome: (outcome, result, durationMs) => {
        const isGone = outcome.result.kind === "Gone";
        log.debug("reconcile finished", { result, outcome: outcome.result.kind, durationMs: Math.round(durationMs) });
        if (isGone && outcome.facts !== undefined) log.info("instance released");
        measureOutcome(metrics, clock, instance, outcome);
        this.#noteDomain(instance, outcome.facts?.inventory?.domain);
        if (isGone) this.forget(instance);
        // The process continues, so the run must resume as soon as the key or the number of shards is certain again.
        const isCutOff = outcome.result.kind === "Interrupted" && held?.stopping.stop.aborted === false;
        if (isCutOff) requeue(instance, "interrupted");
      },
      onError: (error) => log.error("reconcile panicked", { error }),
    };
  }

  #forwardRun(
    instance: ObjectName,
    reasons: readonly string[],
    parts: OperatorParts,
    held: HeldShard | undefined,
  ): ForwardRun {
    const { statusOptions, forwarding } = this.#options;
    const fields = runFields(instance, reasons);
    const log = this.#options.log.child(fields);
    const portsOf = held === undefined ? this.#logPorts : logForwardingPorts({ ...parts, ...forwarding });
    const ports = portsOf(loggedStatus(statusOptions, fields), log);
    return {
      ports: held === undefined ? ports : logPortsWithin(ports, held),
      onError: (error) => log.error("log forwarding panicked", { error }),
    };
  }

  /** Log forwarding waits for the domain, which is part of every entry. */
  #noteDomain(instance: ObjectName, domain: string | undefined): void {
    const name = nameKey(instance);
    if (domain === undefined || this.#domains.get(name) === domain) return;
    this.#domains.set(name, domain);
    this.#options.onDomain(instance);
  }
}

/** Whether the Secret may have changed as well. Timers, retries and changes of Leases do not indicate this. */
function isChange(reason: string): boolean {
  return !unrelated.has(reason);
}

const unrelated: ReadonlySet<string> = new Set(["timer", "retry", "start", "shards changed"]);
