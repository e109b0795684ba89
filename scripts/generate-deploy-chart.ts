// Generates the CRDs and permissions in the Helm chart from the sources that kustomize installs, so both installation methods
// have the same result.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { servedDefinitions } from "../src/kinds/custom-resource.ts";
import { pluralOf } from "../src/kinds/kinds.ts";
import { crdStyle, customResourceDefinition, type GeneratedFile } from "./generate-crds.ts";

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
export async function chartFiles(root: string): Promise<GeneratedFile[]> {
  return [...definitionTemplates(), await rulesTemplate(root)];
}

/** A template for each CRD: users can exclude it, and Helm keeps it when the release is uninstalled. */
function definitionTemplates(): GeneratedFile[] {
  return servedDefinitions.map((served) => {
    const { name, spec } = customResourceDefinition(served);
    const head = [
      "{{- if .Values.crds.install }}",
      "apiVersion: apiextensions.k8s.io/v1",
      "kind: CustomResourceDefinition",
      "metadata:",
      `  name: ${name}`,
      "  labels:",
      '    {{- include "wafsync.labels" . | nindent 4 }}',
      "  {{- if .Values.crds.keep }}",
      "  annotations:",
      "    helm.sh/resource-policy: keep",
      "  {{- end }}",
    ];
    const file = `${pluralOf(served.kind)}.yaml`;
    const text = `${head.join("\n")}\n${escapeTemplate(stringify({ spec }, crdStyle))}{{- end }}\n`;
    return { path: `${chart}/templates/definition-${file}`, text: templateHeader(`crds/${file}`) + text };
  });
}

/** Escapes text so that Helm does not interpret it as a template. */
function escapeTemplate(text: string): string {
  return text.replaceAll("{{", '{{ "{{" }}');
}

/** The rules of all roles, as named templates. */
async function rulesTemplate(root: string): Promise<GeneratedFile> {
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
