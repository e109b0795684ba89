// The options that select the same target, for the commands that hints suggest.
import type { DeclaredInstance } from "../../model/declared.ts";
import type { TargetOptions } from "./target.ts";

/** `-f waf/ ` or `--context staging `, with a space at the end; empty for the current context. */
export function targetWords(options: TargetOptions): string {
  const { from, state, kubeconfig, context, allowInsecureHttp, allowedBaseUrls } = options;
  const words: string[] = [];
  if (from !== undefined) words.push("-f", quoted(from));
  if (state !== undefined) words.push("--state", quoted(state));
  if (kubeconfig !== undefined) words.push("--kubeconfig", quoted(kubeconfig));
  if (context !== undefined) words.push("--context", quoted(context));
  if (allowedBaseUrls !== undefined) words.push("--allowed-base-urls", quoted(allowedBaseUrls));
  if (allowInsecureHttp) words.push("--allow-insecure-http");
  return words.map((word) => `${word} `).join("");
}

/**
 * The same for a suggested command that calls the WAF although this one did not: with a folder, it may have to allow `http://`.
 */
export function planningWords(options: TargetOptions, { baseUrl }: Pick<DeclaredInstance, "baseUrl">): string {
  const allowInsecureHttp = options.allowInsecureHttp || (options.from !== undefined && baseUrl.startsWith("http://"));
  return targetWords({ ...options, allowInsecureHttp });
}

/** For a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
