// The definition of a kind beyond its names: everything from which its CRD and its reference page are generated.
import type * as z from "zod";
import type { ResourceKind } from "../model/resource.ts";
import type { ServedKind } from "./kinds.ts";
import type { SchemaRule } from "./schema-rules.ts";

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean" | "date";
  readonly jsonPath: string;
  readonly description: string;
  /** 1 for columns that are shown only with `-o wide`. */
  readonly priority?: 1;
}

export interface ServedDefinition {
  readonly kind: ServedKind;
  /** `kubectl get wafip` lists the rules. */
  readonly shortName: string;
  readonly description: string;
  readonly spec: z.ZodType;
  /** Undefined for a kind without a status. */
  readonly status: z.ZodType | undefined;
  readonly printerColumns: readonly PrinterColumn[];
  /** JSON paths that `--field-selector` supports; at most eight. */
  readonly selectableFields?: readonly string[];
  /** Rules for the name, the only part of the metadata that CEL can read. */
  readonly nameRules?: readonly SchemaRule<{ readonly metadata: { readonly name: string } }>[];
}

type NameRule = NonNullable<ServedDefinition["nameRules"]>[number];

/** Limits the names of kinds whose names are part of the names of their records. */
export function nameLengthRule(what: string, lengthMax: number): NameRule {
  return {
    cel: `size(self.metadata.name) <= ${lengthMax}`,
    message: `give the ${what} a name of at most ${lengthMax} characters: the names of its records include it`,
    holds: ({ metadata }) => metadata.name.length <= lengthMax,
  };
}

/** A kind that users declare. */
export interface KindDefinition<
  Spec extends z.ZodType = z.ZodType,
  Status extends z.ZodType = z.ZodType,
> extends ServedDefinition {
  readonly kind: ResourceKind;
  readonly spec: Spec;
  readonly status: Status;
}

/** A printer column; with `Wide`, it is shown only with `-o wide`. */
export function column(
  name: string,
  type: PrinterColumn["type"],
  jsonPath: string,
  description: string,
  width?: "Wide",
): PrinterColumn {
  return { name, type, jsonPath, description, ...(width === "Wide" && { priority: 1 }) };
}

function conditionPath(type: string, field: "status" | "reason"): string {
  return `.status.conditions[?(@.type=="${type}")].${field}`;
}

export const ageColumn: PrinterColumn = column("Age", "date", ".metadata.creationTimestamp", "Time since creation");

/** The last columns of every declared kind: whether the object is ready and, if not, why. */
export const closingColumns: readonly PrinterColumn[] = [
  column("Ready", "string", conditionPath("Ready", "status"), "Whether the object is ready"),
  column("Reason", "string", conditionPath("Ready", "reason"), "The reason, as one word", "Wide"),
  ageColumn,
];

export const instanceColumn: PrinterColumn = column(
  "Instance",
  "string",
  ".spec.instanceRef.name",
  "The WafInstance that the object attaches to",
);
