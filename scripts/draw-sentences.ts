// `node scripts/draw-sentences.ts --seed 1 [--count 80]`: draws random sentences from pages, messages, field descriptions, help and
// comments. Check each sentence against the rules for texts in CONTRIBUTING.md. If one breaks a rule, look for similar sentences too.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { seededRandom } from "../test/support/builders/seeded-random.ts";
import { filesBelow, markdownPages, root } from "../test/support/tidy/markdown-pages.ts";

interface Sentence {
  readonly path: string;
  readonly text: string;
}

/** Strings with fewer words are names or labels. */
const wordsMin = 5;

function sentencesIn(path: string, text: string): Sentence[] {
  return text
    .replace(/\s+/g, " ")
    .split(/(?<=[.!?:])\s+(?=[A-Z`*[])/)
    .map((sentence) => ({ path, text: sentence.trim() }))
    .filter((sentence) => sentence.text.split(" ").length >= wordsMin);
}

function paragraphsOfPage(markdown: string): string[] {
  const prose = markdown.replace(/^ *```.*?^ *```$/gms, "").replace(/<!--.*?-->/gs, "");
  return prose
    .split(/\n(?=\s*(?:[-*|#]|\d+\.) ?)|\n\s*\n/)
    .flatMap((paragraph) => (paragraph.trimStart().startsWith("|") ? paragraph.split("|") : [paragraph]))
    .map((paragraph) => paragraph.replace(/^\s*(?:[-*#]+|\d+\.)\s+/, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
}

/** Comments, and strings that look like messages. */
function paragraphsOfSource(source: string): string[] {
  const comments = [...source.matchAll(/(?:^\s*\/\/.*\n)+/gm)].map(([lines]) => lines.replaceAll(/^\s*\/\/ ?/gm, ""));
  const docs = [...source.matchAll(/\/\*\*(.*?)\*\//gs)].map(([, text = ""]) => text.replace(/^\s*\* ?/gm, ""));
  const strings = [...source.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)].map(([, a, b]) => a ?? b ?? "");
  return [...comments, ...docs, ...strings.filter((text) => /^[A-Z].* .* /.test(text) && !text.includes("\n"))];
}

async function allSentences(): Promise<Sentence[]> {
  const pages = await markdownPages();
  const sources = (await filesBelow("src", ".ts")).filter((path) => !path.endsWith(".d.ts"));
  const read = async (paths: readonly string[], paragraphsOf: (text: string) => string[]): Promise<Sentence[]> => {
    const texts = await Promise.all(
      paths.map(async (path) => [path, await readFile(join(root, path), "utf8")] as const),
    );
    return texts.flatMap(([path, text]) => paragraphsOf(text).flatMap((paragraph) => sentencesIn(path, paragraph)));
  };
  return [...(await read(pages, paragraphsOfPage)), ...(await read(sources, paragraphsOfSource))];
}

const { values } = parseArgs({
  options: { seed: { type: "string", default: "1" }, count: { type: "string", default: "80" } },
});
const random = seededRandom(Number(values.seed));
const sentences = await allSentences();
console.log(`${values.count} of ${sentences.length} sentences, seed ${values.seed}`);
for (let drawn = 1; drawn <= Number(values.count); drawn += 1) {
  const [one] = sentences.splice(Math.floor(random() * sentences.length), 1);
  if (one !== undefined) console.log(`${String(drawn).padStart(3)}  ${one.path}: ${one.text}`);
}
