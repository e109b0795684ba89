// Series that belong to one object: a WafInstance, a WafFeed or a WafAutoBlock. They exist from `add` until `forget`, so that no series of
// deleted objects remain. Values for unknown objects are ignored.
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";

/** Objects above this limit have no metrics. */
export const instancesMax = 5_000;

/** Not `instance`: Prometheus uses that label for the scraped process and would rename this label. */
export type ObjectLabel = "waf_instance" | "waf_feed" | "waf_auto_block";

type Labels = Readonly<Record<string, string>>;

export interface InstanceCounter {
  inc(instance: string, labels: Labels, value?: number): void;
}

export interface InstanceGauge {
  set(instance: string, value: number, labels?: Labels): void;
}

interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** By the values of their labels. */
type Samples = Map<string, Sample>;

/** Changes the value of a series. Does nothing if the instance is unknown. */
type Change = (instance: string, labels: Labels, next: (before: number) => number) => void;

export class InstanceSeries {
  readonly #registry: Registry;
  readonly #label: ObjectLabel;
  /** The changed series of each instance, by metric: thousands of instances have fifty series each, most of which are zero. */
  readonly #known = new Map<string, Map<string, Samples>>();

  constructor(registry: Registry, label: ObjectLabel = "waf_instance") {
    this.#registry = registry;
    this.#label = label;
  }

  /** Creates all series of the instance, at zero. Does nothing if they exist. */
  add(instance: string): void {
    if (this.#known.has(instance) || this.#known.size >= instancesMax) return;
    this.#known.set(instance, new Map());
  }

  /** Removes all series of the instance. */
  forget(instance: string): void {
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
    const change = this.#add(name, counter, initial);
    return { inc: (instance, labels, value = 1) => change(instance, labels, (before) => before + value) };
  }

  /** The parameters are those of `counter`. */
  gauge(name: string, help: string, initial: readonly Labels[] = [{}], labelNames = namesOf(initial)): InstanceGauge {
    const registers = [this.#registry];
    const gauge = new Gauge({ name, help, registers, labelNames: [this.#label, ...labelNames] });
    const change = this.#add(name, gauge, initial);
    return { set: (instance, value, labels = {}) => change(instance, labels, () => value) };
  }

  /** Lets the metric show the values that are stored here, because it would store each of them with its labels. */
  #add(name: string, metric: Counter | Gauge, initial: readonly Labels[]): Change {
    const zeros = new Map(initial.map((labels) => [keyOf(labels), { labels, value: 0 }]));
    const empty = metric.get.bind(metric);
    metric.get = async () => ({
      ...(await empty()),
      values: [...this.#known].flatMap(([instance, byMetric]) => {
        const samples: Samples = new Map([...zeros, ...(byMetric.get(name) ?? [])]);
        return [...samples.values()].map(({ labels, value }) => ({
          labels: { [this.#label]: instance, ...labels },
          value,
        }));
      }),
    });
    return (instance, labels, next) => {
      const byMetric = this.#known.get(instance);
      if (byMetric === undefined) return;
      const samples = byMetric.get(name) ?? new Map<string, Sample>();
      byMetric.set(name, samples);
      const key = keyOf(labels);
      const before = samples.get(key) ?? zeros.get(key) ?? { labels, value: 0 };
      samples.set(key, { ...before, value: next(before.value) });
    };
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
