// Generates the CRDs and permissions in the Helm chart from the sources that kustomize installs, so both installation methods
// have the same result.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, parseAllDocuments, stringify } from "yaml";
import { generatedFiles } from "../src/kinds/generated-files.ts";

export interface GeneratedDeployFile {
  /** Relative to the project's folder, with forward slashes. */
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

/** All generated files of the chart. @param root the project's folder, which contains the sources */
export async function chartFiles(root: string): Promise<GeneratedDeployFile[]> {
  return [...definitionTemplates(), await rulesTemplate(root), await readme(root)];
}

/**
 * A template for each CRD: users can exclude it, and Helm keeps it when the release is uninstalled. The CRDs come from the
 * schemas and not from `crds/`, so that an outdated file there does not hide an outdated file here.
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

/** Escapes text so that Helm does not interpret it as a template. */
function escapeTemplate(text: string): string {
  return text.replaceAll("{{", '{{ "{{" }}');
}

/** The rules of all roles, as named templates. */
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

/** The README that chart registries show: every value with its default. */
async function readme(root: string): Promise<GeneratedDeployFile> {
  const schema = JSON.parse(await readFile(join(root, chart, "values.schema.json"), "utf8")) as ValueSchema;
  const values = parse(await readFile(join(root, chart, "values.yaml"), "utf8")) as Readonly<Record<string, unknown>>;
  const rows = rowsOf(schema, values, "");
  const text = [
    "<!-- Written by `npm run generate` from values.schema.json and values.yaml. -->",
    "",
    "# The wafsync chart",
    "",
    "This chart installs the operator, its CRDs and its permissions, like `deploy/kustomize`.",
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
