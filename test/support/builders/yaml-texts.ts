// YAML of examples and of the documentation, read as wafsync reads it.
import { parseAllDocuments } from "yaml";
import { isOurs, parseResource } from "../../../src/kinds/parse-resource.ts";

/** @throws what is wrong with the YAML itself */
export function documentsOf(text: string): { readonly kind?: string }[] {
  return parseAllDocuments(text).map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS() as { readonly kind?: string };
  });
}

/** The faults in the documents of wafsync's kinds. */
export function faultsOf(documents: readonly unknown[]): string[] {
  return documents.filter(isOurs).flatMap((document) => {
    const parsed = parseResource(document, "shop");
    return parsed.ok ? [] : parsed.faults.map(({ path, message }) => `${path}: ${message}`);
  });
}
