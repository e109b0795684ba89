// The recipes of docs/guides/notifications.md name only what wafsync has: its alerts, its kinds, the fields of its objects, and its events.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { parse, parseAllDocuments } from "yaml";
import { alertRules, deployText } from "./deploy-files.ts";
import { apiGroup, apiVersion, apiVersionName } from "../../src/kinds/kinds.ts";
import { resourceKinds } from "../../src/model/resource.ts";
import { aRule, anInstance } from "../support/builders/declare.ts";
import { readPage } from "../support/tidy/markdown-pages.ts";
import { ConvergeWorld } from "../support/worlds/converge-world.ts";

const root = join(import.meta.dirname, "..", "..");

test("the guide names every recipe", async () => {
  const page = await readPage("docs/guides/notifications.md");
  for (const file of ["alertmanager", "argocd", "flux", "event-exporter"])
    expect(page).toContain(`deploy/notifications/${file}.yaml`);
  expect(page).toContain("deploy/monitoring/kube-state-metrics.yaml");
});

interface Route {
  readonly receiver: string;
  readonly matchers?: readonly string[];
  readonly routes?: readonly Route[];
}

interface Alertmanager {
  readonly route: Route;
  readonly receivers: readonly { readonly name: string }[];
  readonly inhibit_rules: readonly {
    readonly source_matchers: readonly string[];
    readonly target_matchers: readonly string[];
    readonly equal: readonly string[];
  }[];
}

describe("Alertmanager", () => {
  /** Whether the matcher, such as `severity="critical"`, fits the labels. Regular expressions are anchored. */
  function matches(matcher: string, labels: Readonly<Record<string, string>>): boolean {
    const [, name = "", operator, value = ""] = /^(\w+)(=~?)"(.*)"$/.exec(matcher) ?? [];
    return operator === "=~" ? new RegExp(`^(?:${value})$`).test(labels[name] ?? "") : labels[name] === value;
  }

  function receiverOf(route: Route, labels: Readonly<Record<string, string>>): string {
    const next = route.routes?.find(({ matchers = [] }) => matchers.every((matcher) => matches(matcher, labels)));
    return next === undefined ? route.receiver : receiverOf(next, labels);
  }

  test("gets every alert to a receiver that its severity asks for, with its runbook", async () => {
    const text = await deployText("notifications/alertmanager.yaml");
    const { route, receivers, inhibit_rules } = parse(text) as Alertmanager;
    const rules = await alertRules();
    const receiverOfSeverity: Readonly<Record<string, string>> = {
      critical: "waf-on-call",
      warning: "waf",
      info: "nobody",
    };
    for (const { alert, labels } of rules) {
      const receiver = receiverOf(route, { ...labels, alertname: alert });
      expect([alert, receiver]).toStrictEqual([alert, receiverOfSeverity[labels["severity"] ?? ""]]);
      expect(receivers.map(({ name }) => name)).toContain(receiver);
    }
    expect(receiverOf(route, { alertname: "KubePodCrashLooping", severity: "critical" })).toBe("default");
    const used = [...text.matchAll(/Annotations\.(\w+)/g)].map(([, name = ""]) => name);
    expect(used).toContain("runbook_url");
    for (const { annotations } of rules) expect(Object.keys(annotations)).toStrictEqual(expect.arrayContaining(used));
    for (const { source_matchers, target_matchers, equal } of inhibit_rules) {
      const found = rules.filter(({ alert, labels }) =>
        [source_matchers, target_matchers].some((all) =>
          all.every((one) => matches(one, { ...labels, alertname: alert })),
        ),
      );
      expect(found).toHaveLength(3);
      for (const { expr } of found) for (const label of equal) expect(expr).toContain(`by (${label})`);
    }
  });
});

test("Argo CD's trigger sends a template that exists, at a health that wafsync's check reports", async () => {
  const [settings, params] = parseAllDocuments(await deployText("notifications/argocd.yaml")).map(
    (document) => (document.toJS() as { readonly data: Readonly<Record<string, string>> }).data,
  );
  const [trigger] = parse(settings?.["trigger.on-waf-attention"] ?? "") as [{ when: string; send: readonly string[] }];
  for (const name of trigger.send) expect(settings).toHaveProperty([`template.${name}`]);
  const health = await deployText("argocd/lua/health.lua");
  const statuses = [...trigger.when.matchAll(/'(\w+)'/g)].map(([, status = ""]) => status);
  expect(statuses).toStrictEqual(["Degraded", "Suspended"]);
  for (const status of statuses) expect(health).toContain(`health("${status}"`);
  // The template reads the health of single objects, which is otherwise not in the Application.
  expect(params).toStrictEqual({ "controller.resource.health.persist": "true" });
});

test("Flux's alert is about the Kustomizations of deploy/flux, by a provider that exists", async () => {
  const documents = async (file: string) =>
    parseAllDocuments(await deployText(file)).map(
      (document) =>
        document.toJS() as {
          kind: string;
          metadata: { name: string; namespace: string };
          spec: Record<string, unknown>;
        },
    );
  const [provider, alert] = await documents("notifications/flux.yaml");
  const own = [...(await documents("flux/operator.yaml")), ...(await documents("flux/wafs.yaml"))];
  const kustomizations = own.filter(({ kind }) => kind === "Kustomization");
  expect(alert?.spec["eventSources"]).toStrictEqual(
    kustomizations.map(({ kind, metadata: { name } }) => ({ kind, name })),
  );
  expect(alert?.spec["providerRef"]).toStrictEqual({ name: provider?.metadata.name });
  for (const { metadata } of [provider, alert].flatMap((one) => one ?? []))
    expect(metadata.namespace).toBe(kustomizations[0]?.metadata.namespace);
});

