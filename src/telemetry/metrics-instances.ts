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

/** One metric. */
interface Family {
  readonly series: Series;
  /** The series that every instance has. */
  readonly initial: readonly Labels[];
  readonly start: (instance: string) => void;
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

  /**
   * @param initial the labels of the series that exist for every instance from the start
   * @param labelNames required if `initial` is empty
   */
  counter(
    name: string,
    help: string,
    initial: readonly Labels[] = [{}],
    labelNames = namesOf(initial),
  ): InstanceCounter {
    const registers = [this.#registry];
    const counter = new Counter({ name, help, registers, labelNames: [this.#label, ...labelNames] });
    const change = this.#add(name, counter, initial, (labels, value) => counter.inc(labels, value));
    return { inc: (instance, labels, value = 1) => change(instance, labels, value) };
  }

  /** The parameters are those of `counter`. */
  gauge(name: string, help: string, initial: readonly Labels[] = [{}], labelNames = namesOf(initial)): InstanceGauge {
    const registers = [this.#registry];
    const gauge = new Gauge({ name, help, registers, labelNames: [this.#label, ...labelNames] });
    return { set: this.#add(name, gauge, initial, (labels, value) => gauge.set(labels, value)) };
  }

  /** Returns what changes a series of an instance. It does nothing if the instance is unknown. */
  #add(
    name: string,
    series: Series,
    initial: readonly Labels[],
    write: (labels: Labels, value: number) => void,
  ): InstanceGauge["set"] {
    const keys = new Set(initial.map(keyOf));
    const change: InstanceGauge["set"] = (instance, labels, value) => {
      const others = this.#known.get(instance);
      if (others === undefined) return;
      const labelled = this.#labelled(instance, labels);
      const key = keyOf(labels);
      if (!keys.has(key)) others.set(`${name} ${key}`, () => series.remove(labelled));
      write(labelled, value);
    };
    const start = (instance: string): void => initial.forEach((labels) => change(instance, labels, 0));
    this.#families.push({ series, initial, start });
    return change;
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

function namesOf([first = {}]: readonly Labels[]): readonly string[] {
  return Object.keys(first);
}
