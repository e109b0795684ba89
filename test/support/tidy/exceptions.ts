// Files that may break a rule, and why. An exception that no file needs fails the check.
import type { RuleName } from "./violation.ts";

export interface Exception {
  readonly rule: RuleName;
  readonly path: string;
  /** For the rule `layers`: the one additional row that the file may import. */
  readonly target?: string;
  readonly why: string;
}

const passesOn = "It forwards the status to the code that reports it, and does not use its content.";
const comparesFormer = "It computes the next status, which keeps the transition times of the previous one.";

export const exceptions: readonly Exception[] = [
  {
    rule: "layers",
    path: "src/cli/simulator-command.ts",
    target: "simulator",
    why: "This command starts the simulator.",
  },

  { rule: "clock", path: "src/cli/page/page-script.ts", why: "Its text runs in a browser, which has no other clock." },
  { rule: "status-reads", path: "src/reconcile/converge/report.ts", why: comparesFormer },
  {
    rule: "status-reads",
    path: "src/reconcile/converge/run.ts",
    why: "A record that is older than its report was restored from a backup. Without a status, nothing is compared.",
  },
  { rule: "status-reads", path: "src/reconcile/status/write-status.ts", why: comparesFormer },
  { rule: "status-reads", path: "src/reconcile/logs/forward-status.ts", why: comparesFormer },
  { rule: "status-reads", path: "src/reconcile/status/report-unattached.ts", why: comparesFormer },
  {
    rule: "status-reads",
    path: "src/reconcile/cache-clear/clear-records.ts",
    why: "A cache clear runs once, like a Job: the status of its object is the only record that survives a restart.",
  },
  { rule: "status-reads", path: "src/source/cluster/cluster-records.ts", why: passesOn },
  { rule: "status-reads", path: "src/app/logged-status.ts", why: passesOn },
  { rule: "status-reads", path: "src/app/standalone.ts", why: passesOn },
  { rule: "status-reads", path: "src/app/standalone-judging.ts", why: passesOn },
  { rule: "status-reads", path: "src/app/status-texts.ts", why: passesOn },
  { rule: "status-reads", path: "src/cli/instance-view.ts", why: "It prints the status." },
];