interface ExporterRule {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly type?: string;
  readonly reason?: string;
  readonly receiver: string;
}

interface Exporter {
  readonly route: { readonly routes: readonly { readonly match: readonly ExporterRule[] }[] };
  readonly receivers: readonly { readonly name: string; readonly slack: { readonly message: string } }[];
}

test("the event exporter sends every added and removed address once, and every warning", async () => {
  const { route, receivers } = parse(await deployText("notifications/event-exporter.yaml")) as Exporter;
  const rules = route.routes.flatMap(({ match }) => match);
  const fits = (pattern: string | undefined, value: string): boolean =>
    pattern === undefined || new RegExp(pattern).test(value);
  const sentBy = ({ status: { events } }: ConvergeWorld): string[] =>
    events.flatMap(({ object, type, reason, message }) => {
      const [kind = "", namespace = "", name = ""] = object.split(/[ /]/);
      const receivedBy = rules.filter(
        (rule) =>
          fits(rule.apiVersion, apiVersion) &&
          fits(rule.kind, kind) &&
          fits(rule.type, type) &&
          fits(rule.reason, reason),
      );
      const fields: Readonly<Record<string, string>> = {
        "InvolvedObject.Kind": kind,
        "InvolvedObject.Namespace": namespace,
        "InvolvedObject.Name": name,
        Reason: reason,
        Message: message,
      };
      return receivedBy.map(({ receiver }) => {
        const template = receivers.find((one) => one.name === receiver)?.slack.message ?? "";
        return `${receiver}: ${template.replaceAll(/\{\{ \.([\w.]+) \}\}/g, (_, field: string) => fields[field] ?? `unknown ${field}`)}`;
      });
    });
  const added = new ConvergeWorld({
    declared: { rules: [aRule("office", { addresses: ["192.0.2.1", "192.0.2.2"] })] },
  });
  await added.pass();
  expect(sentBy(added)).toStrictEqual([
    "waf-changes: edge/shop: Added 2 entries for WafIpRule edge/office: 192.0.2.1, 192.0.2.2.",
  ]);
  added.status.events.length = 0;
  added.declare({ rules: [aRule("office", { addresses: ["192.0.2.2"] })] });
  await added.pass();
  expect(sentBy(added)).toStrictEqual(["waf-changes: edge/shop: Removed 1 entry of WafIpRule edge/office: 192.0.2.1."]);
  const warned = new ConvergeWorld({
    declared: { instance: anInstance(), key: { state: "Missing", problem: "None." } },
  });
  await warned.pass();
  expect(sentBy(warned)).toStrictEqual([
    expect.stringMatching(/^waf-warnings: WafInstance edge\/shop: MissingApiKey\. /),
  ]);
});

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

interface StateMetrics {
  readonly spec: {
    readonly resources: readonly {
      readonly groupVersionKind: { readonly group: string; readonly version: string; readonly kind: string };
      readonly metricNamePrefix: string;
      readonly labelsFromPath: Readonly<Record<string, readonly string[]>>;
      readonly metrics: readonly {
        readonly name: string;
        readonly each: {
          readonly info: {
            readonly path: readonly string[];
            readonly labelsFromPath: Readonly<Record<string, readonly string[]>>;
          };
        };
      }[];
    }[];
  };
}

describe("kube-state-metrics", () => {
  const at = (schema: Schema | undefined, path: readonly string[]): Schema | undefined =>
    path.reduce((found, name) => found?.properties?.[name], schema);

  test("finds every path in the definition of every kind, and gives each a metric of its own", async () => {
    const { resources } = (parse(await deployText("monitoring/kube-state-metrics.yaml")) as StateMetrics).spec;
    expect(resources.map(({ groupVersionKind: { kind } }) => kind).toSorted()).toStrictEqual(resourceKinds.toSorted());
    for (const { groupVersionKind, metricNamePrefix, labelsFromPath, metrics } of resources) {
      const { group, version, kind } = groupVersionKind;
      expect([group, version]).toStrictEqual([apiGroup, apiVersionName]);
      expect(metricNamePrefix).toBe(`kube_${kind.toLowerCase()}`);
      expect(Object.values(labelsFromPath)).toStrictEqual([
        ["metadata", "namespace"],
        ["metadata", "name"],
      ]);
      const text = await readFile(join(root, "crds", `${kind.toLowerCase()}s.yaml`), "utf8");
      const { spec } = parse(text) as {
        spec: { versions: [{ name: string; schema: { openAPIV3Schema: Schema } }] };
      };
      const found = spec.versions.find(({ name }) => name === version)?.schema.openAPIV3Schema;
      for (const { name, each } of metrics) {
        expect(name).toMatch(/_info$/);
        const list = at(found, each.info.path);
        expect([kind, list?.type]).toStrictEqual([kind, "array"]);
        for (const path of Object.values(each.info.labelsFromPath)) expect(at(list?.items, path)?.type).toBe("string");
      }
    }
  });
});
