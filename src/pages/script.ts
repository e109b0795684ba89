// The only script of the pages: it reloads a served page that shows the state, and copies commands and rules. Without it, a page shows
// the same content, and a served page reloads itself.

export const pageScript = `"use strict";
const every = 5000;
const { src } = document.currentScript;

/** Leaves a page alone in which someone types or selects, or whose server is gone. */
async function reload() {
  const isInUse = document.activeElement !== document.body || !getSelection().isCollapsed;
  if (document.visibilityState === "visible" && !isInUse) {
    // The page itself would be made twice.
    const answer = await fetch(src, { method: "HEAD", cache: "no-store" }).catch(() => undefined);
    if (answer !== undefined) location.reload();
    document.body.classList.toggle("lost", answer === undefined);
  }
  setTimeout(reload, every);
}

document.documentElement.classList.add("scripted");
document.addEventListener("click", async ({ target }) => {
  if (!target.matches(".copies")) return;
  const source = target.previousElementSibling;
  getSelection().selectAllChildren(source);
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    document.execCommand("copy");
  }
  getSelection().removeAllRanges();
  target.textContent = "Copied";
  target.blur();
});

if (document.querySelector("main[data-live]")) setTimeout(reload, every);
`;
