// The layers of src/ as data: docs/architecture.md shows this table, and test/tidy.test.ts holds the source to it.

export interface Layer {
  readonly name: string;
  /** The layers whose files it may import, for types too. Its own files it always may. */
  readonly mayImport: readonly string[];
  /** What it is for, in a few words. */
  readonly duty: string;
}

const bottom = ["model", "async", "telemetry"];

export const layers: readonly Layer[] = [
  {
    name: "model",
    mayImport: [],
    duty: "the vocabulary that all share: entries and sets of them, what is declared, outcomes",
  },
  { name: "async", mayImport: [], duty: "clock, back-off, queue, pacing: no domain in it" },
  { name: "telemetry", mayImport: ["model", "async"], duty: "log and metrics" },
  {
    name: "api",
    mayImport: bottom,
    duty: "the custom resources: schemas, conditions and reasons, from resource to model",
  },
  { name: "plan", mayImport: ["model"], duty: "pure decisions: what is desired, what is ours, what to do" },
  { name: "waf", mayImport: bottom, duty: "the WAF over HTTP: one request, its faults, the lane" },
  { name: "kube", mayImport: bottom, duty: "the machinery of the Kubernetes API, which knows none of our kinds" },
  {
    name: "source",
    mayImport: [...bottom, "api", "plan", "waf", "kube"],
    duty: "where resources live: cluster, directory",
  },
  { name: "reconcile", mayImport: [...bottom, "api", "plan"], duty: "the use cases, behind ports" },
  {
    name: "app",
    mayImport: [...bottom, "api", "plan", "waf", "kube", "source", "reconcile"],
    duty: "composition: configuration, wiring, start and stop",
  },
  {
    name: "cli",
    mayImport: [...bottom, "api", "plan", "waf", "kube", "source", "reconcile", "app"],
    duty: "one file a command",
  },
  { name: "simulator", mayImport: [], duty: "the WAF's API for trials and tests: nothing of ours in it" },
];

/** Single files that may import one layer more. */
export const layerExceptions: readonly { readonly file: string; readonly mayImport: string }[] = [
  { file: "src/cli/simulator-command.ts", mayImport: "simulator" },
];

/** The rows of the table in docs/architecture.md. */
export function layerRows(): string[] {
  return layers.map(({ name, mayImport, duty }) => {
    const imports = mayImport.length === 0 ? "nothing" : mayImport.map((layer) => `\`${layer}\``).join(", ");
    return `| \`${name}\` | ${duty} | ${imports} |`;
  });
}
