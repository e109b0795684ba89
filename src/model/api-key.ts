// The secret of one WAF. Nothing prints it by accident: only `reveal` gives the text.
import { inspect } from "node:util";

export class ApiKey {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The key itself: for the one place that puts it into a request. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return "[api key]";
  }

  toJSON(): string {
    return "[api key]";
  }

  [inspect.custom](): string {
    return "[api key]";
  }
}
