// Finds the terms of terms.ts in one text, with textlint. See docs/contributing/decisions/0009-textlint-for-terms.md.
import type { TextlintKernelRule } from "@textlint/kernel";
import { TextlintKernel } from "@textlint/kernel";
import markdown from "@textlint/textlint-plugin-markdown";
import { proseOfText, proseOfTypeScript } from "./prose-of-files.ts";
import { prosePlugin } from "./prose-processor.ts";
import type { Term } from "./terms.ts";
import { terms } from "./terms.ts";

export interface Finding {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

const textExtensions = [".yaml", ".yml", ".tpl", ".json", ".sh", ".txt", ".conf", ".lua"];
/** The endings of all files that can be checked. */
export const proseExtensions: readonly string[] = [".md", ".ts", ...textExtensions];

const plugins = [
  { pluginId: "markdown", plugin: markdown.default },
  prosePlugin("typescript", [".ts"], proseOfTypeScript),
  prosePlugin("text", textExtensions, proseOfText),
];
const rules = terms.map(ruleOf);
const suspicions = terms.map((term) => patternOf(term, "[\\s/*#>_]+", "i"));
const kernel = new TextlintKernel();

export async function findTerms(extension: string, text: string): Promise<Finding[]> {
  // Most files have none of the terms anywhere, not even with marks of comments between the words: those are not parsed.
  if (!suspicions.some((suspicion) => suspicion.test(text))) return [];
  const { messages } = await kernel.lintText(text, { ext: extension, filePath: `text${extension}`, plugins, rules });
  return messages.map(({ message, loc: { start } }) => ({ line: start.line, column: start.column, message }));
}

function patternOf({ avoid }: Term, space: string, flags: string): RegExp {
  return new RegExp(`(?<![\\w-])(?:${avoid.replaceAll(" ", space)})(?![\\w-])`, flags);
}

function ruleOf(term: Term): TextlintKernelRule {
  const pattern = patternOf(term, "\\s+", "gi");
  return {
    ruleId: term.avoid,
    rule: ({ Syntax, RuleError, report, getSource, locator }) => ({
      [Syntax.Str]: (node) => {
        for (const { 0: found, index } of getSource(node).matchAll(pattern)) {
          const message = `write ${term.write} instead of "${found.replaceAll(/\s+/g, " ")}"`;
          report(node, new RuleError(message, { padding: locator.range([index, index + found.length]) }));
        }
      },
    }),
  };
}
