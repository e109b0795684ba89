// What the tidy rules report.

export const ruleNames = [
  "layers",
  "cycles",
  "barrels",
  "environment",
  "clock",
  "ipaddr",
  "pure-plan",
  "status-reads",
  "file-names",
  "unused",
] as const;
export type RuleName = (typeof ruleNames)[number];

export interface Violation {
  readonly rule: RuleName;
  readonly path: string;
  /** What is wrong, and what would be right. */
  readonly message: string;
  /** For the rule `layers`: the row that the file imports from. */
  readonly target?: string;
}
