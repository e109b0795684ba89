// Reads the names of instances from the valid files of a folder: sufficient for completion, and much faster than checking the
// whole folder.
import { isNameOfNamespace, isNameOfObject } from "../../model/resource.ts";
import { listSourceFiles, readSourceFile } from "../../source/directory/read-directory.ts";
import { readYamlDocuments } from "../../source/directory/yaml-documents.ts";

const kind = "WafInstance";

interface Declared {
  readonly kind?: unknown;
  readonly metadata?: { readonly namespace?: unknown; readonly name?: unknown } | null;
}

export async function namesInFolder(directory: string): Promise<readonly string[]> {
  const { files } = await listSourceFiles(directory, []);
  const names: string[] = [];
  for (const file of files) {
    const read = await readSourceFile(file);
    // Most files declare rules, and long lists take long to parse.
    if (read.ok && read.text.includes(kind)) names.push(...namesIn(read.text));
  }
  return names;
}

/** In the form `namespace/name`. */
export function namesIn(text: string): string[] {
  return readYamlDocuments(text).documents.flatMap(({ value }) => {
    const declared = value as Declared;
    const { namespace = "default", name } = declared.metadata ?? {};
    if (declared.kind !== kind || typeof namespace !== "string" || typeof name !== "string") return [];
    // A shell would execute parts of any other name that it inserts into the command line.
    return isNameOfNamespace(namespace) && isNameOfObject(name) ? [`${namespace}/${name}`] : [];
  });
}
