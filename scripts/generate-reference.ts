// Generates the reference pages of the kinds from their schemas, so that they stay complete.
import { servedDefinitions } from "../src/kinds/custom-resource.ts";
import type { PrinterColumn, ServedDefinition } from "../src/kinds/kind-definition.ts";
import { apiVersion, category, pluralOf, recordKind, type ServedKind } from "../src/kinds/kinds.ts";
import { validationsKey } from "../src/kinds/schema-rules.ts";
import { summarySchema } from "../src/kinds/summary.ts";
import { capitalized, counted, inThousands } from "../src/model/texts.ts";
import { type GeneratedFile, objectSchema, type StructuralSchema, structuralSchema } from "./generate-crds.ts";

const generatedNote = "<!-- Written by `npm run generate`. Edit the schemas in src/kinds instead. -->";

/** The pages of `docs/reference` about the kinds and `/summary`. */
export function referencePages(): GeneratedFile[] {
  const at = (file: string, text: string): GeneratedFile => ({ path: `docs/reference/${file}`, text });
  return [
    at("README.md", overviewPage()),
    ...servedDefinitions.map((definition) => at(pageFile(definition.kind), kindPage(definition))),
    at("summary.md", summaryPage()),
  ];
}

function pageFile(kind: ServedKind): string {
  return `${kind.replaceAll(/(?<=[a-z])(?=[A-Z])/gu, "-").toLowerCase()}.md`;
}

function overviewPage(): string {
  const rows = servedDefinitions.map(({ kind, shortName, description }) => [
    `[${kind}](${pageFile(kind)})`,
    `\`${shortName}\``,
    description,
  ]);
  return page("Reference", [
    `The custom resources of \`${apiVersion}\`. All are namespaced. \`kubectl get ${category}\` lists the kinds that you declare, that is, all except \`${recordKind}\`.`,
    table(["Kind", "Short name", "What it is"], rows),
    "The state of an object is in its conditions: see [conditions and reasons](conditions.md). For monitoring, see [metrics](metrics.md) and [alerts](alerts.md). [`/summary`](summary.md) returns the state of all WAFs as JSON.",
    "Durations are whole numbers with units, in descending order: `2d`, `1h30m`, `45s`, `250ms`.",
  ]);
}

function kindPage(definition: ServedDefinition): string {
  const { kind, shortName } = definition;
  const schema = objectSchema(definition);
  const columns = definition.printerColumns.map(columnRow);
  const fields = (definition.selectableFields ?? []).map((path) => `\`${path.slice(1)}\``).join(", ");
  return page(kind, [
    definition.description,
    `\`apiVersion: ${apiVersion}\`, \`kind: ${kind}\`. List them with \`kubectl get ${pluralOf(kind)}\`, or \`${shortName}\` for short.`,
    ...(definition.nameRules ?? []).map(({ message }) => `Rule: ${message}.`),
    ...objectSections("spec", schema.properties?.["spec"]),
    ...objectSections("status", schema.properties?.["status"]),
    `## Columns of \`kubectl get ${shortName}\``,
    table(["Column", "From", "Meaning"], columns),
    ...(fields === "" ? [] : [`\`--field-selector\` supports ${fields}.`]),
  ]);
}

function columnRow({ name, jsonPath, description, priority }: PrinterColumn): string[] {
  return [name, `\`${jsonPath.slice(1)}\``, priority === undefined ? description : `${description} (\`-o wide\`)`];
}

/** Returns a section for the object at a path, and one for each object below it. */
function objectSections(path: string, schema: StructuralSchema | undefined): string[] {
  if (schema?.properties === undefined) return [];
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties);
  const rows = fields.map(([name, field]) => [
    `\`${name}\``,
    typeName(field),
    required.has(name) ? "required" : defaultText(field),
    [field.description ?? "", ...ownRules(field)].join(" ").trim(),
  ]);
  const rules = schema[validationsKey] ?? [];
  const sections = [
    `## \`${path}\``,
    ...(schema.description === undefined ? [] : [schema.description]),
    ...(rules.length === 0 ? [] : [rules.map(({ message }) => `- Rule: ${message}.`).join("\n")]),
    table(["Field", "Type", "Default", "Meaning and rules"], rows),
  ];
  for (const [name, field] of fields) {
    if (field.type === "object") sections.push(...objectSections(`${path}.${name}`, field));
    if (field.type === "array") sections.push(...objectSections(`${path}.${name}[]`, field.items));
  }
  return sections;
}

function typeName(field: StructuralSchema): string {
  const { type, items } = field;
  if (field.enum !== undefined) return field.enum.map((choice) => `\`${choice}\``).join(" or ");
  if (type === "array") return `list of ${items === undefined ? "values" : pluralType(items)}`;
  if (type === "object") return field.additionalProperties === undefined ? "object" : "map of strings";
  if (type === "string") return field.format === "date-time" ? "time" : "string";
  return type;
}

function pluralType(items: StructuralSchema): string {
  return items.type === "string" ? "strings" : `${items.type}s`;
}

function defaultText(field: StructuralSchema): string {
  const { default: value } = field;
  if (value === undefined) return "–";
  if (field.type === "object") return field.properties === undefined ? "none" : "its fields' defaults";
  if (Array.isArray(value) && value.length === 0) return "none";
  if (value === "") return "empty";
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}

function ownRules(field: StructuralSchema): string[] {
  const { minimum, maximum, minLength, maxLength, maxItems, items } = field;
  const rules: string[] = [];
  if (minimum !== undefined && maximum !== undefined) {
    rules.push(`From ${inThousands(minimum)} to ${inThousands(maximum)}.`);
  } else if (minimum !== undefined && minimum !== 0) rules.push(`At least ${inThousands(minimum)}.`);
  if (minLength !== undefined) rules.push("Not empty.");
  if (maxLength !== undefined) rules.push(`At most ${counted(maxLength, "character", "characters")}.`);
  if (maxItems !== undefined) rules.push(`At most ${counted(maxItems, "item", "items")}.`);
  if (field.type !== "object") rules.push(...(field[validationsKey] ?? []).map(({ message }) => sentence(message)));
  if (items !== undefined && items.type !== "object") {
    if (items.maxLength !== undefined) {
      rules.push(`Each at most ${counted(items.maxLength, "character", "characters")}.`);
    }
    rules.push(...(items[validationsKey] ?? []).map(({ message }) => `Each: ${message}.`));
  }
  return rules;
}

function sentence(text: string): string {
  return `${capitalized(text)}.`;
}

function summaryPage(): string {
  return page("/summary", [
    "`wafsync ui` serves the state of all WAFs as JSON, next to [the page](../guides/page.md). `?instance=shop/main` limits the response to one instance.",
    "If the viewer may not read the instances, the status code is 403, and the only field is `error`, with the reason. New versions of wafsync add fields, but do not rename or remove them.",
    ...objectSections("summary", structuralSchema(summarySchema)),
  ]);
}

function page(title: string, blocks: readonly string[]): string {
  return `${[generatedNote, `# ${title}`, ...blocks].join("\n\n")}\n`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
