// The parts of the Helm chart that are made from what kustomize installs: custom resource definitions and rights. So
// both ways to install always give the same.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, parseAllDocuments, stringify } from "yaml";
import { generatedFiles } from "../src/api/generated-files.ts";

export interface GeneratedDeployFile {
  /** Below the project's folder, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly rules?: readonly unknown[];
}

const chart = "deploy/helm/wafsync";
const overlays = "deploy/kustomize/overlays";
const yamlOptions = { lineWidth: 0, aliasDuplicateObjects: false };
const templateHeader = (source: string): string =>
  `{{- /* Written by \`npm run generate\` from ${source}. Edit that instead. */ -}}\n`;

/** All that the chart takes from elsewhere, read below the project's folder. */
export async function chartFiles(root: string): Promise<GeneratedDeployFile[]> {
  return [...definitionTemplates(), await rulesTemplate(root), await readme(root)];
}

/**
 * One template for each definition: it can be left out, and is kept when the release is uninstalled. The definitions come
 * from the schemas and not from `crds/`, so that a stale file there hides no stale file here.
 */
function definitionTemplates(): GeneratedDeployFile[] {
  const texts = new Map(generatedFiles().map(({ path, text }) => [path, text]));
  const textOf = (file: string): string => texts.get(`crds/${file}`) ?? "";
  const kustomization = parse(textOf("kustomization.yaml")) as { resources: string[] };
  return kustomization.resources.map((file) => {
    const definition = parse(textOf(file)) as { metadata: { name: string }; spec: unknown };
    const spec = escapeTemplate(stringify({ spec: definition.spec }, yamlOptions));
    const head = [
      "{{- if .Values.crds.install }}",
      "apiVersion: apiextensions.k8s.io/v1",
      "kind: CustomResourceDefinition",
      "metadata:",
      `  name: ${definition.metadata.name}`,
      "  labels:",
      '    {{- include "wafsync.labels" . | nindent 4 }}',
      "  {{- if .Values.crds.keep }}",
      "  annotations:",
      "    helm.sh/resource-policy: keep",
      "  {{- end }}",
    ];
    const path = `${chart}/templates/definition-${file}`;
    return { path, text: `${templateHeader(`crds/${file}`)}${head.join("\n")}\n${spec}{{- end }}\n` };
  });
}

/** What a person wrote must not be taken for a template. */
function escapeTemplate(text: string): string {
  return text.replaceAll("{{", '{{ "{{" }}');
}

/** The rules of every role, each as a named template. */
async function rulesTemplate(root: string): Promise<GeneratedDeployFile> {
  const sources = [
    `${overlays}/cluster/cluster-role.yaml`,
    `${overlays}/namespaced/role.yaml`,
    "deploy/kustomize/base/lease-role.yaml",
    `${overlays}/cluster/user-roles.yaml`,
  ];
  const texts = await Promise.all(sources.map((source) => readFile(join(root, source), "utf8")));
  const [cluster = [], namespaced = [], lease = [], users = []] = texts.map(rolesIn);
  const named = [
    ...cluster.map((role) => define("rules.cluster", role.rules)),
    ...namespaced.map((role) => define("rules.namespaced", role.rules)),
    ...lease.map((role) => define("rules.lease", role.rules)),
    ...users.flatMap((role) => {
      const name = role.metadata.name.replace("wafsync-", "");
      return [define(`rules.${name}`, role.rules), define(`aggregation.${name}`, role.metadata.labels ?? {})];
    }),
  ];
  const text = templateHeader("deploy/kustomize") + named.join("\n");
  return { path: `${chart}/templates/_rules.tpl`, text };
}

function rolesIn(text: string): Role[] {
  const documents = parseAllDocuments(text).map((document) => document.toJS() as Role);
  return documents.filter(({ kind }) => kind === "Role" || kind === "ClusterRole");
}

function define(name: string, content: unknown): string {
  return `{{- define "wafsync.${name}" -}}\n${stringify(content, yamlOptions)}{{- end }}\n`;
}

interface ValueSchema {
  readonly description?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, ValueSchema>>;
}

/** The page that registries of charts show: every value with its default. */
async function readme(root: string): Promise<GeneratedDeployFile> {
  const schema = JSON.parse(await readFile(join(root, chart, "values.schema.json"), "utf8")) as ValueSchema;
  const values = parse(await readFile(join(root, chart, "values.yaml"), "utf8")) as Readonly<Record<string, unknown>>;
  const rows = rowsOf(schema, values, "");
  const text = [
    "<!-- Written by `npm run generate` from values.schema.json and values.yaml. -->",
    "",
    "# The wafsync chart",
    "",
    "Installs the operator, its CRDs and its RBAC rules, as `deploy/kustomize` does.",
    "",
    "    helm install wafsync ./wafsync --namespace wafsync-system --create-namespace",
    "",
    "## Values",
    "",
    "| Value | Default | Meaning |",
    "| --- | --- | --- |",
    ...rows,
  ];
  return { path: `${chart}/README.md`, text: `${text.join("\n")}\n` };
}

function rowsOf(schema: ValueSchema, values: Readonly<Record<string, unknown>>, prefix: string): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const value = values[name];
    if (property.properties !== undefined) {
      return rowsOf(property, (value ?? {}) as Readonly<Record<string, unknown>>, `${prefix}${name}.`);
    }
    if (value === undefined) return [];
    const choices =
      property.enum === undefined ? "" : ` One of ${property.enum.map((one) => `\`${one}\``).join(", ")}.`;
    return [`| \`${prefix}${name}\` | \`${JSON.stringify(value)}\` | ${property.description ?? ""}${choices} |`];
  });
}
