// The rule about layers, and the rule that every permission and every exception in the tables must be needed.
import type { Exception } from "./exceptions.ts";
import { type Layer, rowNameOf, rowsOf } from "./layers.ts";
import { type SourceFile, isOurs } from "./source-tree.ts";
import type { Violation } from "./violation.ts";

/** Reports imports that no row permits, and folders without a row. */
export function layerRule(table: readonly Layer[], files: readonly SourceFile[]): Violation[] {
  const allowed = new Map(rowsOf(table).map(({ name, mayImport }) => [name, new Set([name, ...mayImport])]));
  const forbidden = files.flatMap((file) => {
    const own = rowNameOf(table, file.path);
    const mayImport = allowed.get(own ?? "");
    if (own === undefined || mayImport === undefined) return [];
    return importsOf(table, file)
      .filter(({ row }) => !mayImport.has(row ?? ""))
      .map(({ target, row }) => ({
        rule: "layers" as const,
        path: file.path,
        message: `${own} may not import ${target}`,
        ...(row === undefined ? {} : { target: row }),
      }));
  });
  const strays = files.filter(({ path }) => rowNameOf(table, path) === undefined).map(({ path }) => folderOf(path));
  return [...forbidden, ...[...new Set(strays)].map((folder) => missingRow(table, files, folder))];
}

/** Prints the row that is needed, so adding a folder means copying this row into the table. */
function missingRow(table: readonly Layer[], files: readonly SourceFile[], path: string): Violation {
  if (path === "src") return { rule: "layers", path, message: "has files outside any layer: move them into one" };
  const imported = files.filter((file) => folderOf(file.path) === path).flatMap((file) => importsOf(table, file));
  const rows = new Set(imported.map(({ row }) => row));
  const mayImport = rowsOf(table).flatMap(({ name }) => (rows.has(name) ? [name] : []));
  const folder = path.replace("src/", "");
  const name = table.some((layer) => "folders" in layer && layer.name === folder) ? `${folder}/*.ts` : folder;
  const row = JSON.stringify({ name, mayImport });
  return { rule: "layers", path, message: `has no row in the table: move its files, or add ${row}` };
}

/** Reports permissions that no import needs, and exceptions that match none of the violations. */
export function unusedRule(
  table: readonly Layer[],
  exceptions: readonly Exception[],
  files: readonly SourceFile[],
  violations: readonly Violation[],
): Violation[] {
  const used = new Set(
    files.flatMap((file) => importsOf(table, file).map(({ row }) => `${rowNameOf(table, file.path)} → ${row}`)),
  );
  const permissions = rowsOf(table).flatMap(({ name, mayImport }) =>
    mayImport.filter((row) => !used.has(`${name} → ${row}`)).map((row) => `${name} imports nothing from ${row}`),
  );
  const idle = exceptions.filter((exception) => !violations.some((violation) => isExcepted(violation, [exception])));
  return [
    ...permissions.map((message) => ({ rule: "unused" as const, path: "test/support/tidy/layers.ts", message })),
    ...idle.map(({ rule, path }) => ({
      rule: "unused" as const,
      path: "test/support/tidy/exceptions.ts",
      message: `${path} does not break the rule ${rule}`,
    })),
  ].map((violation) => ({ ...violation, message: `${violation.message}: remove it from the table` }));
}

export function isExcepted({ rule, path, target }: Violation, exceptions: readonly Exception[]): boolean {
  return exceptions.some((one) => one.rule === rule && one.path === path && one.target === target);
}

/** The files that a file imports, and the row of each. */
function importsOf(table: readonly Layer[], { imports }: SourceFile) {
  return imports.filter(isOurs).map((target) => ({ target, row: rowNameOf(table, target) }));
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
