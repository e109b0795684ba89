// Which suite runs the commands of which page: the suites take their pages from here, and test/docs/command-blocks.test.ts
// finds pages with commands that no suite runs.

export const pagesOfSuites = {
  "test/pages/simulator.test.ts": [
    "README.md",
    "docs/commands.md",
    "docs/concepts/logs.md",
    "docs/concepts/report.md",
    "docs/guides/take-over.md",
    "docs/guides/why-is-this-blocked.md",
    "docs/operations/without-a-cluster.md",
    "docs/simulator.md",
    "docs/tutorial.md",
  ],
  "test/pages/cluster.test.ts": [
    "docs/concepts/status.md",
    "docs/concepts/cache-clears.md",
    "docs/concepts/feeds.md",
    "docs/concepts/ownership.md",
    "docs/concepts/safety.md",
    "docs/guides/command-line.md",
    "docs/guides/flux.md",
    "docs/guides/page.md",
    "docs/guides/pipelines.md",
    "docs/guides/rename-or-move.md",
    "docs/operations/operator.md",
    "docs/operations/recover.md",
    "docs/troubleshooting.md",
  ],
  "test/deploy/tools/documented-commands.test.ts": [
    "docs/installation.md",
    "docs/guides/helm.md",
    "docs/guides/argocd.md",
    "docs/operations/uninstall.md",
  ],
} as const;
