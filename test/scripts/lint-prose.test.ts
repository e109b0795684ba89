// The check of terms: each rule fails what it should fail and passes the good sentences near it, wherever texts are.
import { describe, expect, test } from "@jest/globals";
import { findTerms } from "../../scripts/prose/lint.ts";
import { terms } from "../../scripts/prose/terms.ts";

/** As pages, comments, strings and values of the chart have the sentence. */
const places: readonly (readonly [string, string, (sentence: string) => string])[] = [
  ["a page", ".md", (sentence) => `# Title\n\n- ${sentence}\n`],
  ["a comment", ".ts", (sentence) => `// ${sentence}\nexport const one = 1;\n`],
  ["a doc comment of several lines", ".ts", (sentence) => `/**\n * ${sentence.replaceAll(" ", "\n * ")}\n */\n`],
  ["a string", ".ts", (sentence) => `const message = ${JSON.stringify(sentence)};\n`],
  ["a template", ".ts", (sentence) => `const message = \`\${name}: ${sentence} \${name}\`;\n`],
  ["a comment of YAML", ".yaml", (sentence) => `# ${sentence}\nkey: 1\n`],
  ["a description in YAML", ".yaml", (sentence) => `description: |-\n  ${sentence}\n`],
];

describe.each(terms)('The rule to write "$write"', ({ write, fails, passes }) => {
  test.each(places)("finds its term in %s", async (_, extension, textOf) => {
    for (const sentence of fails) {
      const messages = (await findTerms(extension, textOf(sentence))).map(({ message }) => message);
      expect([sentence, messages]).toStrictEqual([sentence, [expect.stringContaining(`write ${write} instead of`)]]);
    }
  });

  test.each(places)("passes good sentences in %s", async (_, extension, textOf) => {
    for (const sentence of passes) {
      expect([sentence, await findTerms(extension, textOf(sentence))]).toStrictEqual([sentence, []]);
    }
  });
});

describe("The check of terms", () => {
  test("says where the term is", async () => {
    const source = 'const one = 1;\nfail("The Secret is\\tread", "it waits for ever");\n';
    expect(await findTerms(".ts", source)).toStrictEqual([
      { line: 2, column: 39, message: 'write forever instead of "for ever"' },
    ]);
    expect(await findTerms(".md", "One line\nwaits for\never.\n")).toStrictEqual([
      { line: 2, column: 7, message: 'write forever instead of "for ever"' },
    ]);
  });

  test("passes code: names, fenced blocks and what is in backticks", async () => {
    expect(await findTerms(".ts", "const ours = beside(mend);\n// `ours` and `beside`\n")).toStrictEqual([]);
    expect(await findTerms(".md", "`ours`\n\n```sh\necho ours\n```\n")).toStrictEqual([]);
  });
});
