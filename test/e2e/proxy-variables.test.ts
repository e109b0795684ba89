// Proxy variables have no effect: a proxy would resolve names itself, so wafsync could not check addresses before it connects,
// and the proxy would see the hosts that wafsync calls.
import { expect, test } from "@jest/globals";
import { startUnreliableProxy } from "../operator/unreliable-proxy.ts";
import { startSimulator } from "../../src/simulator/start-simulator.ts";
import { instanceDocument, ruleDocument, testDomain, testKey } from "../support/worlds/waf-folder.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";

function variablesFor(url: string): Record<string, string> {
  const names = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"];
  // Node.js itself reads the proxy variables only if this one is set.
  return { ...Object.fromEntries(names.map((name) => [name, url])), NO_PROXY: "", NODE_USE_ENV_PROXY: "1" };
}

test("With proxy variables, wafsync calls the WAF directly", async () => {
  const proxy = await startUnreliableProxy(0);
  proxy.goDown();
  const waf = await startSimulator({ keys: [{ key: testKey, domain: testDomain }] });
  await using files = await scratchDirectory({
    "main.yaml": instanceDocument(waf.baseUrl),
    "rule.yaml": ruleDocument("office", { addresses: ["192.0.2.1"] }),
  });
  const environment = {
    ...variablesFor(`http://127.0.0.1:${proxy.port}`),
    WAFSYNC_API_KEY: testKey,
    WAFSYNC_BASE_URL: waf.baseUrl,
  };
  const { code } = await runWafsync(["apply", "-f", files.path, "--allow-insecure-http"], { environment });
  expect([code, waf.wafs()[0]?.blocklist, proxy.accepted()]).toStrictEqual([0, ["192.0.2.1"], 0]);
  await Promise.all([waf.close(), proxy.close()]);
});
