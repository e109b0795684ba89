import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type Credentials, kubeConfigCredentials, loadKubeConfig } from "../../src/kube/credentials.ts";
import { firstCertificate } from "../support/builders/test-certificates.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "wafsync-credentials-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function kubeConfigFile(user: unknown, cluster: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const file = join(folder, "config");
  const config = {
    clusters: [
      { name: "c", cluster: { server: "https://127.0.0.1:6443", "certificate-authority": "ca.crt", ...cluster } },
    ],
    users: [{ name: "u", user }],
    contexts: [
      { name: "one", context: { cluster: "c", user: "u" } },
      { name: "two", context: { cluster: "c", user: "u" } },
    ],
    "current-context": "one",
  };
  await writeFile(file, JSON.stringify(config));
  await writeFile(join(folder, "ca.crt"), firstCertificate.cert);
  return file;
}

const environment = { PATH: "/usr/bin:/bin" };
const credentialsOf = (file: string): Credentials => kubeConfigCredentials(loadKubeConfig({ file, environment }));
const apiVersion = "client.authentication.k8s.io/v1";

async function plugin(script: string): Promise<void> {
  await writeFile(join(folder, "plugin"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

describe("a kubeconfig", () => {
  test("provides the server, the certificates and the token of its current context", async () => {
    const base64 = (text: string): string => Buffer.from(text).toString("base64");
    const file = await kubeConfigFile({
      token: "abc",
      "client-certificate-data": base64(firstCertificate.cert),
      "client-key-data": base64(firstCertificate.key),
    });
    expect(await credentialsOf(file).resolve({ renew: false })).toStrictEqual({
      server: "https://127.0.0.1:6443",
      headers: { authorization: "Bearer abc" },
      tls: { ca: firstCertificate.cert, cert: firstCertificate.cert, key: firstCertificate.key },
    });
  });

  test("provides the name and password, the proxy, the server name and the user to impersonate", async () => {
    const user = { username: "ann", password: "pass", as: "bob" };
    const cluster = { "proxy-url": "http://127.0.0.1:3128", "tls-server-name": "kubernetes" };
    const file = await kubeConfigFile(user, cluster);
    const access = await credentialsOf(file).resolve({ renew: false });
    expect(access).toMatchObject({ proxyUrl: "http://127.0.0.1:3128", tls: { servername: "kubernetes" } });
    expect(access.headers["impersonate-user"]).toBe("bob");
    expect(access.headers["authorization"]).toBe(`Basic ${Buffer.from("ann:pass").toString("base64")}`);
  });

  test("a token file is read each time, without its line end", async () => {
    const tokenFile = join(folder, "token");
    await writeFile(tokenFile, "first\n");
    const user = { tokenFile: "token" };
    const credentials = kubeConfigCredentials(loadKubeConfig({ file: await kubeConfigFile(user), environment }));
    expect((await credentials.resolve({ renew: false })).headers["authorization"]).toBe("Bearer first");
    await writeFile(tokenFile, "second\n");
    expect((await credentials.resolve({ renew: false })).headers["authorization"]).toBe("Bearer second");
    await writeFile(tokenFile, "\n");
    await expect(credentials.resolve({ renew: false })).rejects.toThrow("empty");
  });

  test("a credential plugin runs once, and again when its token has expired or was refused", async () => {
    const expirationTimestamp = "2026-11-23T12:00:00Z";
    const status = `"status":{"token":"run-'$(wc -l < runs | tr -d " ")'-'$MODE'","expirationTimestamp":"${expirationTimestamp}"}`;
    await plugin(`cd ${folder}; echo "$KUBERNETES_EXEC_INFO" >> runs; echo '{"kind":"ExecCredential",${status}}'`);
    const exec = { apiVersion, command: "./plugin", env: [{ name: "MODE", value: "test" }] };
    let nowMs = Date.parse(expirationTimestamp) - 1;
    const file = await kubeConfigFile({ exec });
    const credentials = kubeConfigCredentials(loadKubeConfig({ file, environment }), () => nowMs);
    const tokens: (string | undefined)[] = [];
    const ask = async (renew: boolean) => tokens.push((await credentials.resolve({ renew })).headers["authorization"]);
    for (const renew of [false, false, true, false]) await ask(renew);
    nowMs += 1;
    await ask(false);
    expect(tokens).toStrictEqual([1, 1, 2, 2, 3].map((run) => `Bearer run-${run}-test`));
    const [info = ""] = (await readFile(join(folder, "runs"), "utf8")).split("\n");
    expect(JSON.parse(info)).toMatchObject({ apiVersion, kind: "ExecCredential", spec: { interactive: false } });
  });

  test.each([
    ["echo 'log in first' >&2; exit 3", "The credential plugin ./plugin failed: log in first"],
    ["echo s3cret", "The credential plugin ./plugin returned no credentials"],
  ])("a credential plugin that runs `%s` is an error without its output", async (script, message) => {
    await plugin(script);
    const file = await kubeConfigFile({ exec: { apiVersion, command: "./plugin" } });
    const credentials = credentialsOf(file);
    await expect(credentials.resolve({ renew: false })).rejects.toThrow(new Error(message));
  });

  test("of several files, the first one that has a value wins", async () => {
    const first = await kubeConfigFile({ token: "abc" });
    const second = join(folder, "second");
    const user = { name: "other", user: { token: "def" } };
    const context = { cluster: "c", user: "other" };
    const contexts = ["one", "three"].map((name) => ({ name, context: { ...context, namespace: name } }));
    await writeFile(second, JSON.stringify({ users: [user], contexts, "current-context": "three" }));
    const merged = { KUBECONFIG: `${first}${delimiter}${second}` };
    const tokenOf = async (name?: string) => {
      const config = loadKubeConfig({ environment: merged, context: name });
      const { headers } = await kubeConfigCredentials(config).resolve({ renew: false });
      return [config.namespace, headers["authorization"]];
    };
    expect(await tokenOf()).toStrictEqual([undefined, "Bearer abc"]);
    expect(await tokenOf("three")).toStrictEqual(["three", "Bearer def"]);
  });

  test("a missing context or cluster is an error", async () => {
    const file = await kubeConfigFile({});
    expect(() => loadKubeConfig({ file, environment, context: "three" })).toThrow('no context named "three"');
    await writeFile(file, "{}");
    expect(() => loadKubeConfig({ file, environment })).toThrow("does not name a cluster");
  });

  test.each([
    ["a server without TLS", { token: "abc" }, { server: "http://127.0.0.1:1" }, "has no TLS"],
    ["a SOCKS proxy", { token: "abc" }, { "proxy-url": "socks5://127.0.0.1:1080" }, "SOCKS"],
    ["an auth provider", { "auth-provider": { name: "gcp" } }, {}, "use a credential plugin"],
  ])("%s is refused with a message", async (_, user, cluster, message) => {
    const credentials = credentialsOf(await kubeConfigFile(user, cluster));
    await expect(credentials.resolve({ renew: false })).rejects.toThrow(message);
  });

  test("in a pod, the service account is used, with its token as it is now", async () => {
    const inPod = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443", HOME: folder };
    const serviceAccount = folder;
    expect(() => loadKubeConfig({ environment: inPod, serviceAccount })).toThrow("does not run in a pod");
    const files = { token: "abc\n", "ca.crt": firstCertificate.cert, namespace: "shop" };
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    const config = loadKubeConfig({ environment: inPod, serviceAccount });
    expect(config.namespace).toBe("shop");
    expect(await kubeConfigCredentials(config).resolve({ renew: false })).toStrictEqual({
      server: "https://[fd00::1]:6443",
      headers: { authorization: "Bearer abc" },
      tls: { ca: firstCertificate.cert },
    });
  });
});
