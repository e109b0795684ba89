// Formats numbers, times and names of blocked requests for reports and pages.

/** `12.3 %`, or `< 0.1 %` for a small share that is not 0. */
export function shareWords(count: number, total: number): string {
  if (total === 0) return "0 %";
  const percent = (count / total) * 100;
  return percent > 0 && percent < 0.1 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
}

/** `2026-11-21 15:00`, in UTC. */
export function timeWords(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 16).replace("T", " ");
}

const regionNames = new Intl.DisplayNames("en", { type: "region", fallback: "none" });

/** The name of a country by its two-letter code, or the code if it has no name. */
export function countryWords(code: string): string {
  if (code === "") return "Unknown";
  const name = /^[A-Z]{2}$/i.test(code) ? regionNames.of(code.toUpperCase()) : undefined;
  return name ?? code;
}

/** The API uses `NONE` for requests without a reason. */
export function reasonWords(reason: string): string {
  return reason === "NONE" || reason === "" ? "No reason given" : reason;
}

/** Requests without a user agent are common among scanners. */
export function agentWords(agent: string): string {
  return agent === "" ? "No user agent" : agent;
}
