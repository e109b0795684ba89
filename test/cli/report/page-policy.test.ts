import { createHash } from "node:crypto";
import { expect, test } from "@jest/globals";
import { contentPolicy } from "../../../src/cli/report/page-policy.ts";
import { pageScript } from "../../../src/cli/report/page-script.ts";
import { pageStyle } from "../../../src/cli/report/page-style.ts";

test("The policy of a page allows only its styles and scripts, by their hashes", () => {
  const hash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy = contentPolicy({ styles: [pageStyle], scripts: [pageScript] });
  expect(policy).toBe(
    `default-src 'none'; style-src ${hash(pageStyle)}; script-src ${hash(pageScript)}; base-uri 'none'; form-action 'none'`,
  );
  expect(contentPolicy({ styles: [pageStyle], scripts: [] })).toContain("script-src 'none'");
});
