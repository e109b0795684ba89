// The layers of src/ as data: docs/contributing/architecture.md shows these tables, and test/tidy.test.ts enforces them.
// A permission is the name of a row. Grant only what the imports need: the test fails on unused permissions.
// After a change, copy the rows that the test prints into the page; oxfmt aligns them.

/**
 * The files of one folder. `reconcile/*.ts` names the files of a layer that lie next to its sub-folders. A file such as
 * `reconcile/ports.ts` can have its own row, and is then not part of the other one.
 */
export interface Row {
  readonly name: string;
  /** The rows whose files it may import, including types. Files may always import files of their own row. */
  readonly mayImport: readonly string[];
  /** Its purpose, in a few words. */
  readonly duty: string;
}

/** A layer is one row, or has a row for each of its folders. */
export type Layer = Row | { readonly name: string; readonly duty: string; readonly folders: readonly Row[] };

export const layers: readonly Layer[] = [
  {
    name: "model",
    mayImport: [],
    duty: "the shared vocabulary: entries and sets of entries, declarations, outcomes",
  },
  { name: "async", mayImport: [], duty: "clock, backoff, queue, pacing: nothing specific to wafsync" },
  { name: "telemetry", mayImport: ["model", "async"], duty: "log and metrics" },
  {
    name: "api",
    mayImport: ["model"],
    duty: "the custom resources: schemas, conditions and reasons, conversion to the model",
  },
  {
    name: "plan",
    duty: "pure decisions: desired state, ownership, plan",
    folders: [
      {
        name: "plan/access",
        mayImport: ["model"],
        duty: "which namespaces may attach, and when the WAF may be called",
      },
      { name: "plan/lists", mayImport: ["model"], duty: "entries: guards, conflicts, ownership, order of writes" },
      {
        name: "plan/origins",
        mayImport: ["model", "plan/lists"],
        duty: "which origins to add and remove",
      },
      {
        name: "plan/instance",
        mayImport: ["model", "plan/lists", "plan/origins"],
        duty: "the desired state and the plan of one instance",
      },
      { name: "plan/cache-clear", mayImport: ["model"], duty: "when to clear the cache, and for which trigger" },
      { name: "plan/logs", mayImport: ["model"], duty: "how to read logs without gaps and duplicates" },
      {
        name: "plan/feeds",
        mayImport: ["model", "plan/lists"],
        duty: "which content of a feed to use, and when to fetch it",
      },
      {
        name: "plan/blocking",
        mayImport: ["model", "plan/logs"],
        duty: "which clients in the logs reach a threshold, and for how long they are listed",
      },
    ],
  },
  { name: "net", mayImport: [], duty: "which addresses wafsync may connect to" },
  { name: "waf", mayImport: ["model", "async", "net"], duty: "the WAF over HTTP: requests, faults, the lane" },
  {
    name: "feed",
    duty: "external lists: fetching over HTTP, parsing of their formats",
    folders: [
      { name: "feed/read", mayImport: ["model"], duty: "parses feeds into entries: plain, CSV and JSON" },
      {
        name: "feed/fetch",
        mayImport: ["model", "async", "net", "plan/feeds", "feed/read"],
        duty: "one fetch over HTTP, only to checked addresses",
      },
      {
        name: "feed/crowdsec",
        mayImport: ["model", "async", "plan/feeds", "feed/fetch"],
        duty: "the decisions of a CrowdSec local API",
      },
    ],
  },
  {
    name: "kube",
    mayImport: ["async"],
    duty: "the client of the Kubernetes API, independent of wafsync's kinds",
  },
  {
    name: "source",
    duty: "where resources are stored: cluster, directory",
    folders: [
      { name: "source/*.ts", mayImport: ["model", "plan/feeds"], duty: "the inventory and feeds as text" },
      {
        name: "source/cluster",
        mayImport: ["model", "async", "api", "plan/lists", "plan/cache-clear", "plan/feeds", "kube", "source/*.ts"],
        duty: "custom resources by list and watch, records in WafRecords",
      },
      {
        name: "source/directory",
        mayImport: ["model", "async", "api", "plan/feeds", "source/*.ts"],
        duty: "YAML files and the state directory",
      },
    ],
  },
  {
    name: "reconcile",
    duty: "the use cases, behind ports",
    folders: [
      {
        name: "reconcile/ports.ts",
        mayImport: ["model", "async", "plan/instance"],
        duty: "the interfaces that the use cases need",
      },
      {
        name: "reconcile/*.ts",
        mayImport: ["model", "plan/instance"],
        duty: "the inputs and the results of a run",
      },
      {
        name: "reconcile/status",
        mayImport: [
          "model",
          "api",
          "plan/lists",
          "plan/origins",
          "plan/instance",
          "plan/blocking",
          "reconcile/ports.ts",
          "reconcile/*.ts",
        ],
        duty: "status, conditions and events, from facts",
      },
      {
        name: "reconcile/cache-clear",
        mayImport: [
          "model",
          "async",
          "api",
          "plan/cache-clear",
          "reconcile/ports.ts",
          "reconcile/*.ts",
          "reconcile/status",
        ],
        duty: "cache clears that are due, and their records",
      },
      {
        name: "reconcile/converge",
        mayImport: [
          "model",
          "async",
          "api",
          "plan/access",
          "plan/lists",
          "plan/instance",
          "plan/cache-clear",
          "reconcile/ports.ts",
          "reconcile/*.ts",
          "reconcile/status",
          "reconcile/cache-clear",
        ],
        duty: "the run that brings one WAF to its declared state",
      },
      {
        name: "reconcile/feeds",
        mayImport: ["model", "async", "api", "plan/lists", "plan/feeds", "reconcile/ports.ts", "reconcile/status"],
        duty: "updates the feeds, and provides their entries to rules",
      },
      {
        name: "reconcile/logs",
        mayImport: [
          "model",
          "async",
          "api",
          "plan/access",
          "plan/instance",
          "plan/logs",
          "plan/blocking",
          "reconcile/ports.ts",
        ],
        duty: "reads and forwards the logs of blocked requests, and evaluates them for automatic blocks",
      },
      {
        name: "reconcile/blocking",
        mayImport: ["model", "async", "plan/blocking", "reconcile/ports.ts", "reconcile/logs"],
        duty: "provides reconcile runs with the clients that automatic blocks list",
      },
    ],
  },
  {
    name: "app",
    mayImport: [
      "model",
      "async",
      "telemetry",
      "api",
      "net",
      "plan/feeds",
      "waf",
      "feed/fetch",
      "feed/crowdsec",
      "kube",
      "source/cluster",
      "source/directory",
      "reconcile/ports.ts",
      "reconcile/*.ts",
      "reconcile/status",
      "reconcile/cache-clear",
      "reconcile/converge",
      "reconcile/feeds",
      "reconcile/logs",
      "reconcile/blocking",
    ],
    duty: "composition: configuration, wiring, start and stop",
  },
  {
    name: "cli",
    duty: "the commands",
    folders: [
      {
        name: "cli/*.ts",
        mayImport: [
          "model",
          "async",
          "telemetry",
          "api",
          "plan/logs",
          "plan/lists",
          "plan/instance",
          "waf",
          "kube",
          "source/directory",
          "reconcile/ports.ts",
          "reconcile/*.ts",
          "reconcile/status",
          "reconcile/logs",
          "app",
          "cli/commands",
          "cli/completion",
          "cli/logs",
          "cli/page",
          "cli/report",
          "cli/targets",
        ],
        duty: "one file for each command, and code that several commands share",
      },
      {
        name: "cli/commands",
        mayImport: ["plan/logs", "cli/*.ts", "cli/completion"],
        duty: "the options of each command, without the code that runs it",
      },
      {
        name: "cli/completion",
        mayImport: ["model", "source/directory", "cli/*.ts"],
        duty: "suggestions for shell completion",
      },
      {
        name: "cli/logs",
        mayImport: ["model", "async", "plan/logs", "source/directory", "reconcile/logs", "app", "cli/*.ts"],
        duty: "logs to a terminal, a pipe or a file",
      },
      {
        name: "cli/targets",
        mayImport: [
          "model",
          "async",
          "api",
          "plan/feeds",
          "kube",
          "source/cluster",
          "source/directory",
          "reconcile/logs",
          "reconcile/blocking",
          "reconcile/ports.ts",
          "reconcile/status",
          "app",
          "cli/*.ts",
        ],
        duty: "the instances of a folder or a cluster that a command works on",
      },
      {
        name: "cli/report",
        mayImport: [
          "model",
          "plan/logs",
          "plan/lists",
          "plan/instance",
          "source/directory",
          "reconcile/ports.ts",
          "reconcile/logs",
          "cli/*.ts",
          "cli/logs",
          "cli/targets",
        ],
        duty: "the report about blocked requests, as one HTML page",
      },
      {
        name: "cli/page",
        mayImport: [
          "model",
          "async",
          "api",
          "reconcile/status",
          "reconcile/logs",
          "app",
          "cli/*.ts",
          "cli/logs",
          "cli/report",
          "cli/targets",
        ],
        duty: "the status page of all WAFs, over HTTP, and its summary as JSON",
      },
    ],
  },
  { name: "simulator", mayImport: [], duty: "the WAF's API for trials and tests, which shares no code with wafsync" },
];

