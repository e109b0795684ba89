// The Markdown pages of the project, and the parts of them that tests compare with the source.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../../..");

/** All files with that ending below the folder, by path from the root of the project, in order. */
export async function filesBelow(folder: string, ending: string): Promise<string[]> {
  const names = await readdir(join(root, folder), { recursive: true });
  return names
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
    .sort();
}

/** Every page that people wrote or generated: those at the root, and those of `.github`, `docs` and `examples`. */
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

/** What stands between backticks on one line, outside fenced blocks. */
export function codeSpans(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);
}

/** The headings as code hosts name them in links. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading.toLowerCase());
  return new Set(headings.map((heading) => heading.replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")));
}

/** The sections of a level, by their heading, with everything below them to the next heading of that level or above. */
export function sectionsOf(text: string, level: number): ReadonlyMap<string, string> {
  const parts = text.split(new RegExp(`^(?=#{1,${level}} )`, "m"));
  const isSection = (part: string): boolean => part.startsWith(`${"#".repeat(level)} `);
  return new Map(parts.filter(isSection).map((part) => [(part.split("\n")[0] ?? "").slice(level + 1), part]));
}

/** The targets of all links outside fenced blocks. */
export function linksOf(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
}
