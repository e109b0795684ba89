// The only script of a report: it copies a text. Without it the page shows the same.
import { createHash } from "node:crypto";

const copyScript = `
for (const button of document.querySelectorAll("button[data-copies]")) {
  const source = document.getElementById(button.dataset.copies);
  button.hidden = false;
  button.addEventListener("click", async () => {
    getSelection().selectAllChildren(source);
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      document.execCommand("copy");
    }
    button.textContent = "Copied";
  });
}
`;

/** As a whole: the policy of the page names its text, to the last space. */
export const scriptElement = `<script>${copyScript}</script>`;

/** What the page may do: draw itself, and run this script; it fetches nothing and sends nothing. */
export const contentPolicy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  `script-src 'sha256-${createHash("sha256").update(copyScript).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