/** Every row that files belong to, in the order of the table. */
export function rowsOf(table: readonly Layer[]): readonly Row[] {
  return table.flatMap((layer) => ("folders" in layer ? layer.folders : [layer]));
}

/** The row of a file; undefined if the table has none for its folder. */
export function rowNameOf(table: readonly Layer[], path: string): string | undefined {
  const file = path.replace(/^src\//, "");
  const folder = file.slice(0, Math.max(file.lastIndexOf("/"), 0));
  if (file === path || folder === "") return undefined;
  const names = rowsOf(table).map(({ name }) => name);
  return names.find((name) => name === file) ?? names.find((name) => name === folder || name === `${folder}/*.ts`);
}

/** The layer that a row or a path below src/ belongs to: its first folder. */
export function layerOfRow(row: string): string {
  return row.split("/")[0] ?? row;
}

/** The layers that a layer may import by any of its rows, in the order of the table. */
export function layersBelow(table: readonly Layer[], layer: Layer): readonly string[] {
  const granted = new Set(rowsOf([layer]).flatMap(({ mayImport }) => mayImport.map(layerOfRow)));
  return table.map(({ name }) => name).filter((name) => granted.has(name) && name !== layer.name);
}

/** The rows of the two tables in docs/contributing/architecture.md: the layers, then their folders. */
export function pageRows(): string[] {
  const layerRows = layers.map((layer) =>
    pageRow(layer, "folders" in layer ? layersBelow(layers, layer) : layer.mayImport),
  );
  const folderRows = layers.flatMap((layer) =>
    "folders" in layer ? layer.folders.map((row) => pageRow(row, row.mayImport)) : [],
  );
  return [...layerRows, ...folderRows];
}

function pageRow({ name, duty }: { readonly name: string; readonly duty: string }, names: readonly string[]): string {
  const imports = names.length === 0 ? "nothing" : names.map((one) => `\`${one}\``).join(", ");
  return `| \`${name}\` | ${duty} | ${imports} |`;
}
