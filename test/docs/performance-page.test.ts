// The page about performance is written by `npm run bench -- --write`, from a template and recorded results, and never by hand.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { pageFile, resultsFile, templateFile } from "../../bench/files.ts";
import { placesIn, renderPage, type Results } from "../../bench/page.ts";
import { root } from "../support/tidy/markdown-pages.ts";

const template = await readFile(templateFile, "utf8");
const results = JSON.parse(await readFile(resultsFile, "utf8")) as Results;

test("The page is what the template and the recorded results give", async () => {
  expect(await readFile(pageFile, "utf8")).toBe(renderPage(template, results));
});

test("Every recorded table has a place on the page, and each place belongs to a bench", async () => {
  const tables = Object.entries(results).flatMap(([bench, { tables }]) =>
    Object.keys(tables).map((table) => `${bench}.${table}`),
  );
  const places = placesIn(template);
  expect(places).toStrictEqual(expect.arrayContaining(tables));
  const list = await readFile(join(root, "bench/benches.ts"), "utf8");
  for (const place of places) expect(list).toContain(`${place.split(".")[0]}Bench`);
});
