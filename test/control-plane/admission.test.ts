// What the API server makes of wafsync's custom resources: which it refuses, and with what words.
import { beforeAll, describe, expect, test } from "@jest/globals";
import { createNamespace, definitionsDirectory, installDefinitions } from "../support/builders/cluster-objects.ts";
import { describeWithControlPlane } from "../support/control-plane/suite.ts";

const apiVersion = "wafsync.dev/v1alpha1";
const plurals = {
  WafInstance: "wafinstances",
  WafIpRule: "wafiprules",
  WafOrigin: "waforigins",
  WafCacheClear: "wafcacheclears",
} as const;
type Kind = keyof typeof plurals;
type Fields = Readonly<Record<string, unknown>>;

/** The least that each kind needs. */
const minimal: Readonly<Record<Kind, Fields>> = {
  WafInstance: { baseUrl: "https://waf.example.com", apiKeySecretRef: { name: "waf" } },
  WafIpRule: { instanceRef: { name: "waf" }, action: "Block" },
  WafOrigin: { instanceRef: { name: "waf" }, host: "origin.example.com", type: "Backup" },
  WafCacheClear: { instanceRef: { name: "waf" } },
};
const kindNames = Object.keys(minimal) as Kind[];

const addressCount = 10_000;
const wrongPlace = 4_711;

/** Different IPv4 addresses. */
function manyAddresses(count: number): string[] {
  return Array.from({ length: count }, (_, place) => `198.${18 + (place >> 16)}.${(place >> 8) & 255}.${place & 255}`);
}

function withWrongAddress(): string[] {
  return manyAddresses(addressCount).with(wrongPlace, "198.51.100.256");
}

