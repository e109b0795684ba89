import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { kubeConfigCredentials, loadKubeConfig } from "../../src/kube/credentials.ts";
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

describe("a kubeconfig", () => {
  test("provides the server, the certificates and the token of its current context", async () => {
    const base64 = (text: string): string => Buffer.from(text).toString("base64");
    const file = await kubeConfigFile({
      token: "abc",
      "client-certificate-data": base64(firstCertificate.cert),
      "client-key-data": base64(firstCertificate.key),
    });
    expect(await kubeConfigCredentials(loadKubeConfig({ file })).resolve({ renew: false })).toStrictEqual({
      server: "https://127.0.0.1:6443",
      headers: { authorization: "Bearer abc" },
      tls: { ca: firstCertificate.cert, cert: firstCertificate.cert, key: firstCertificate.key },
    });
  });

  test("provides the name and password, the proxy, the server name and the user to impersonate", async () => {
    const user = { username: "ann", password: "pass", as: "bob" };
    const cluster = { "proxy-url": "http://127.0.0.1:3128", "tls-server-name": "kubernetes" };
    const access = await kubeConfigCredentials(loadKubeConfig({ file: await kubeConfigFile(user, cluster) })).resolve({
      renew: false,
    });
    expect(access).toMatchObject({ proxyUrl: "http://127.0.0.1:3128", tls: { servername: "kubernetes" } });
    expect(access.headers["authorization"]).toBe(`Basic ${Buffer.from("ann:pass").toString("base64")}`);
  });

  test("a token file is read each time, without its line end", async () => {
    const tokenFile = join(folder, "token");
    await writeFile(tokenFile, "first\n");
    const user = { "auth-provider": { name: "tokenFile", config: { tokenFile } } };
    const credentials = kubeConfigCredentials(loadKubeConfig({ file: await kubeConfigFile(user) }));
    expect((await credentials.resolve({ renew: false })).headers["authorization"]).toBe("Bearer first");
    await writeFile(tokenFile, "second\n");
    expect((await credentials.resolve({ renew: false })).headers["authorization"]).toBe("Bearer second");
    await writeFile(tokenFile, "\n");
    await expect(credentials.resolve({ renew: false })).rejects.toThrow("empty");
  });

  test("an exec plugin runs once, and again when its token was refused", async () => {
    const plugin = join(folder, "plugin");
    const counter = join(folder, "runs");
    const status = `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"run-'$(wc -l < ${counter} | tr -d " ")'"}}`;
    await writeFile(plugin, `#!/bin/sh\necho run >> ${counter}\necho '${status}'\n`);
    await chmod(plugin, 0o755);
    const user = { exec: { apiVersion: "client.authentication.k8s.io/v1", command: plugin } };
    const credentials = kubeConfigCredentials(loadKubeConfig({ file: await kubeConfigFile(user) }));
    const tokens: (string | undefined)[] = [];
    for (const renew of [false, false, true, false]) {
      tokens.push((await credentials.resolve({ renew })).headers["authorization"]);
    }
    expect(tokens).toStrictEqual(["Bearer run-1", "Bearer run-1", "Bearer run-2", "Bearer run-2"]);
  });

  test("another context can be selected, and a missing one is an error", async () => {
    const file = await kubeConfigFile({ token: "abc" });
    expect(loadKubeConfig({ file, context: "two" }).getCurrentContext()).toBe("two");
    expect(() => loadKubeConfig({ file, context: "three" })).toThrow(RangeError);
  });

  test("a SOCKS proxy is refused with a message", async () => {
    const file = await kubeConfigFile({ token: "abc" }, { "proxy-url": "socks5://127.0.0.1:1080" });
    await expect(kubeConfigCredentials(loadKubeConfig({ file })).resolve({ renew: false })).rejects.toThrow("SOCKS");
  });
});
