// Groups of options that several commands share.
import { logPlans } from "../../logs/log-days.ts";
import { choice, flag, number, required, text } from "./declare.ts";

/** The formats of `--since` and `--until`. */
export const timeHelp = `All times are UTC. Write a day such as 2026-11-21, today, yesterday or 7d (seven days ago), which is included as a whole, or a time such as 2026-11-21T09:30, 24h or 1d12h (ago).`;

/** The defaults of people who always work on the same folder or WAF. */
const fileVariable = "WAFSYNC_FILE";
export const instanceVariable = "WAFSYNC_INSTANCE";

export const keyFile = text(
  "--key-file <file>",
  "file that holds the API key (default: the environment variable WAFSYNC_API_KEY)",
);
export const allowInsecureHttp = flag("--allow-insecure-http", "allow base URLs with http://, for trials on a laptop");
export const allowPrivateFeeds = flag(
  "--allow-private-feeds",
  "allow feeds whose addresses are not on the public Internet",
);
export const allowedBaseUrls = text(
  "--allowed-base-urls <urls>",
  "call only APIs below these URLs, separated by commas",
);

/** What `readKubeConfig` reads. */
export const clusterOptions = {
  kubeconfig: text(
    "--kubeconfig <file>",
    "kubeconfig file (default: the same as kubectl, or the pod's service account)",
  ),
  context: text("--context <name>", "context of the kubeconfig (default: the current one)"),
};

/** A folder or a cluster, and what may be called. */
export const placeOptions = {
  from: text("-f, --from <directory>", "folder with the YAML files; if unset, the command uses a cluster").env(
    fileVariable,
  ),
  state: text(
    "--state <directory>",
    "with -f: folder for the inventory and status, or git:BRANCH, git:REMOTE#BRANCH, or kube:NAMESPACE/NAME in the cluster of --kubeconfig (default: .wafsync in the folder of -f)",
  ),
  namespace: text("-n, --namespace <name>", "namespace in the cluster (default: the namespace of the context)"),
  ...clusterOptions,
  allowInsecureHttp,
  allowedBaseUrls,
  allNamespaces: flag("-A, --all-namespaces", "the instances of all namespaces in the cluster"),
};

function instance(otherwise: string) {
  const description = `the WafInstance, as NAME or NAMESPACE/NAME (default: ${otherwise})`;
  return text("--instance <name>", description).env(instanceVariable);
}

/** What `withTarget` reads. */
export const targetOptions = { ...placeOptions, instance: instance("all instances, or the only one") };

/** For commands that call no WAF: they accept the options of calls, so that one alias fits all commands. */
export const readingOptions = {
  ...targetOptions,
  allowInsecureHttp: flag("--allow-insecure-http", "").hideHelp(),
  allowedBaseUrls: text("--allowed-base-urls <urls>", "").hideHelp(),
};

/** What `withLogs` reads: one WAF, and the plan, which limits the days of the logs. */
export const logSourceOptions = {
  ...placeOptions,
  instance: instance("the only one"),
  baseUrl: text("--base-url <url>", "base URL of the WAF's API, instead of an instance"),
  keyFile,
  plan: choice("--plan <plan>", "warn about days that this plan does not keep", logPlans),
  timeout: number("--timeout <seconds>", "give up on a call after this time", [1, 600], 60),
};

/** What `withStandalone` reads. */
export const folderOptions = {
  from: required(
    "-f, --from <directory>",
    "folder with the YAML files (WafInstance, WafIpRule, …, Secret, ConfigMap)",
  ).env(fileVariable),
  state: placeOptions.state,
  ...clusterOptions,
  allowInsecureHttp,
  allowPrivateFeeds,
  allowedBaseUrls,
};