await describeWithControlPlane("the custom resources on a real API server", (cluster) => {
  let namespace: string;

  const pathOf = (kind: Kind): string => `/apis/${apiVersion}/namespaces/${namespace}/${plurals[kind]}`;

  /** The status and the message with which the server answers a creation, without anything being created. */
  async function tryCreate(kind: Kind, spec: Fields): Promise<{ status: number; message: string }> {
    const body = { apiVersion, kind, metadata: { name: "tried" }, spec };
    const answer = await cluster.request({ method: "POST", path: `${pathOf(kind)}?dryRun=All`, body });
    return { status: answer.status, message: messageOf(answer.body) };
  }

  async function create(kind: Kind, name: string, spec: Fields): Promise<Fields> {
    const body = { apiVersion, kind, metadata: { name }, spec };
    const answer = await cluster.request({ method: "POST", path: pathOf(kind), body });
    expect(answer).toMatchObject({ status: 201 });
    return answer.body as Fields;
  }

  async function patchSpec(kind: Kind, name: string, spec: Fields): Promise<{ status: number; message: string }> {
    const answer = await cluster.request({
      method: "PATCH",
      path: `${pathOf(kind)}/${name}`,
      body: { spec },
      contentType: "application/merge-patch+json",
    });
    return { status: answer.status, message: messageOf(answer.body) };
  }

  function messageOf(body: unknown): string {
    return typeof body === "object" && body !== null && "message" in body ? String(body.message) : "";
  }

  beforeAll(async () => {
    await installDefinitions(cluster);
    namespace = await createNamespace(cluster, "admission");
  });

  test("kubectl apply takes the definitions, also by client-side apply", async () => {
    await cluster.expectKubectl(["apply", "--dry-run=server", "-k", definitionsDirectory]);
  });

  describe("are admitted", () => {
    test.each(kindNames)(
      "a %s with the least that it needs, and a status that says that nobody has seen it",
      async (kind) => {
        const created = await create(kind, "least", minimal[kind]);
        expect(created).toMatchObject({ status: { observedGeneration: -1 } });
      },
    );

    test("a rule with 10,000 addresses, by client-side apply too", async () => {
      const spec = { ...minimal.WafIpRule, addresses: manyAddresses(addressCount) };
      const manifest = { apiVersion, kind: "WafIpRule", metadata: { name: "many", namespace }, spec };
      await cluster.expectKubectl(["apply", "-f", "-"], { input: JSON.stringify(manifest) });
      const names = ["get", "wafsync", "-n", namespace, "-o", "name"];
      expect(await cluster.expectKubectl(names)).toContain("wafiprule.wafsync.dev/many");
    });

    test.each([
      "192.0.2.7",
      "192.0.2.7/32",
      "10.0.0.0/8",
      "0.0.0.0/0",
      "2001:db8::1",
      "2001:DB8:0:0::/48",
      "2001:0db8:0000:0000:0000:0000:0000:0001",
      "2001:db8::1/128",
      "::1",
    ])("the address %s", async (address) => {
      const answer = await tryCreate("WafIpRule", { ...minimal.WafIpRule, addresses: [address] });
      expect(answer).toStrictEqual({ status: 201, message: "" });
    });

    test.each(["1s", "90s", "2h", "1h30m", "2d", "2d12h", "1500ms", "3650d"])("the ttl %s", async (ttl) => {
      expect(await tryCreate("WafIpRule", { ...minimal.WafIpRule, ttl })).toStrictEqual({ status: 201, message: "" });
    });
  });

  describe("are refused, with a message that says what to write", () => {
    const refusals: readonly (readonly [string, Kind, Fields, RegExp])[] = [
      [
        "a wrong address among 10,000, which is named with its place",
        "WafIpRule",
        { addresses: withWrongAddress() },
        /spec\.addresses\[4711\]: Invalid value: "198\.51\.100\.256": write an IPv4 or IPv6 address or network, for example/,
      ],
      [
        "host bits",
        "WafIpRule",
        { addresses: ["198.51.100.7/24"] },
        /spec\.addresses\[0\]: Invalid value: "198\.51\.100\.7\/24": the network has host bits: write its first address/,
      ],
      [
        "10,001 addresses",
        "WafIpRule",
        { addresses: manyAddresses(addressCount + 1) },
        /spec\.addresses: Too many: 10001: must have at most 10000 items/,
      ],
      [
        "both ttl and expiresAt",
        "WafIpRule",
        { ttl: "2h", expiresAt: "2030-01-31T18:00:00Z" },
        /spec: Invalid value: .*write either ttl or expiresAt/,
      ],
      [
        "an unknown action",
        "WafIpRule",
        { action: "Deny" },
        /spec\.action: Unsupported value: "Deny": supported values: "Block", "Allow"/,
      ],
      [
        "a time without a zone",
        "WafIpRule",
        { expiresAt: "2030-01-31 18:00" },
        /spec\.expiresAt: Invalid value: .*write a time such as/,
      ],
      [
        "a duration without a unit",
        "WafIpRule",
        { ttl: "90" },
        /spec\.ttl: Invalid value: .*write a duration such as 30s/,
      ],
      ["a duration that is too long", "WafIpRule", { ttl: "3651d" }, /spec\.ttl: .*at least 1s and at most 3650d/],
      [
        "a base URL that is not a URL",
        "WafInstance",
        { baseUrl: "http//waf" },
        /spec\.baseUrl: .*write an https URL such as/,
      ],
      [
        "a base URL with a password",
        "WafInstance",
        { baseUrl: "https://me:secret@waf.example.com" },
        /spec\.baseUrl: .*no user, password/,
      ],
      [
        "a base URL with a wrong port",
        "WafInstance",
        { baseUrl: "https://waf.example.com:99999" },
        /spec\.baseUrl: .*port of at most 65535/,
      ],
      [
        "an interval below the least",
        "WafInstance",
        { resyncInterval: "500ms" },
        /spec\.resyncInterval: .*at least 1s/,
      ],
      [
        "a selector of namespaces that is not used",
        "WafInstance",
        { access: [{ namespaces: { from: "All", selector: {} } }] },
        /spec\.access\[0\]\.namespaces: .*write selector only together with from: Selector/,
      ],
      [
        "a guard that is no network",
        "WafInstance",
        { guards: { neverBlock: ["office"] } },
        /spec\.guards\.neverBlock\[0\]: .*write an IPv4/,
      ],
      [
        "an origin with a scheme",
        "WafOrigin",
        { host: "https://origin.example.com" },
        /spec\.host: .*no scheme, port or path/,
      ],
      [
        "an origin that is almost an address",
        "WafOrigin",
        { host: "192.0.2.300" },
        /spec\.host: .*write only the host/,
      ],
      ["an unknown type of origin", "WafOrigin", { type: "Primary" }, /spec\.type: Unsupported value: "Primary"/],
      [
        "a negative backoff limit",
        "WafCacheClear",
        { backoffLimit: -1 },
        /spec\.backoffLimit: .*greater than or equal to 0/,
      ],
    ];

    test.each(refusals)("%s", async (_title, kind, fields, message) => {
      const answer = await tryCreate(kind, { ...minimal[kind], ...fields });
      expect(answer).toStrictEqual({ status: 422, message: expect.stringMatching(message) });
    });

    test.each([
      "192.0.2.256",
      "192.0.2",
      "192.0.2.007",
      "192.0.2.7:443",
      "192.0.2.1-192.0.2.9",
      "10.0.0.0/33",
      "10.0.0.0/08",
      "fe80::1%eth0",
      "::ffff:192.0.2.7",
      "2001:db8::/129",
      "2001:db8:::1",
      "waf.example.com",
      " 192.0.2.7",
      "",
    ])("the address %j", async (address) => {
      const answer = await tryCreate("WafIpRule", { ...minimal.WafIpRule, addresses: [address] });
      expect(answer).toStrictEqual({ status: 422, message: expect.stringContaining("write an IPv4 or IPv6 address") });
    });

    test("a field that the kind does not have, by kubectl", async () => {
      const spec = { ...minimal.WafIpRule, adresses: ["192.0.2.7"] };
      const manifest = { apiVersion, kind: "WafIpRule", metadata: { name: "typo", namespace }, spec };
      const ended = await cluster.runKubectl(["apply", "-f", "-"], { input: JSON.stringify(manifest) });
      expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('unknown field "spec.adresses"') });
    });

    test.each(["WafIpRule", "WafOrigin", "WafCacheClear"] as const)("a changed instanceRef of a %s", async (kind) => {
      const name = `moved-${plurals[kind]}`;
      await create(kind, name, minimal[kind]);
      const moved = await patchSpec(kind, name, { instanceRef: { name: "other" } });
      expect(moved).toStrictEqual({
        status: 422,
        message: expect.stringMatching(/spec\.instanceRef: .*can't be changed/),
      });
      const widened = await patchSpec(kind, name, { instanceRef: { name: "waf", namespace: "other" } });
      expect(widened).toStrictEqual({
        status: 422,
        message: expect.stringMatching(/spec\.instanceRef: .*can't be changed/),
      });
    });

    test("a changed cache clear, but for its trigger", async () => {
      await create("WafCacheClear", "changed", { ...minimal.WafCacheClear, trigger: "first" });
      expect(await patchSpec("WafCacheClear", "changed", { trigger: "second" })).toStrictEqual({
        status: 200,
        message: "",
      });
      for (const change of [{ backoffLimit: 5 }, { activeDeadlineSeconds: 5 }, { ttlSecondsAfterFinished: 5 }]) {
        const changed = await patchSpec("WafCacheClear", "changed", change);
        expect(changed).toStrictEqual({
          status: 422,
          message: expect.stringContaining("create another WafCacheClear"),
        });
      }
    });
  });

  test.each(kindNames)("a %s is listed with columns that say how it is", async (kind) => {
    const columns = await cluster.expectKubectl(["get", plurals[kind], "-n", namespace]);
    expect(columns).toMatch(/^NAME .*AGE/);
    expect(columns).toMatch(/READY|COMPLETE/);
  });
});
