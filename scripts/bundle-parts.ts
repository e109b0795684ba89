// Makes esbuild exclude parts of packages or load them on demand. wafsync never runs these parts, and loading them would take time
// and memory.
import type { Plugin } from "esbuild";

interface UnusedPart {
  readonly path: string;
  readonly names: readonly string[];
}

const kubeConfigFile = /[/\\]@kubernetes[/\\]client-node[/\\]dist[/\\]config\.js$/;

/**
 * `src/kube/credentials.ts` uses KubeConfig to read kubeconfig files and to run credential plugins. The file that declares it also
 * imports SOCKS, which wafsync rejects, and the API clients, whose models of all kinds alone take 0.7 MB.
 */
const unusedParts: readonly UnusedPart[] = [
  { path: "./gen/index.js", names: ["createConfiguration", "ServerConfiguration"] },
  { path: "./middleware.js", names: ["setHeaderMiddleware"] },
  { path: "undici", names: ["Agent", "ProxyAgent"] },
  { path: "socks", names: ["SocksClient"] },
  { path: "socks-proxy-agent", names: ["SocksProxyAgent"] },
];

/** Replaces these imports with functions that throw. Fails if a package no longer imports one of them. */
export const withoutUnusedParts: Plugin = {
  name: "without-unused-parts",
  setup(bundler) {
    const namespace = "unused-part";
    const found = new Set<UnusedPart>();
    let isKubeConfigBundled = false;
    bundler.onResolve({ filter: /.*/ }, ({ importer, path }) => {
      if (!kubeConfigFile.test(importer)) return undefined;
      isKubeConfigBundled = true;
      const part = unusedParts.find((unused) => unused.path === path);
      if (part === undefined) return undefined;
      found.add(part);
      return { path, namespace, pluginData: part };
    });
    bundler.onLoad({ filter: /.*/, namespace }, ({ pluginData }) => {
      const { path, names } = pluginData as UnusedPart;
      const message = JSON.stringify(`wafsync is built without ${path}`);
      return { contents: names.map((name) => `export function ${name}() { throw new Error(${message}); }`).join("\n") };
    });
    bundler.onEnd(() => {
      const missing = isKubeConfigBundled ? unusedParts.filter((part) => !found.has(part)) : [];
      return {
        errors: missing.map(({ path }) => ({
          text: `no package imports ${path} any longer: remove it from bundle-parts.ts`,
        })),
      };
    });
  },
};

/**
 * When an ES module imports `node:http`, Node.js reads all its exports. For one of them, WebSocket, it loads its own copy of undici,
 * which takes 20 ms and 9 MB. `require` avoids this.
 */
export const httpWithoutWebSocket: Plugin = {
  name: "http-without-web-socket",
  setup(bundler) {
    const namespace = "required-http";
    bundler.onResolve({ filter: /^node:http$/ }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace } : undefined,
    );
    bundler.onLoad({ filter: /.*/, namespace }, () => ({ contents: 'module.exports = require("node:http");' }));
  },
};
