// The origins of one simulated WAF. The API returns only the primary; other origins can only be written.
import { isIP } from "node:net";

export const originTypes = ["alternate", "backup"] as const;
export type OriginType = (typeof originTypes)[number];
export type OriginChange = "Done" | "BadFormat" | "AlreadyThere" | "NotThere" | "IsPrimary" | "Full";

const originsMax = 1000;
const hostNamePattern =
  /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/u;

export class SimulatedOrigins {
  readonly #others = new Map<string, OriginType>();
  readonly #firstPrimary: string;
  #primary: string;

  constructor(primary: string) {
    this.#firstPrimary = primary;
    this.#primary = primary;
  }

  get primary(): string {
    return this.#primary;
  }

  /** All origins except the primary, in the order in which they were added. */
  others(): { host: string; type: OriginType }[] {
    return Array.from(this.#others, ([host, type]) => ({ host, type }));
  }

  add(host: string, type: OriginType): OriginChange {
    const name = host.toLowerCase();
    if (!isHost(name)) return "BadFormat";
    if (name === this.#primary) return "IsPrimary";
    if (this.#others.has(name)) return "AlreadyThere";
    if (this.#others.size >= originsMax) return "Full";
    this.#others.set(name, type);
    return "Done";
  }

  remove(host: string): OriginChange {
    const name = host.toLowerCase();
    if (name === this.#primary) return "IsPrimary";
    return this.#others.delete(name) ? "Done" : "NotThere";
  }

  /** Makes the host the primary, as the WAF itself or a person would. The former primary becomes an alternate. */
  makePrimary(host: string): OriginChange {
    const name = host.toLowerCase();
    if (!isHost(name)) return "BadFormat";
    if (name === this.#primary) return "Done";
    this.#others.delete(name);
    this.#others.set(this.#primary, "alternate");
    this.#primary = name;
    return "Done";
  }

  reset(): void {
    this.#others.clear();
    this.#primary = this.#firstPrimary;
  }
}

/** A DNS name or an IP address: no scheme, no port, no path. Lower case is expected. */
function isHost(text: string): boolean {
  if (isIP(text) !== 0) return true;
  return hostNamePattern.test(text) && !/^[0-9.]+$/u.test(text);
}
