// The terms that no text of wafsync uses, each with what to write instead. A rule belongs here only if no good sentence needs the
// term: `passes` has the sentences nearest to it that must stay allowed.

export interface Term {
  /** The source of a regular expression: whole words, in any case. A space stands for any whitespace, line breaks included. */
  readonly avoid: string;
  readonly write: string;
  readonly fails: readonly [string, ...string[]];
  readonly passes: readonly [string, ...string[]];
}

export const terms: readonly Term[] = [
  {
    avoid: "time-outs?",
    write: "timeout",
    fails: ["The request ended with a time-out."],
    passes: ["The request failed with a timeout.", "The time out of service is short."],
  },
  {
    avoid: "(?:is|are|was|were|be) not(?: yet)? there(?! (?:is|are|be))",
    write: "missing, or does not exist",
    fails: ["The Secret is not there.", "It is not there yet when the tests begin."],
    passes: ["The Secret does not exist.", "There is not therefore one more."],
  },
  {
    avoid: "mend(?:s|ed|ing)?",
    write: "fix, or correct",
    fails: ["The next run mends it."],
    passes: ["We recommend the chart.", "Amend the commit."],
  },
  {
    avoid: "somebody(?: else(?:'s)?)?",
    write: "another writer, another user, or someone",
    fails: ["Somebody else removed the entry.", "somebody else's entries"],
    passes: ["Another writer removed the entry.", "Some body of the response is left."],
  },
  {
    avoid: "now and then",
    write: "occasionally, or how often",
    fails: ["The list is read now and then."],
    passes: ["The list is read now, and then every five minutes."],
  },
  {
    avoid: "white space",
    write: "whitespace",
    fails: ["A line of white space only."],
    passes: ["Whitespace at the ends is ignored.", "The white background leaves space."],
  },
  {
    avoid: "standard output",
    write: "stdout",
    fails: ["It prints to standard output."],
    passes: ["It prints to stdout.", "The standard outputs of Helm differ."],
  },
  {
    avoid: "standard error",
    write: "stderr",
    fails: ["It logs to standard error."],
    passes: ["It logs to stderr.", "A standard error-handling path."],
  },
  {
    avoid: "beside",
    write: "next to",
    fails: ["A ConfigMap beside the instance."],
    passes: ["A ConfigMap next to the instance.", "Besides the chart, deploy/ has a kustomization."],
  },
  {
    avoid: "hand(?:s|ed|ing)? on(?! hold)",
    write: "forward, or pass",
    fails: ["Rows that were handed on twice.", "It hands on new rows only."],
    passes: ["wafsync forwards new rows only.", "A hands-on example.", "On the other hand, only one is read."],
  },
  {
    avoid: "(?:tell|tells|told|telling) apart",
    write: "distinguish",
    fails: ["Errors are told apart by their code."],
    passes: ["Errors are distinguished by their code.", "It told kubectl to wait."],
  },
  {
    avoid: "wait(?:s|ed)?(?: for)? as (?:it is )?told",
    write: "wait for Retry-After, or as requested",
    fails: ["The lane waits as told."],
    passes: ["The lane waits for Retry-After.", "It waited, as the server had told it to."],
  },
  {
    avoid: "growing (?:pauses?|delays?)",
    write: "exponential backoff",
    fails: ["It retries with growing pauses."],
    passes: ["It retries with exponential backoff.", "The growing list pauses the sync."],
  },
  {
    avoid: "old pictures?",
    write: "stale cache, or snapshot",
    fails: ["An old picture must not unblock anyone."],
    passes: ["A stale cache must not unblock anyone.", "The old one is a picture."],
  },
  {
    avoid: "entries(?: that (?:are|were))? left behind",
    write: "orphaned entries",
    fails: ["Entries left behind stay on the list."],
    passes: ["Orphaned entries stay on the list.", "The deletion leaves nothing behind."],
  },
  {
    avoid: "ours",
    write: "managed (by wafsync)",
    fails: ["Entries that are not ours stay."],
    passes: ["Unmanaged entries stay.", "It takes hours."],
  },
  {
    avoid: "time (?:is|was|has been) over",
    write: "expired",
    fails: ["The rule's time is over."],
    passes: ["The rule has expired.", "The time is over-estimated."],
  },
  {
    avoid: "back-offs?(?!\\.ts)",
    write: "backoff",
    fails: ["It retries with back-off."],
    passes: ["It retries with backoff.", "See src/async/back-off.ts.", "Clients must back off."],
  },
  {
    avoid: "nobody (?:knows|is known)",
    write: "unknown",
    fails: ["Nobody knows whether it took effect."],
    passes: ["It is unknown whether it took effect.", "Nobody can unblock it."],
  },
  {
    avoid:
      "(?:is|are|was|were|be|been) (?:(?:declared|needed|wanted|listed|used|known) no more|no more (?:declared|needed|wanted|listed|used|known))(?! than)",
    write: "no longer",
    fails: ["An address that is declared no more.", "The key is no more used."],
    passes: ["An address that is no longer declared.", "The key is used no more than once a second."],
  },
  {
    avoid: "for ever",
    write: "forever",
    fails: ["It waits for ever."],
    passes: ["It waits forever.", "It waits for every entry."],
  },
  {
    avoid: "(?:leave|leaves|left|leaving)(?: \\w+){0,4} away(?! from)",
    write: "omit, or leave out",
    fails: ["Leave the limit of CPU away."],
    passes: ["Set no CPU limit.", "It moved away from the list."],
  },
  {
    avoid: "(?:as|what|that) (?:it|they)? ?stands? there",
    write: "as printed, or the content",
    fails: ["The commands run as they stand there."],
    passes: ["The commands run as printed.", "The standby servers stand there."],
  },
  {
    avoid: "to be had",
    write: "available",
    fails: ["The module is not to be had."],
    passes: ["The module is not available.", "The flag has to be set."],
  },
  {
    avoid: "(?:come|comes|came|becomes?|became) of (?:it|them|this|that|those)",
    write: "the result, or what happens to it",
    fails: ["It reports what came of it."],
    passes: ["It reports the result.", "The key comes from the Secret."],
  },
  {
    avoid: "what becomes? of",
    write: "what happens to",
    fails: ["First decide what becomes of the entries."],
    passes: ["First decide what happens to the entries.", "It becomes Ready."],
  },
  {
    avoid:
      '(?:go|goes|going|went|gone) on (?:with|until|as|after|when|meanwhile|where|from)|(?:go|goes|went|gone) on(?=[.,;:"`])',
    write: "continue, or resume",
    fails: ["Additions go on meanwhile.", "The stream is gone on with.", "After a restart it goes on."],
    passes: ["Additions continue.", "Removals go on hold.", "While a sync is going on, ask again."],
  },
  {
    avoid: "failures? that (?:may|can|might) pass",
    write: "transient error",
    fails: ["A failure that may pass is tried again."],
    passes: ["Transient errors are retried.", "A failure that the test can pass on."],
  },
  {
    avoid: "waits? for a person",
    write: "awaiting approval",
    fails: ["The removal waits for a person."],
    passes: ["The removal is awaiting approval.", "It waits for a personal token."],
  },
  {
    avoid: "(?:hold|holds|held|let go(?: of)?|lets go(?: of)?|release|releases|released) (?:the|its|a) finalizer",
    write: "add, or remove, the finalizer",
    fails: ["The operator lets go of the finalizer."],
    passes: ["The operator removes the finalizer.", "It holds the Lease."],
  },
  {
    avoid: "(?:tell|tells|told|say|says|said) (?:it )?(?:in|by|with) an? events?",
    write: "emit an event",
    fails: ["The operator tells it by an event."],
    passes: ["The operator emits an event.", "The message says in which event."],
  },
  {
    avoid: "(?:is|are|was|were) not said",
    write: "is not given, or unknown",
    fails: ["It is not said which WAF the logs are of."],
    passes: ["No WAF was given.", "It did not say why."],
  },
  {
    avoid: "(?:has|have|had) to say",
    write: "prints, or reports",
    fails: ["What a command has to say goes to stdout."],
    passes: ["Results go to stdout.", "The table has to stay sorted."],
  },
];
