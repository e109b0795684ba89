// A schema rule in two equivalent forms: as CEL, which the API server evaluates at admission, and as a function for use without
// an API server. Both share one message.
import * as z from "zod";

/** The field of a Kubernetes schema that contains its CEL rules. */
export const validationsKey = "x-kubernetes-validations";

export interface SchemaRule<Value> {
  /** `self` is the value, `oldSelf` the previous one. */
  readonly cel: string;
  /** Says what to write instead. It never quotes the value, which may be confidential. */
  readonly message: string;
  /**
   * The same rule as a function. It must tolerate fields of the wrong type. `AdmissionOnly` is for rules that need the previous
   * object, and for entries, which are validated one by one later.
   */
  readonly holds: ((value: Value) => boolean) | "AdmissionOnly";
}

export interface CelRule {
  readonly rule: string;
  readonly message: string;
}

/** A CEL string literal. */
export function celText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** Returns the schema with the rules added in both forms. Every rule is checked, even if sibling fields are invalid. */
export function withRules<Schema extends z.ZodType>(
  schema: Schema,
  rules: readonly SchemaRule<z.output<Schema>>[],
): Schema {
  let checked = schema;
  for (const { holds, message } of rules) {
    if (holds === "AdmissionOnly") continue;
    const refinement = z.refine<z.output<Schema>>(holds, { error: message, when: ({ value }) => isPresent(value) });
    checked = checked.check(refinement);
  }
  const cel: CelRule[] = rules.map(({ cel, message }) => ({ rule: cel, message }));
  return checked.meta({ ...schema.meta(), [validationsKey]: cel });
}

function isPresent(value: unknown): boolean {
  return typeof value === "string" || (typeof value === "object" && value !== null);
}
