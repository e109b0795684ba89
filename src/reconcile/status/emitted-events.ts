// What events said last about each subject, so that each thing is said once. A subject is a word, or a word and the
// `namespace/name` of a rule.
export class EmittedEvents {
  readonly #last = new Map<string, string>();

  /** True if this differs from the last report about the subject. Undefined: there is nothing to report any longer. */
  isNew(subject: string, text: string | undefined): boolean {
    if (this.#last.get(subject) === text) return false;
    if (text === undefined) this.#last.delete(subject);
    else this.#last.set(subject, text);
    return true;
  }

  /** Forgets what was said about rules that no longer exist. */
  forgetRulesBut(existing: ReadonlySet<string>): void {
    for (const subject of this.#last.keys()) {
      const id = subject.slice(subject.indexOf(" ") + 1);
      if (id !== subject && !existing.has(id)) this.#last.delete(subject);
    }
  }
}
