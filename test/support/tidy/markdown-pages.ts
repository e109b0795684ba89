// The Markdown pages of the project, and the parts of them that tests compare with the source.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../../..");

/** The paths of all files below the folder with this suffix, relative to the project root, sorted. */
export async function filesBelow(folder: string, ending: string): Promise<string[]> {
  const names = await readdir(join(root, folder), { recursive: true });
  return names
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
    .sort();
}

/** All pages, written or generated, in the project root, `.github`, `docs` and `examples`. */
export async function markdownPages(): Promise<string[]> {
  const atRoot = (await readdir(root)).filter((name) => name.endsWith(".md")).sort();
  const below = await Promise.all([".github", "docs", "examples"].map((folder) => filesBelow(folder, ".md")));
  return [...atRoot, ...below.flat()];
}

export async function readPage(page: string): Promise<string> {
  return await readFile(join(root, page), "utf8");
}

/** The text without fenced blocks. */
export function withoutBlocks(text: string): string {
  return text.replaceAll(/^ *```.*?^ *```$/gms, "");
}

/** The text between backticks on one line, outside fenced blocks. */
export function codeSpans(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);
}

/** The anchors that code hosts create for the headings. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading.toLowerCase());
  return new Set(headings.map((heading) => heading.replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")));
}

/** The sections at a heading level, by heading. Each ends at the next heading of the same or a higher level. */
export function sectionsOf(text: string, level: number): ReadonlyMap<string, string> {
  const parts = text.split(new RegExp(`^(?=#{1,${level}} )`, "m"));
  const isSection = (part: string): boolean => part.startsWith(`${"#".repeat(level)} `);
  return new Map(parts.filter(isSection).map((part) => [(part.split("\n")[0] ?? "").slice(level + 1), part]));
}

/** The targets of all links outside fenced blocks. */
export function linksOf(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
}
