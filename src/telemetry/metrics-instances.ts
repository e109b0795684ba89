// Series that belong to one object: a WafInstance, a WafFeed or a WafAutoBlock. They exist from `add` until `forget`, so that no series of
// deleted objects remain. Values for unknown objects are ignored.
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";

/** Objects above this limit have no metrics. */
export const instancesMax = 5_000;

/** Not `instance`: Prometheus uses that label for the scraped process and would rename this label. */
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

/** One metric, with the series that every instance has. */
interface Family {
  readonly series: Series;
  readonly start: (instance: string) => void;
  readonly initial: readonly Labels[];
  /** The keys of `initial`. */
  readonly keys: ReadonlySet<string>;
}

export class InstanceSeries {
  readonly #registry: Registry;
  readonly #label: ObjectLabel;
  /** The additional series of each instance, by key. The series that every instance has are not stored here, to save memory. */
  readonly #known = new Map<string, Map<string, () => void>>();
  readonly #families: Family[] = [];

  constructor(registry: Registry, label: ObjectLabel = "waf_instance") {
    this.#registry = registry;
    this.#label = label;
  }

  /** Creates all series of the instance, at zero. Does nothing if they exist. */
  add(instance: string): void {
    if (this.#known.has(instance) || this.#known.size >= instancesMax) return;
    this.#known.set(instance, new Map());
    for (const { start } of this.#families) start(instance);
  }

  /** Removes all series of the instance. */
  forget(instance: string): void {
    const others = this.#known.get(instance);
    if (others === undefined) return;
    for (const { series, initial } of this.#families) {
      for (const labels of initial) series.remove(this.#labelled(instance, labels));
    }
    for (const remove of others.values()) remove();
    this.#known.delete(instance);
  }

  counter({ initial, labelNames, ...definition }: Definition): InstanceCounter {
    const registers = [this.#registry];
    const counter = new Counter({ ...definition, registers, labelNames: [this.#label, ...labelNames] });
    const inc = (instance: string, labels: Labels, value = 1): void => {
      if (this.#note(instance, family, definition.name, labels)) counter.inc(this.#labelled(instance, labels), value);
    };
    const start = (instance: string): void => initial.forEach((labels) => inc(instance, labels, 0));
    const family = this.#add({ series: counter, initial, start });
    return { inc };
  }

  gauge({ initial, labelNames, ...definition }: Definition): InstanceGauge {
    const registers = [this.#registry];
    const gauge = new Gauge({ ...definition, registers, labelNames: [this.#label, ...labelNames] });
    const set = (instance: string, labels: Labels, value: number): void => {
      if (this.#note(instance, family, definition.name, labels)) gauge.set(this.#labelled(instance, labels), value);
    };
    const start = (instance: string): void => initial.forEach((labels) => set(instance, labels, 0));
    const family = this.#add({ series: gauge, initial, start });
    return { set };
  }

  #add(made: Omit<Family, "keys">): Family {
    const family = { ...made, keys: new Set(made.initial.map(keyOf)) };
    this.#families.push(family);
    return family;
  }

  /** Whether the instance is known. If so, remembers how to remove the series. */
  #note(instance: string, { series, keys }: Family, name: string, labels: Labels): boolean {
    const others = this.#known.get(instance);
    if (others === undefined) return false;
    const key = keyOf(labels);
    if (keys.has(key)) return true;
    const own = `${name} ${key}`;
    if (!others.has(own)) others.set(own, () => series.remove(this.#labelled(instance, labels)));
    return true;
  }

  #labelled(instance: string, labels: Labels): Labels {
    return { [this.#label]: instance, ...labels };
  }
}

/** The values in the order of the label names, because callers pass labels in any order. */
function keyOf(labels: Labels): string {
  const names = Object.keys(labels).sort();
  return names.map((name) => labels[name]).join(" ");
}
