// Extracts the visible text of a report: the cells of its tables, and its rule.

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

export function unescaped(text: string): string {
  return text.replaceAll(/&(?<name>amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name] ?? "");
}

/** The texts of the cells, row by row, of the first table of a section. */
export function tableOf(page: string, section: string): string[][] {
  const start = page.indexOf(`<section id="${section}">`);
  if (start < 0) return [];
  const body = page.slice(page.indexOf("<tbody", start), page.indexOf("</tbody>", start));
  return [...body.matchAll(/<tr[^>]*>(?<cells>.*?)<\/tr>/gs)].map(({ groups }) =>
    [...(groups?.["cells"] ?? "").matchAll(/<td[^>]*>(?<cell>.*?)<\/td>/gs)].map((cell) =>
      unescaped((cell.groups?.["cell"] ?? "").replaceAll(/<[^>]*>/g, "").trim()),
    ),
  );
}

/** @param section the section that contains the rule */
export function ruleOf(page: string, section = "rule"): string {
  const rule = new RegExp(`<pre id="${section}-yaml"[^>]*>(?<yaml>.*?)</pre>`, "s").exec(page);
  return unescaped(rule?.groups?.["yaml"] ?? "");
}
