// The files that are generated from the schemas, by path relative to the project. This module neither writes nor compares them.
import { stringify } from "yaml";
import { customResourceDefinition } from "./custom-resource-definition.ts";
import { servedDefinitions } from "./custom-resource.ts";
import { pluralOf } from "./kinds.ts";
import { referencePages } from "./reference-page.ts";

export interface GeneratedFile {
  /** With forward slashes, for example `crds/wafinstances.yaml`. */
  readonly path: string;
  readonly text: string;
}

const header = "# Written by `npm run generate`. Edit the schemas in src/kinds instead.\n";

/** The folders that generated files are written to. */
export const generatedFolders = ["crds", "docs/reference"] as const;

/** Whether this module generated the text, in this version or an earlier one. */
export function isGenerated(text: string): boolean {
  return text.slice(0, 100).includes("Written by `npm run generate`");
}

/** All generated files, always in the same order and with the same content. */
export function generatedFiles(): GeneratedFile[] {
  const resources = servedDefinitions.map(({ kind }) => `${pluralOf(kind)}.yaml`);
  const definitions = servedDefinitions.map((definition, index) => ({
    path: `crds/${resources[index]}`,
    text: header + stringify(customResourceDefinition(definition), { lineWidth: 100, aliasDuplicateObjects: false }),
  }));
  const kustomization = { apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization", resources };
  definitions.push({ path: "crds/kustomization.yaml", text: header + stringify(kustomization) });
  return [...definitions, ...referencePages()];
}
