// The last event about each subject, so that nothing is emitted twice. A subject is a word, or a word and the `namespace/name` of
// a rule.
export class EmittedEvents {
  readonly #last = new Map<string, string>();

  /** True if the text differs from the last one about the subject. `undefined` means that there is nothing to report any longer. */
  isNew(subject: string, text: string | undefined): boolean {
    if (this.#last.get(subject) === text) return false;
    if (text === undefined) this.#last.delete(subject);
    else this.#last.set(subject, text);
    return true;
  }

  /** Forgets the subjects of rules that no longer exist. */
  forgetRulesBut(existing: ReadonlySet<string>): void {
    for (const subject of this.#last.keys()) {
      const id = subject.slice(subject.indexOf(" ") + 1);
      if (id !== subject && !existing.has(id)) this.#last.delete(subject);
    }
  }
}
