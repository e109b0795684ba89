// What below deploy/ is made from elsewhere is as it would be made now, and speaks only of what there is.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { collectDefaultMetrics, Registry } from "prom-client";
import { parse, parseAllDocuments } from "yaml";
import { type DescribedMetric, describeMetrics } from "../../scripts/generate-tables.ts";
import { alertRules, dashboardPanels, dashboardQueries, deployText } from "./deploy-files.ts";

const root = join(import.meta.dirname, "..", "..");
const chart = join(root, "deploy", "helm", "wafsync");

interface ValueSchema {
  readonly properties?: Readonly<Record<string, ValueSchema>>;
}

/** Names such as `metrics.serviceMonitor.enabled` that the schema knows. */
function valuesOf(schema: ValueSchema, prefix = ""): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
    property.properties === undefined ? [`${prefix}${name}`] : valuesOf(property, `${prefix}${name}.`),
  );
}

function valueOf(values: unknown, name: string): unknown {
  return name.split(".").reduce<unknown>((value, part) => (value as Record<string, unknown>)?.[part], values);
}

interface RoleRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

// The suites of test/operator run with these rights, and fail where one is missing.
test.each(["cluster/cluster-role.yaml", "namespaced/role.yaml"])(
  "%s has no right that the operator does not use",
  async (file) => {
    const text = await readFile(join(root, "deploy", "kustomize", "overlays", file), "utf8");
    const [role] = parseAllDocuments(text).map((document) => document.toJS() as { readonly rules?: RoleRule[] });
    const rules = role?.rules ?? [];
    const verbsOn = (resource: string): string[] =>
      rules.flatMap(({ resources, verbs }) => (resources.includes(resource) ? verbs : [])).toSorted();
    expect(verbsOn("wafinstances")).toStrictEqual(["get", "list", "patch", "watch"]);
    for (const kind of ["wafinstances", "wafiprules", "waforigins", "wafcacheclears", "waffeeds", "wafautoblocks"]) {
      expect(verbsOn(`${kind}/status`)).toStrictEqual(["patch"]);
    }
    expect(verbsOn("wafinstances/finalizers")).toStrictEqual([]);
    expect(verbsOn("secrets")).toStrictEqual(["get"]);
    for (const read of ["configmaps", "wafiprules"]) expect(verbsOn(read)).toStrictEqual(["get", "list", "watch"]);
    expect(verbsOn("wafrecords")).not.toContain("watch");
    expect(verbsOn("pods")).toStrictEqual([]);
    expect(verbsOn("namespaces")).toStrictEqual(file.startsWith("namespaced/") ? [] : ["get", "list", "watch"]);
    expect(rules.flatMap(({ apiGroups, resources, verbs }) => [...apiGroups, ...resources, ...verbs])).not.toContain(
      "*",
    );
  },
);

test("the operator of one namespace has Roles only, with the rights of the other except those for namespaces", async () => {
  const [role, clusterRole] = await Promise.all(
    ["namespaced/role.yaml", "cluster/cluster-role.yaml"].map(async (file) => {
      const text = await readFile(join(root, "deploy/kustomize/overlays", file), "utf8");
      return parseAllDocuments(text).map((document) => document.toJS() as { kind: string; rules?: RoleRule[] });
    }),
  );
  expect(role?.map(({ kind }) => kind)).toStrictEqual(["Role", "RoleBinding"]);
  const granted = clusterRole?.[0]?.rules?.filter(({ resources }) => !resources.includes("namespaces"));
  expect(role?.[0]?.rules).toStrictEqual(granted);
});

test("a pipeline that clears the cache has rights for cache clears, and nothing else", async () => {
  const documents = parseAllDocuments(await deployText("cache-clear/clear-cache-role.yaml"));
  const objects = documents.map((document) => document.toJS() as { kind: string; rules?: RoleRule[] });
  expect(objects.map(({ kind }) => kind)).toStrictEqual(["ServiceAccount", "Role", "RoleBinding"]);
  expect(objects[1]?.rules).toStrictEqual([
    { apiGroups: ["wafsync.dev"], resources: ["wafcacheclears"], verbs: ["create", "get", "list", "patch", "watch"] },
  ]);
});

