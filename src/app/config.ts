// The only module that reads the environment.

export interface Environment {
  /** `WAFSYNC_API_KEY`: the API key for commands, and for an instance whose Secret is not in the directory. Never printed. */
  readonly apiKey: string | undefined;
  /** `WAFSYNC_BASE_URL`: the base URL of the WAF for this key. */
  readonly baseUrl: string | undefined;
  /** `WAFSYNC_FILE`: the folder that commands use by default. */
  readonly file: string | undefined;
  /** `POD_NAME` and `POD_NAMESPACE`, as the manifests set them from the downward API. */
  readonly podName: string | undefined;
  readonly podNamespace: string | undefined;
  /** `NODE_DEBUG`: what Node.js and its libraries print for debugging, including the paths of requests. */
  readonly nodeDebug: string | undefined;
  /** `NODE_TLS_REJECT_UNAUTHORIZED`: with `0`, Node.js sends keys to unverified servers. */
  readonly tlsRejectUnauthorized: string | undefined;
  /**
   * `OTEL_EXPORTER_OTLP_ENDPOINT`: where an OpenTelemetry collector receives logs by OTLP over HTTP. `OTEL_EXPORTER_OTLP_HEADERS`: the
   * headers of the requests, as `name=value,…` with percent-encoded values. Never printed.
   */
  readonly otlp: { readonly endpoint: string | undefined; readonly headers: string | undefined };
  /** `XDG_RUNTIME_DIR`: the user's folder for session files. */
  readonly runtimeDirectory: string | undefined;
  /** The address of the job that this process belongs to, by the variables of GitHub and GitLab. */
  readonly job: string | undefined;
  /** `KUBECONFIG`: the kubeconfig files, as kubectl reads them. */
  readonly kubeconfig: string | undefined;
}

/** The environment for a program that wafsync starts, which must not know the API key. */
export function environmentForPrograms(
  additions: Readonly<Record<string, string>>,
): Readonly<Record<string, string | undefined>> {
  return { ...process.env, WAFSYNC_API_KEY: undefined, ...additions };
}

export function readEnvironment(): Environment {
  const value = (name: string): string | undefined => {
    const text = process.env[name];
    return text === undefined || text === "" ? undefined : text;
  };
  return {
    apiKey: value("WAFSYNC_API_KEY"),
    baseUrl: value("WAFSYNC_BASE_URL"),
    file: value("WAFSYNC_FILE"),
    podName: value("POD_NAME"),
    podNamespace: value("POD_NAMESPACE"),
    nodeDebug: value("NODE_DEBUG"),
    tlsRejectUnauthorized: value("NODE_TLS_REJECT_UNAUTHORIZED"),
    otlp: { endpoint: value("OTEL_EXPORTER_OTLP_ENDPOINT"), headers: value("OTEL_EXPORTER_OTLP_HEADERS") },
    runtimeDirectory: value("XDG_RUNTIME_DIR"),
    job: value("CI_JOB_URL") ?? jobOnGitHub(),
    kubeconfig: value("KUBECONFIG"),
  };
}

function jobOnGitHub(): string | undefined {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: run } = process.env;
  return run === undefined ? undefined : `${server}/${repository}/actions/runs/${run}`;
}
