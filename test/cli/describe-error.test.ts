import { expect, test } from "@jest/globals";
import { CommandError, describeError, redactError } from "../../src/cli/describe-error.ts";

test("An expected failure is one line and a hint, also with --debug", () => {
  const error = new CommandError("there is no folder waf", "Write the folder after -f.");
  for (const isDebug of [false, true]) {
    expect(describeError(error, isDebug)).toBe("error: there is no folder waf\n  Write the folder after -f.\n");
  }
  expect(describeError(new CommandError("the port is taken"), false)).toBe("error: the port is taken\n");
});

test("An unexpected error shows its stack only with --debug, and otherwise says how to get it", () => {
  const error = new TypeError("x is not a function");
  expect(describeError(error, false)).toBe(
    "error: unexpected error: x is not a function\n  This is a bug in wafsync. Run the command again with --debug and report the output.\n",
  );
  expect(describeError(error, true)).toMatch(/^error: unexpected error: x is not a function\nTypeError: .*\n\s+at /);
});

test("A key is redacted in the message and in the stack", () => {
  const error = new Error("GET /api/origins?api_key=a-key-0123456789 failed");
  const redacted = redactError(error, (text) => text.replaceAll("a-key-0123456789", "[api key]"));
  expect(redacted).toBe(error);
  expect(describeError(redacted, true)).toContain("api_key=[api key] failed");
  expect(describeError(redacted, true)).not.toContain("a-key-");
  expect(redactError("a-key-0123456789", () => "[api key]")).toBe("[api key]");
  expect(redactError(undefined, () => "")).toBeUndefined();
});
