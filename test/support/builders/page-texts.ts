// Extracts the visible text of a report: the cells of its tables, and its rule.

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

function unescaped(text: string): string {
  return text.replaceAll(/&(?<name>amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name] ?? "");
}

/** The texts of the cells, row by row, of the first table of a section. */
export function tableOf(page: string, section: string): string[][] {
  const start = page.indexOf(`<section id="${section}"`);
  if (start < 0) return [];
  const body = page.slice(page.indexOf("<tbody", start), page.indexOf("</tbody>", start));
  return [...body.matchAll(/<tr[^>]*>(?<cells>.*?)<\/tr>/gs)].map(({ groups }) =>
    [...(groups?.["cells"] ?? "").matchAll(/<t[dh][^>]*>(?<cell>.*?)<\/t[dh]>/gs)].map((cell) =>
      unescaped((cell.groups?.["cell"] ?? "").replaceAll(/<[^>]*>/g, "").trim()),
    ),
  );
}

export function ruleOf(page: string): string {
  return unescaped(/<pre id="rule-yaml"[^>]*>(?<yaml>.*?)<\/pre>/s.exec(page)?.groups?.["yaml"] ?? "");
}
