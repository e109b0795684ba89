// The chart as kube-score judges it: a finding is either fixed, or refused here with a reason.
// Long: `npm run test:deploy` runs it.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Helm } from "../../support/deploy/chart.ts";
import { createHelm } from "../../support/deploy/chart.ts";
import { findKubeScore } from "../../support/control-plane/go-programs.ts";
import { describeWithTools, runTool } from "../../support/deploy/tools-suite.ts";
import { describeMissing } from "../../support/processes/describe-missing.ts";

/** Findings that stay, by what kube-score writes, and why. */
const refused: Readonly<Record<string, string>> = {
  "CPU limit is not set": "a throttled leader can lose its Lease",
  "ImagePullPolicy is not set to Always": "tags do not move, and a pod has to start while the registry is unreachable",
  "Ephemeral Storage limit is not set":
    "the root is read-only, so only the log counts, and a limit would evict the pod for it",
  "Ephemeral Storage request is not set": "the root is read-only: nothing is stored",
  "Deployment does not have a host podAntiAffinity set": "topologySpreadConstraints spread the pods over the nodes",
};
const offByDefault = "The pod does not have a matching NetworkPolicy";

interface Scored {
  readonly checks: readonly {
    readonly grade: number;
    readonly skipped: boolean;
    readonly comments: readonly { readonly summary: string }[] | null;
  }[];
}

/** What kube-score gives a check that passed. */
const gradeOk = 10;
const title = "the chart under kube-score";
const kubeScore = await findKubeScore();
if (kubeScore.state === "Missing") describeMissing(title, "kube-score", kubeScore.problem);
else {
  const program = kubeScore.file;
  await describeWithTools(title, ["helm"], ({ files }) => {
    let helm: Helm;
    beforeAll(async () => {
      helm = await createHelm(files.helm);
    });
    afterAll(async () => await helm.end());

    /** What it finds, each once, in alphabetical order. */
    async function findings(values: object): Promise<string[]> {
      const input = await helm.render(values);
      const args = ["score", "--exit-one-on-warning=false", "--output-format", "json", "-"];
      const { stdout } = await runTool("sh", ["-c", '"$0" "$@" || true', program, ...args], { input });
      const scored = JSON.parse(stdout) as Scored[];
      const failed = scored.flatMap(({ checks }) => checks.filter(({ grade, skipped }) => !skipped && grade < gradeOk));
      const comments = failed.flatMap((check) => check.comments ?? []);
      return [...new Set(comments.map(({ summary }) => summary))].sort();
    }

    test("with a network policy, it finds nothing but what is refused with a reason", async () => {
      expect(await findings({ networkPolicy: { enabled: true } })).toStrictEqual(Object.keys(refused).sort());
    });

    test("by default, it also misses the network policy, which is off because clusters differ in their ports", async () => {
      expect(await findings({})).toStrictEqual([...Object.keys(refused), offByDefault].sort());
    });
  });
}
