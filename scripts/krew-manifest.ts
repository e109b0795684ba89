// Fills in deploy/krew/wafsync.yaml: krew needs the version and the checksum of each archive, which only a build knows.

/** @param sums SHA-256 of the archives, by platform such as `linux-x64` @throws Error if a placeholder is left */
export function fillKrewManifest(template: string, version: string, sums: Readonly<Record<string, string>>): string {
  let text = template.replaceAll("{{ version }}", version);
  for (const [platform, sum] of Object.entries(sums)) text = text.replaceAll(`{{ sha256 ${platform} }}`, sum);
  // The comment at the top explains the template, not the manifest.
  text = text.replace(/^(?:#.*\n)+/u, "");
  const left = /\{\{[^}]*\}\}/u.exec(text)?.[0];
  if (left !== undefined) throw new Error(`deploy/krew/wafsync.yaml: no value for ${left}`);
  return text;
}
