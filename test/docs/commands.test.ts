// The pages that list commands and options, compared with what `--help` says there is.
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { commandNames, optionNames } from "../support/processes/program-help.ts";
import { linksOf, readPage, sectionsOf } from "../support/tidy/markdown-pages.ts";

const page = "docs/commands.md";
const commands = await commandNames();
const chart = "deploy/helm/wafsync";

/** Options that the chart leaves alone: its pods have a service account, fixed ports, and `extraEnv` for the collector. */
const notOfTheChart = [
  "--context",
  "--health-port",
  "--host",
  "--kubeconfig",
  "--lease-namespace",
  "--metrics-port",
  "--otlp-endpoint",
];

/** The section of the command, those whose heading names it in backticks, and the pages that its section links to. */
async function documentationOf(command: string): Promise<string> {
  const sections = sectionsOf(await readPage(page), 2);
  const own = sections.get(command) ?? "";
  const common = [...sections].filter(([heading]) => heading.includes(`\`${command}\``)).map(([, text]) => text);
  const linked = linksOf(own).flatMap((target) => (/^[a-z]+:|^#/.test(target) ? [] : (target.split("#")[0] ?? [])));
  const pages = linked.filter((target) => target.endsWith(".md")).map((target) => readPage(join("docs", target)));
  return [own, ...common, ...(await Promise.all(pages))].join("\n");
}

describe("docs/commands.md", () => {
  test("has a section and a row for every command, and for no other", async () => {
    const text = await readPage(page);
    const rows = [...text.matchAll(/^\| \[`([a-z-]+)`\]\(#\1\) +\|/gm)].map(([, command = ""]) => command);
    expect([...rows].sort()).toStrictEqual([...commands].sort());
    const sections = [...sectionsOf(text, 2).keys()];
    expect(commands.filter((command) => !sections.includes(command))).toStrictEqual([]);
    expect(sections.filter((heading) => /^[a-z-]+$/.test(heading) && !commands.includes(heading))).toStrictEqual([]);
  });

  test.each(commands)("describes every option of %s, or links to the page that does", async (command) => {
    const text = await documentationOf(command);
    const isDescribed = (option: string): boolean => new RegExp(`${option}(?![a-z-])`).test(text);
    expect((await optionNames(command)).filter((option) => !isDescribed(option))).toStrictEqual([]);
  });
});

test("The Deployment of the chart can set every option of the operator but those that pods have no use for", async () => {
  const template = await readPage(join(chart, "templates/deployment.yaml"));
  const options = await optionNames("operator");
  expect(options.filter((option) => !template.includes(option) && !notOfTheChart.includes(option))).toStrictEqual([]);
  expect(notOfTheChart.filter((option) => !options.includes(option))).toStrictEqual([]);
});
