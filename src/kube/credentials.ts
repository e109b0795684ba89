// The address of the API server and the credentials for it. The Kubernetes client library resolves kubeconfig files, exec
// plugins and the in-cluster service account; the requests themselves use wafsync's own connections.
import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
// Only this file of the library is imported: the others contain a client with models of all kinds, and loading them takes too long.
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";

export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** The connection data for one request. The headers contain secrets: never log them. */
export interface ServerAccess {
  /** May have a path, for example behind Rancher's proxy. */
  readonly server: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
  /** The HTTP or HTTPS proxy to the server. */
  readonly proxyUrl?: string;
}

export interface Credentials {
  /**
   * Reads the current credentials; throws if they cannot be read.
   * `renew` is true after the server has refused the last credentials: then nothing cached may be used.
   */
  resolve(options: { readonly renew: boolean }): Promise<ServerAccess>;
}

/**
 * Reads a kubeconfig: the given file, or by kubectl's rules ($KUBECONFIG, ~/.kube/config, the service account of the pod).
 * Throws for a file that can't be read and for an unknown context.
 */
export function loadKubeConfig(options: { readonly file?: string; readonly context?: string } = {}): KubeConfig {
  const kubeConfig = new KubeConfig();
  if (options.file === undefined) kubeConfig.loadFromDefault();
  else kubeConfig.loadFromFile(options.file);
  if (options.context !== undefined) {
    if (kubeConfig.getContextObject(options.context) === null) {
      throw new RangeError(`The kubeconfig has no context named "${options.context}"`);
    }
    kubeConfig.setCurrentContext(options.context);
  }
  return kubeConfig;
}

/** Credentials of the current context of a kubeconfig. Custom authenticators don't survive a renewal. */
export function kubeConfigCredentials(kubeConfig: KubeConfig): Credentials {
  let current = kubeConfig;
  return {
    async resolve({ renew }) {
      if (renew) current = withoutMemory(current);
      return resolveAccess(current);
    },
  };
}

async function resolveAccess(kubeConfig: KubeConfig): Promise<ServerAccess> {
  const cluster = kubeConfig.getCurrentCluster();
  if (cluster === null) throw new RangeError("The kubeconfig names no cluster for its current context");
  if (cluster.proxyUrl?.startsWith("socks") === true) throw new RangeError("SOCKS proxies are not supported");
  const options: RequestOptions = {};
  await kubeConfig.applyToHTTPSOptions(options);
  const headers = { ...headersOf(options) };
  const tokenFile = tokenFileOf(kubeConfig);
  if (tokenFile !== undefined) headers["authorization"] = `Bearer ${await readToken(tokenFile)}`;
  return {
    server: cluster.server,
    headers,
    tls: tlsOf(options),
    ...(cluster.proxyUrl === undefined ? {} : { proxyUrl: cluster.proxyUrl }),
  };
}

/** The same configuration in a new object, whose authenticators have empty caches. */
function withoutMemory(kubeConfig: KubeConfig): KubeConfig {
  const fresh = new KubeConfig();
  fresh.loadFromOptions({
    clusters: kubeConfig.getClusters(),
    users: kubeConfig.getUsers(),
    contexts: kubeConfig.getContexts(),
    currentContext: kubeConfig.getCurrentContext(),
  });
  return fresh;
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value);
  if (typeof options.auth === "string") {
    headers["authorization"] = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  }
  return headers;
}

function tlsOf(options: RequestOptions): TlsMaterial {
  const { passphrase, servername, rejectUnauthorized } = options;
  const [ca, cert, key] = [options.ca, options.cert, options.key].map(pemOf);
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(passphrase === undefined ? {} : { passphrase }),
    ...(servername === undefined ? {} : { servername }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
  };
}

/** Converts a certificate or key, which the library returns as a string or as bytes. */
function pemOf(material: unknown): string | undefined {
  if (typeof material === "string") return material;
  return Buffer.isBuffer(material) ? material.toString("utf8") : undefined;
}

/** The library caches the content of a token file for a minute and includes its line end, so wafsync reads the file itself. */
function tokenFileOf(kubeConfig: KubeConfig): string | undefined {
  const provider: unknown = kubeConfig.getCurrentUser()?.authProvider;
  const config =
    typeof provider === "object" && provider !== null && "config" in provider ? provider.config : undefined;
  const file = typeof config === "object" && config !== null && "tokenFile" in config ? config.tokenFile : undefined;
  return typeof file === "string" ? file : undefined;
}

async function readToken(file: string): Promise<string> {
  const token = (await readFile(file, "utf8")).trim();
  if (token === "") throw new RangeError("The token file is empty");
  return token;
}
