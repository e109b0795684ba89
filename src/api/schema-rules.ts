// A rule of a schema in both its forms: as CEL, which the API server evaluates at admission, and as a function, which
// gives the same answer for the same document where there is no API server. One message serves both.
import * as z from "zod";

/** How Kubernetes names the CEL rules of a schema. */
export const validationsKey = "x-kubernetes-validations";

export interface SchemaRule<Value> {
  /** `self` is the value, `oldSelf` the one that it replaces. */
  readonly cel: string;
  /** Says what to write instead. It never quotes the value, which may hold what should not be shown. */
  readonly message: string;
  /**
   * The same rule as a function. Fields of the wrong type may reach it, so it looks at them with care.
   * `AdmissionOnly` is for rules that need the previous object, and for entries, which are judged one by one later.
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

/** The schema with the rules added, in both forms. Every rule is checked, also where fields beside it are wrong. */
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
