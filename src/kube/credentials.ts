// The address of the API server and the credentials for it, from kubeconfig files or the service account of the pod, by kubectl's
// rules. Files that rotate, such as tokens and certificates, are read each time.
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve as resolvePath } from "node:path";
import { parse } from "yaml";
import { realClock } from "../async/clock.ts";
import { isRecord } from "./kube-object.ts";

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

export type ProgramEnvironment = Readonly<Record<string, string | undefined>>;

/** A cluster or a user as it is written in a kubeconfig. Paths are relative to the folder of the file. */
interface Section {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly folder: string;
}

/** The selected context of a kubeconfig. */
export interface KubeConfig {
  readonly server: string;
  readonly cluster: Section;
  readonly user: Section;
  /** The namespace of the context. */
  readonly namespace: string | undefined;
  /** For credential plugins. */
  readonly environment: ProgramEnvironment;
}

export interface KubeConfigOptions {
  readonly file?: string | undefined;
  readonly context?: string | undefined;
  /** Has `KUBECONFIG`, `HOME` and, in a pod, the address of the API server. Credential plugins get it too. */
  readonly environment: ProgramEnvironment;
  /** The folder of the pod's service account. */
  readonly serviceAccount?: string;
}

const serviceAccountDefault = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Reads a kubeconfig: the given file, or by kubectl's rules ($KUBECONFIG, ~/.kube/config, the service account of the pod).
 * Throws for a file that can't be read, for an unknown context and without a cluster.
 */
export function loadKubeConfig({
  file,
  context,
  environment,
  serviceAccount = serviceAccountDefault,
}: KubeConfigOptions): KubeConfig {
  const files = file === undefined ? defaultFiles(environment) : [file];
  if (files.length === 0) return podConfig(environment, serviceAccount);
  const documents = files.map((path) => ({ folder: dirname(path), content: documentIn(path) }));
  // As in kubectl, the first file that has a value wins.
  const named = (list: string, field: string, name: unknown): Section | undefined => {
    for (const { folder, content } of documents) {
      const items: unknown = content[list];
      const item: unknown = Array.isArray(items) && items.find((one) => isRecord(one) && one["name"] === name);
      if (isRecord(item)) return { folder, fields: isRecord(item[field]) ? item[field] : {} };
    }
    return undefined;
  };
  const chosen = context ?? documents.map(({ content }) => content["current-context"]).find(Boolean);
  const selected = named("contexts", "context", chosen);
  if (selected === undefined && context !== undefined) {
    throw new RangeError(`The kubeconfig has no context named "${context}"`);
  }
  const cluster = named("clusters", "cluster", selected?.fields["cluster"]);
  const server = cluster === undefined ? undefined : textOf(cluster, "server");
  if (cluster === undefined || server === undefined) {
    throw new RangeError("the kubeconfig does not name a cluster with a server for its current context");
  }
  const user = named("users", "user", selected?.fields["user"]) ?? { fields: {}, folder: "" };
  return { server, cluster, user, namespace: selected && textOf(selected, "namespace"), environment };
}

function defaultFiles({ KUBECONFIG = "", HOME = homedir() }: ProgramEnvironment): readonly string[] {
  const files = KUBECONFIG.split(delimiter).filter((file) => file !== "");
  const usual = join(HOME, ".kube", "config");
  return files.length > 0 || !existsSync(usual) ? files : [usual];
}

function documentIn(path: string): Readonly<Record<string, unknown>> {
  const document: unknown = parse(readFileSync(path, "utf8"));
  return isRecord(document) ? document : {};
}

function podConfig(environment: ProgramEnvironment, serviceAccount: string): KubeConfig {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "443" } = environment;
  if (host === "" || !existsSync(join(serviceAccount, "token"))) {
    throw new RangeError("there is no kubeconfig, and wafsync does not run in a pod");
  }
  const namespace = join(serviceAccount, "namespace");
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    cluster: { fields: { "certificate-authority": "ca.crt" }, folder: serviceAccount },
    user: { fields: { tokenFile: "token" }, folder: serviceAccount },
    namespace: existsSync(namespace) ? readFileSync(namespace, "utf8").trim() : undefined,
    environment,
  };
}

/** The result of a credential plugin, as its protocol `client.authentication.k8s.io` documents it. */
interface PluginCredential {
  readonly token?: string;
  readonly clientCertificateData?: string;
  readonly clientKeyData?: string;
  readonly expirationTimestamp?: string;
}

/** Credentials of the selected context. A credential plugin runs again when its result has expired or was refused. */
export function kubeConfigCredentials(config: KubeConfig, nowMs: () => number = () => realClock.nowMs()): Credentials {
  let kept: PluginCredential | undefined;
  return {
    async resolve({ renew }) {
      const exec = config.user.fields["exec"];
      const hasExpired = Date.parse(kept?.expirationTimestamp ?? "") <= nowMs();
      if (isRecord(exec) && (kept === undefined || renew || hasExpired)) kept = await runPlugin(exec, config);
      return await resolveAccess(config, kept);
    },
  };
}

