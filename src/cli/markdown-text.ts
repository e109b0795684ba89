// Strings from others in Markdown: they must not become links, images, tables, HTML or mentions of users.

const controls = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Markdown and HTML treat numeric references as text, whatever character they represent. */
export function markdownText(text: string): string {
  return text.replaceAll(controls, "�").replaceAll(/[&<>"'`|*_~[\]{}\\@#$^]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
