import { describe, expect, test } from "@jest/globals";
import { completeWords } from "../../../src/cli/completion/print-completions.ts";
import { createProgram } from "../../../src/cli/program.ts";
import { commandNames, optionNames } from "../../support/processes/program-help.ts";

const program = createProgram("wafsync", () => {});

/** The words are separated by spaces; a space at the end starts a new word. */
function complete(line: string) {
  return completeWords(program, line.split(" "));
}

function values(line: string): string[] {
  return complete(line).candidates.map(({ value }) => value);
}

test("The first word can be `help` or any command that the help lists", async () => {
  expect(values("")).toStrictEqual([...(await commandNames()), "help"]);
  expect(values("help ")).toStrictEqual(await commandNames());
  expect(values("pl")).toStrictEqual(["plan"]);
  expect(values("--debug pl")).toStrictEqual(["plan"]);
  expect(complete("pl").candidates[0]?.description).toBe("Show what would be changed, and why");
});

test("Every option that the help of a command lists is a candidate", async () => {
  for (const command of await commandNames()) {
    expect(values(`${command} -`)).toStrictEqual([...(await optionNames(command)), "--help"]);
  }
  expect(values("-")).toStrictEqual(["--version", "--debug", "--help"]);
});

describe("The value of an option", () => {
  test("is one of its choices", () => {
    expect(values("plan -o ")).toStrictEqual(["table", "json", "markdown"]);
    expect(values("plan --output js")).toStrictEqual(["json"]);
    expect(values("completion ")).toStrictEqual(["bash", "zsh", "fish"]);
  });

  test("is a path if its placeholder says so", () => {
    for (const line of ["plan -f ", "logs --key-file ", "logs --out "]) {
      expect(complete(line)).toStrictEqual({ candidates: [], hasPaths: true });
    }
  });

  test("has no candidates if it is a number or a string", () => {
    expect(complete("logs --interval ")).toStrictEqual({ candidates: [], hasPaths: false });
    expect(complete("logs --reason --")).toStrictEqual({ candidates: [], hasPaths: false });
  });
});

test("Unknown words have no candidates", () => {
  for (const line of ["nope ", "completion bash ", "plan waf ", "plan --nope=", "plan waf -- "]) {
    expect([line, complete(line)]).toStrictEqual([line, { candidates: [], hasPaths: false }]);
  }
});
