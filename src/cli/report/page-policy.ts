// The content security policy of a page that contains its own styles and scripts: only these run, identified by their hashes. The
// page can't load or send anything.
import { createHash } from "node:crypto";

export interface PageParts {
  /** The exact contents of the `<style>` elements. */
  readonly styles: readonly string[];
  /** The exact contents of the `<script>` elements. */
  readonly scripts: readonly string[];
}

/** Has no `unsafe-*`, so `style` and event attributes have no effect. */
export function contentPolicy({ styles, scripts }: PageParts): string {
  return [
    "default-src 'none'",
    `style-src ${sourcesOf(styles)}`,
    `script-src ${sourcesOf(scripts)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

function sourcesOf(contents: readonly string[]): string {
  if (contents.length === 0) return "'none'";
  return contents.map((content) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`).join(" ");
}
