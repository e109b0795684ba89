// Checks JSON before it is parsed, because nesting and values need much more memory than the size suggests. Invalid JSON may
// pass, because JSON.parse rejects it.
import { inThousands } from "../../model/sentence.ts";

export const nestingMax = 32;
/** Counts objects, lists and their values. */
export const valuesMax = 500_000;

const quote = 34;
const comma = 44;
const backslash = 92;
const openBracket = 91;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

export class JsonLimits {
  #depth = 0;
  #values = 0;
  #inString = false;
  #isEscaped = false;

  /** The exceeded limit, as the predicate of a sentence; undefined if there is none. */
  write(chunk: Uint8Array): string | undefined {
    for (const code of chunk) {
      if (this.#inString) this.#readInString(code);
      else if (code === quote) this.#inString = true;
      else if (code === openBracket || code === openBrace) {
        this.#depth += 1;
        this.#values += 1;
        if (this.#depth > nestingMax) return `is nested more than ${nestingMax} levels deep`;
      } else if (code === closeBracket || code === closeBrace) this.#depth -= 1;
      else if (code === comma) this.#values += 1;
      if (this.#values > valuesMax) return `has more than ${inThousands(valuesMax)} values`;
    }
    return undefined;
  }

  #readInString(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === backslash) this.#isEscaped = true;
    else if (code === quote) this.#inString = false;
  }
}
