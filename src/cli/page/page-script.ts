// The only script of the page: it keeps the page up to date, and copies commands. Without it, the page shows the same content and
// reloads itself.

export const pageScript = `"use strict";
const every = 5000;
const main = document.querySelector("main[data-live]");
const announcement = document.getElementById("announcement");
const shown = new Map();
const sectionsOf = (root) => [...root.querySelectorAll("[data-part]")];
const isInUse = (part) => part.contains(document.activeElement) && document.activeElement !== part
  || (getSelection()?.toString() !== "" && getSelection().containsNode(part, true));

for (const part of main ? sectionsOf(main) : []) shown.set(part.dataset.part, part.outerHTML);

function update(fresh) {
  const before = main.dataset.summary;
  for (const part of sectionsOf(main)) {
    const next = fresh.querySelector('[data-part="' + CSS.escape(part.dataset.part) + '"]');
    if (!next || next.outerHTML === shown.get(part.dataset.part) || isInUse(part)) continue;
    shown.set(part.dataset.part, next.outerHTML);
    const left = [...part.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    part.replaceWith(document.importNode(next, true));
    const placed = main.querySelector('[data-part="' + CSS.escape(next.dataset.part) + '"]');
    placed.querySelectorAll(".scroll").forEach((box, place) => { box.scrollLeft = left[place] ?? 0; });
  }
  main.dataset.summary = fresh.dataset.summary;
  if (before !== main.dataset.summary) announcement.textContent = main.dataset.summary;
}

async function poll() {
  if (document.visibilityState === "visible") {
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (answer.ok) {
        const text = await answer.text();
        const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("main[data-live]");
        if (fresh) update(fresh);
      }
      document.body.classList.toggle("lost", !answer.ok);
    } catch {
      document.body.classList.add("lost");
    }
  }
  setTimeout(poll, every);
}

document.documentElement.classList.add("scripted");
document.addEventListener("click", async ({ target }) => {
  if (!target.matches(".copies")) return;
  getSelection().selectAllChildren(target.previousElementSibling);
  try {
    await navigator.clipboard.writeText(target.previousElementSibling.textContent);
  } catch {
    document.execCommand("copy");
  }
  getSelection().removeAllRanges();
  target.textContent = "Copied";
  target.blur();
});

if (main) setTimeout(poll, every);
`;
