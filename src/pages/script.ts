// The only script of the pages: it keeps a served page up to date, and copies commands and rules. Without it, a page shows the same
// content, and a served page reloads itself.

export const pageScript = `"use strict";
const every = 5000;
const main = document.querySelector("main[data-live]");
const announcement = document.getElementById("announcement");
const shown = new Map();
const partsOf = (root) => [...root.children].filter(({ id }) => id !== "");
const isInUse = (part) => part.contains(document.activeElement) && document.activeElement !== part
  || (getSelection()?.toString() !== "" && getSelection().containsNode(part, true));

for (const part of main ? partsOf(main) : []) shown.set(part.id, part.outerHTML);

function update(fresh) {
  const before = main.dataset.summary;
  const gone = new Map(partsOf(main).map((part) => [part.id, part]));
  let last;
  for (const next of partsOf(fresh)) {
    const part = gone.get(next.id);
    gone.delete(next.id);
    if (part && (next.outerHTML === shown.get(next.id) || isInUse(part))) {
      last = part;
      continue;
    }
    shown.set(next.id, next.outerHTML);
    const left = [...part?.querySelectorAll(".scroll") ?? []].map((box) => box.scrollLeft);
    const node = document.importNode(next, true);
    if (part) part.replaceWith(node);
    else if (last) last.after(node);
    else main.prepend(node);
    node.querySelectorAll(".scroll").forEach((box, place) => { box.scrollLeft = left[place] ?? 0; });
    last = node;
  }
  for (const part of gone.values()) if (!isInUse(part)) part.remove();
  main.dataset.summary = fresh.dataset.summary;
  if (before !== main.dataset.summary) announcement.textContent = main.dataset.summary;
}

async function poll() {
  if (document.visibilityState === "visible") {
    const answer = await fetch(location.href, { cache: "no-store" }).catch(() => undefined);
    const text = answer?.ok ? await answer.text().catch(() => undefined) : undefined;
    const fresh = text && new DOMParser().parseFromString(text, "text/html").querySelector("main[data-live]");
    if (fresh) update(fresh);
    document.body.classList.toggle("lost", text === undefined);
  }
  setTimeout(poll, every);
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

if (main) setTimeout(poll, every);
`;
