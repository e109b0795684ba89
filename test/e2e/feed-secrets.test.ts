// The values of Secrets for a feed are sent only to its server. They never appear in an output or a file, whatever the server
// responds.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { type Answer, type ScriptedRequest, ScriptedServer } from "../support/fakes/scripted-server.ts";
import { everythingPrinted, runWafsync } from "../support/processes/wafsync-process.ts";
import { ruleDocument, wafFolder } from "../support/worlds/waf-folder.ts";

const token = "t0k3n-of.the,feeds_0123456789";
const password = "p4ssw0rd-of-feeds";
const basic = Buffer.from(`reader:${password}`).toString("base64");
const queryToken = "qu3ry-token-of-feeds";
/** Parts of a secret that are long enough to help guess the rest. */
const leaks = /t0k3n|feeds_012|p4ssw0rd|cmVhZGVyOnA|qu3ry/iu;

const secrets = `apiVersion: v1
kind: Secret
metadata: {name: tokens, namespace: shop}
stringData:
  bearer: "Bearer ${token}\\n"
  basic: "Basic ${basic}"
`;
const headers =
  "headersFrom: [{name: Authorization, secretKeyRef: {name: tokens, key: bearer}}, {name: X-Basic, secretKeyRef: {name: tokens, key: basic}}]";

function feed(round: number, source: string): string {
  return `apiVersion: wafsync.dev/v1alpha1
kind: WafFeed
metadata: {name: threats, namespace: shop, annotations: {wafsync.dev/requested-at: "${round}"}}
spec: {${source}}
`;
}

/** What the server was sent, and the secrets in it. */
function sent({ headers: { authorization, "x-basic": other } }: ScriptedRequest): string {
  return [authorization, other, token, password].join(" ");
}

/** The secret as it is, and at a position where it is truncated. */
const paths = (text: string): readonly string[] =>
  [0, 60, 170, 185, 190].map((length) => `/${"x".repeat(length)}/${encodeURIComponent(text)}`);

const echoes: readonly (readonly [string, Answer])[] = [
  [
    "lines of the list",
    (request, response) => {
      const words = sent(request).split(" ");
      const lines = [
        sent(request),
        ...words,
        ...words.map((word) => `${"y".repeat(70)}${word}`),
        JSON.stringify(words),
      ];
      response.end(`192.0.2.1\n${lines.join("\n")}\n${"z".repeat(310)}${token}\n`);
    },
  ],
  ["an error page", (request, response) => response.writeHead(403, sent(request)).end(sent(request))],
  [
    "validators and the type",
    (request, response) => {
      const etag = `"${token}"`;
      response.writeHead(200, {
        etag,
        "last-modified": sent(request),
        "content-type": `image/${"x".repeat(40)}${token}`,
      });
      response.end("192.0.2.1\n");
    },
  ],
  ...paths(token).map(
    (path, index) =>
      [
        `a redirect, ${index}`,
        ({ url }, response) =>
          url === path ? response.writeHead(404).end() : response.writeHead(302, { location: path }).end(),
      ] satisfies readonly [string, Answer],
  ),
  [
    "a redirect to another host",
    (_, response) => response.writeHead(302, { location: `https://${password}.invalid/` }).end(),
  ],
  [
    "a redirect with a password",
    (_, response) => response.writeHead(302, { location: `https://a:${password}@b.invalid/` }).end(),
  ],
  ["a connection that breaks", (_, { socket }) => socket?.destroy()],
];

test("headers from Secrets are not leaked by a server that repeats them", async () => {
  await using folder = await wafFolder();
  await using server = await ScriptedServer.start();
  await folder.files.write("secret.yaml", `${await readFile(join(folder.path, "secret.yaml"), "utf8")}---\n${secrets}`);
  await folder.files.write(
    "rule.yaml",
    ruleDocument("feed", { spec: "  addressesFrom: [{feedRef: {name: threats}}]\n" }),
  );
  const guards = "guards: {maxInvalidPercent: 100}";
  for (const [round, [what, echo]] of echoes.entries()) {
    server.answers(echo);
    await folder.files.write(
      "feed.yaml",
      feed(round, `http: {url: "${server.url()}?key=${queryToken}", ${headers}}, ${guards}`),
    );
    await folder.run("apply --allow-private-feeds");
    expect(server.requests.at(-1)?.headers.authorization ?? "").toMatch(/^Bearer t0k3n|^$/);
    expect({ what, state: await stateOf(folder) }).toStrictEqual({ what, state: expect.not.stringMatching(leaks) });
  }
  for (const command of ["status", "plan", "apply"]) await folder.run(command, "--allow-private-feeds");
  await runWafsync(["history", "-f", folder.path]);
  expect(everythingPrinted()).toContain("WafFeed shop/threats");
  expect(everythingPrinted()).not.toMatch(leaks);
});

/** Every file except the Secret and the declared URL. */
async function stateOf(folder: { everyFile(): Promise<string>; readonly path: string }): Promise<string> {
  const secret = await readFile(join(folder.path, "secret.yaml"), "utf8");
  return (await folder.everyFile()).replace(secret, "").replaceAll(/^spec: \{http: .*$/gm, "");
}