async function resolveAccess(config: KubeConfig, plugin: PluginCredential | undefined): Promise<ServerAccess> {
  const { server, cluster } = config;
  const proxyUrl = textOf(cluster, "proxy-url");
  const isUnverified = cluster.fields["insecure-skip-tls-verify"] === true;
  if (proxyUrl?.startsWith("socks") === true) throw new RangeError("SOCKS proxies are not supported");
  if (!server.startsWith("https:") && !isUnverified) {
    throw new RangeError(`The server ${server} has no TLS, which requires insecure-skip-tls-verify: true`);
  }
  const tls = await tlsOf(config, plugin);
  const headers = await headersOf(config, plugin);
  return {
    server,
    headers,
    tls: isUnverified ? { ...tls, rejectUnauthorized: false } : tls,
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
  };
}

async function headersOf(
  { user }: KubeConfig,
  plugin: PluginCredential | undefined,
): Promise<Readonly<Record<string, string>>> {
  const [username, impersonated] = [textOf(user, "username"), textOf(user, "as")];
  const token = (await tokenOf(user)) ?? plugin?.token;
  const login = `${username}:${textOf(user, "password") ?? ""}`;
  return {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(username !== undefined && { authorization: `Basic ${Buffer.from(login).toString("base64")}` }),
    ...(impersonated !== undefined && { "impersonate-user": impersonated }),
  };
}

async function tokenOf(user: Section): Promise<string | undefined> {
  const file = textOf(user, "tokenFile");
  if (file !== undefined) {
    const token = (await readFile(resolvePath(user.folder, file), "utf8")).trim();
    if (token === "") throw new RangeError("The token file is empty");
    return token;
  }
  const provider = user.fields["auth-provider"];
  if (!isRecord(provider)) return textOf(user, "token");
  const idToken = isRecord(provider["config"]) ? provider["config"]["id-token"] : undefined;
  if (typeof idToken === "string") return idToken;
  throw new RangeError("The kubeconfig has an auth-provider without an id-token: use a credential plugin (exec)");
}

async function tlsOf({ cluster, user }: KubeConfig, plugin: PluginCredential | undefined): Promise<TlsMaterial> {
  const ca = await pemOf(cluster, "certificate-authority");
  const cert = plugin?.clientCertificateData ?? (await pemOf(user, "client-certificate"));
  const key = plugin?.clientKeyData ?? (await pemOf(user, "client-key"));
  const servername = textOf(cluster, "tls-server-name");
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(servername !== undefined && { servername }),
  };
}

/** A certificate or key: the data in the kubeconfig, or else the content of the file. */
async function pemOf(section: Section, field: string): Promise<string | undefined> {
  const data = textOf(section, `${field}-data`);
  if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
  const file = textOf(section, field);
  return file === undefined ? undefined : await readFile(resolvePath(section.folder, file), "utf8");
}

/** Runs a credential plugin, without a terminal. */
async function runPlugin(
  exec: Readonly<Record<string, unknown>>,
  { user, server, environment }: KubeConfig,
): Promise<PluginCredential> {
  const { apiVersion, command, args, env } = exec;
  if (typeof command !== "string" || command === "") throw new RangeError("The credential plugin has no command");
  const variables = listOf(env).flatMap((one) => (isRecord(one) ? [[one["name"], String(one["value"])]] : []));
  const info = { apiVersion, kind: "ExecCredential", spec: { interactive: false, cluster: { server } } };
  const program = command.includes("/") ? resolvePath(user.folder, command) : command;
  const added = { KUBERNETES_EXEC_INFO: JSON.stringify(info), ...Object.fromEntries(variables) };
  // Few kubeconfigs have a plugin.
  const { execFile } = await import("node:child_process");
  const output = await new Promise<string>((resolve, reject) => {
    const started = execFile(program, listOf(args).map(String), { env: { ...environment, ...added } }, (...result) => {
      const [error, stdout, stderr] = result;
      const reason = stderr.trim() === "" ? String(error?.code ?? error?.signal) : stderr.trim().slice(0, 300);
      if (error === null) resolve(stdout);
      else reject(new Error(`The credential plugin ${command} failed: ${reason}`));
    });
    started.stdin?.end();
  });
  const status = statusIn(output);
  if (status === undefined) throw new Error(`The credential plugin ${command} returned no credentials`);
  return status;
}

/** A parser's error would quote the output, which may contain a token. */
function statusIn(output: string): PluginCredential | undefined {
  try {
    const credential: unknown = JSON.parse(output);
    const status = isRecord(credential) ? credential["status"] : undefined;
    return isRecord(status) ? status : undefined;
  } catch {
    return undefined;
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf({ fields }: Section, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
