// The two ways in which Kubernetes writes times: MicroTime needs exactly six digits of a second, Time has none.

/** `2026-11-21T12:00:00.123000Z`, from milliseconds since 1970. */
export function microTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace("Z", "000Z");
}

/** `2026-11-21T12:00:00Z`, from milliseconds since 1970. */
export function secondsTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d+Z$/, "Z");
}