test("the values of the chart are all described, and all have a default", async () => {
  const schema = JSON.parse(await readFile(join(chart, "values.schema.json"), "utf8")) as ValueSchema;
  const values: unknown = parse(await readFile(join(chart, "values.yaml"), "utf8"));
  const names = valuesOf(schema).filter((name) => name !== "global");
  expect(names.length).toBeGreaterThan(40);
  expect(names.filter((name) => valueOf(values, name) === undefined)).toStrictEqual([]);
  const page = await readFile(join(chart, "README.md"), "utf8");
  const rows = names.map((name) => `| \`${name}\` | \`${JSON.stringify(valueOf(values, name))}\` |`);
  expect(rows.filter((row) => !page.includes(row))).toStrictEqual([]);
  expect(page).not.toMatch(/\| {2}\|/);
});

const rules = await alertRules();

test("every alert has a runbook, which gives its severity and its delay", async () => {
  const page = await readFile(join(root, "docs/reference/alerts.md"), "utf8");
  const sections = page.split(/^## /mu).slice(1);
  const delay = (text: string): string => (text === "0s" ? "immediately" : `after ${text.replace(/m$/u, " minutes")}`);
  expect(sections.map((section) => section.split("\n", 3).join("\n"))).toStrictEqual(
    rules.map(({ alert, labels, for: holdFor }) =>
      expect.stringContaining(
        `${alert}\n\n${labels.severity.charAt(0).toUpperCase()}${labels.severity.slice(1)}, ${delay(holdFor)}. `,
      ),
    ),
  );
  for (const { alert, annotations } of rules) {
    expect(annotations.runbook_url).toBe(`https://wafsync.dev/docs/reference/alerts#${alert.toLowerCase()}`);
  }
});

/** Functions, keywords and aggregations of PromQL that look like names of metrics. */
const words = new Set(
  "absent and bool by count histogram_quantile humanizeDuration increase job max min namespace on or rate sum time topk vector".split(
    " ",
  ),
);

function faultsIn(expression: string, metrics: readonly DescribedMetric[]): string[] {
  const plain = expression.replaceAll(/\[[^\]]+\]/g, "");
  const selectors = [...plain.matchAll(/([a-z]\w+)(?:\{([^}]*)\})?/g)];
  return selectors.flatMap(([, name = "", matchers = ""]) => {
    const metric = metrics.find((one) => [one.name, `${one.name}_bucket`].includes(name));
    if (metric === undefined)
      return /_(?:total|seconds|bytes|info)|^(?:wafsync|workqueue|leader)_/.test(name) ? [name] : [];
    const labels = [...matchers.matchAll(/(\w+)\s*[=!]/g)].map(([, label = ""]) => label);
    return labels.filter((label) => !metric.labels.includes(label)).map((label) => `${name}{${label}}`);
  });
}

/** About the file of `wafsync run`. */
const ofNodeExporter: DescribedMetric = {
  name: "node_textfile_mtime_seconds",
  type: "gauge",
  help: "Unixtime mtime of textfiles successfully read.",
  labels: ["file"],
};

describe("every query", () => {
  const alerts = rules.map(({ expr }) => expr);

  test("asks for metrics and labels that the operator serves", async () => {
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    const metrics = [...describeMetrics(), ...describeMetrics(registry), ofNodeExporter];
    const faults = [...alerts, ...(await dashboardQueries())].flatMap((query) => faultsIn(query, metrics));
    expect(faults).toStrictEqual([]);
  });

  test("groups by labels that one of its metrics has", async () => {
    const known = new Set(describeMetrics().flatMap(({ labels }) => labels));
    for (const label of [...ofNodeExporter.labels, "le", "namespace", "job", "instance"]) known.add(label);
    const groupings = [...alerts, ...(await dashboardQueries())].flatMap((query) =>
      [...query.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, labels = ""]) => labels.split(", ")),
    );
    expect(groupings.filter((label) => !known.has(label) && !words.has(label))).toStrictEqual([]);
  });
});

test("every metric of wafsync is on the dashboard or in an alert", async () => {
  const queries = [...(await dashboardQueries()), JSON.stringify(rules)].join("\n");
  const own = describeMetrics().filter(({ name }) => name.startsWith("wafsync_"));
  expect(own.filter(({ name }) => !queries.includes(name)).map(({ name }) => name)).toStrictEqual([]);
});

test("no two panels of the dashboard overlap, and none is beyond its columns", async () => {
  const panels = await dashboardPanels();
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, place) => `${x + (place % w)},${y + Math.floor(place / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(panels.filter(({ gridPos }) => gridPos.x + gridPos.w > 24)).toStrictEqual([]);
});
