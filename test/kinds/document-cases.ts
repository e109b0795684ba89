// Documents with the expected result: the parser reports exactly these faults, and the API server comes to the same
// verdict. One table, document-cases.yaml, tests both, so they cannot diverge.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { ResourceKind } from "../../src/model/resource.ts";
import { documentOf, type Spec, type TestDocument } from "./documents.ts";

export interface FaultyCase {
  readonly title: string;
  readonly document: TestDocument;
  /** `path: message`, in any order. */
  readonly faults: readonly string[];
}

interface WrittenCase {
  readonly title: string;
  readonly kind: ResourceKind;
  readonly name?: string;
  readonly spec?: Spec;
  readonly wholeSpec?: Spec;
  readonly values?: readonly string[];
  readonly faults?: readonly string[];
}

const written = parse(readFileSync(join(import.meta.dirname, "document-cases.yaml"), "utf8")) as {
  readonly faulty: readonly WrittenCase[];
  readonly valid: readonly WrittenCase[];
};

export const faultyCases: readonly FaultyCase[] = [
  ...written.faulty.flatMap(casesOf),
  {
    title: "10,001 addresses",
    document: documentOf("WafIpRule", { addresses: Array.from({ length: 10_001 }, () => "192.0.2.1") }),
    faults: ["spec.addresses: must have at most 10,000 items"],
  },
];

export const validDocuments: readonly (readonly [title: string, document: TestDocument])[] = written.valid
  .flatMap(casesOf)
  .map(({ title, document }) => [title, document] as const);

function casesOf({ values, ...one }: WrittenCase): FaultyCase[] {
  if (values === undefined) return [caseOf(one)];
  return values.map((value) => {
    const spec = JSON.parse(JSON.stringify(one.spec).replace('"%s"', () => JSON.stringify(value))) as Spec;
    return caseOf({ ...one, title: one.title.replace("%s", () => JSON.stringify(value)), spec });
  });
}

function caseOf({ title, kind, name, spec, wholeSpec, faults = [] }: WrittenCase): FaultyCase {
  const document = documentOf(kind, spec);
  const metadata = name === undefined ? document.metadata : { name };
  return { title, document: { ...document, metadata, spec: wholeSpec ?? document.spec }, faults };
}
