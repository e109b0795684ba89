// Series that belong to one object: a WafInstance, a WafFeed or a WafAutoBlock. They exist from `add` until `forget`, so that no series of
// deleted objects remain. Values for unknown objects are ignored.
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";

/** Objects above this limit have no metrics. */
export const instancesMax = 5_000;

/** Not `instance`: Prometheus uses that label for the scraped process and would rename ours. */
export type ObjectLabel = "waf_instance" | "waf_feed" | "waf_auto_block";

type Labels = Readonly<Record<string, string>>;
interface Series {
  remove(labels: Labels): void;
}

export interface InstanceCounter {
  inc(instance: string, labels: Labels, value?: number): void;
}

export interface InstanceGauge {
  set(instance: string, labels: Labels, value: number): void;
}

interface Definition {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** The series that exist for every instance from the start. */
  readonly initial: readonly Labels[];
}

export class InstanceSeries {
  readonly #registry: Registry;
  readonly #label: ObjectLabel;
  readonly #known = new Map<string, Map<string, () => void>>();
  readonly #starts: ((instance: string) => void)[] = [];

  constructor(registry: Registry, label: ObjectLabel = "waf_instance") {
    this.#registry = registry;
    this.#label = label;
  }

  /** Creates all series of the instance, at zero. Does nothing if they exist. */
  add(instance: string): void {
    if (this.#known.has(instance) || this.#known.size >= instancesMax) return;
    this.#known.set(instance, new Map());
    for (const start of this.#starts) start(instance);
  }

  /** Removes all series of the instance. */
  forget(instance: string): void {
    for (const remove of this.#known.get(instance)?.values() ?? []) remove();
    this.#known.delete(instance);
  }

  counter({ initial, labelNames, ...definition }: Definition): InstanceCounter {
    const registers = [this.#registry];
    const counter = new Counter({ ...definition, registers, labelNames: [this.#label, ...labelNames] });
    const inc = (instance: string, labels: Labels, value = 1): void => {
      const all = { [this.#label]: instance, ...labels };
      if (this.#note(instance, definition.name, counter, all)) counter.inc(all, value);
    };
    this.#starts.push((instance) => initial.forEach((labels) => inc(instance, labels, 0)));
    return { inc };
  }

  gauge({ initial, labelNames, ...definition }: Definition): InstanceGauge {
    const registers = [this.#registry];
    const gauge = new Gauge({ ...definition, registers, labelNames: [this.#label, ...labelNames] });
    const set = (instance: string, labels: Labels, value: number): void => {
      const all = { [this.#label]: instance, ...labels };
      if (this.#note(instance, definition.name, gauge, all)) gauge.set(all, value);
    };
    this.#starts.push((instance) => initial.forEach((labels) => set(instance, labels, 0)));
    return { set };
  }

  /** Whether the instance is known. If so, remembers how to remove the series. */
  #note(instance: string, name: string, series: Series, labels: Labels): boolean {
    const known = this.#known.get(instance);
    if (known === undefined) return false;
    const key = `${name} ${Object.values(labels).join(" ")}`;
    if (!known.has(key)) known.set(key, () => series.remove(labels));
    return true;
  }
}
