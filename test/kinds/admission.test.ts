// A real API server must accept the CRDs, and validate documents as the parser does.
import { beforeAll, describe, expect, test } from "@jest/globals";
import { assert, asyncProperty, constantFrom, array, ipV4, ipV6, nat, oneof, stringMatching, tuple } from "fast-check";
import { objectSchema, type StructuralSchema } from "../../scripts/generate-crds.ts";
import { kindDefinitions } from "../../src/kinds/custom-resource.ts";
import { apiGroup, apiVersionName, pluralOf } from "../../src/kinds/kinds.ts";
import { parseResource } from "../../src/kinds/parse-resource.ts";
import { validationsKey } from "../../src/kinds/schema-rules.ts";
import { parseDeclaredEntry } from "../../src/address/entry.ts";
import { resourceKinds } from "../../src/model/resource.ts";
import type { ApiAnswer } from "../support/control-plane/api-request.ts";
import { faultyCases, validDocuments } from "./document-cases.ts";
import { documentOf, type TestDocument } from "./documents.ts";
import { createNamespace, definitionsDirectory, installDefinitions } from "../support/builders/cluster-objects.ts";
import { describeWithControlPlane } from "../support/control-plane/suite.ts";

interface StatusBody {
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly field?: string; readonly message: string }[] };
}

interface ObjectBody {
  readonly spec: unknown;
  readonly status: unknown;
}

/** Strings that address parsers are known to disagree about. */
const oddAddresses = [
  ["", "::", "0.0.0.0/0", "::/0", "00001::", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1::2::3", "[::1]", "10/8"],
  ["1.2.3", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4\n", "01.2.3.4", "1.2.3.4/08", "1.2.3.4/", "1.2.3.4:80", "1.2.3.*"],
  ["::ffff:1.2.3.4", "::FFFF:102:304", "::ffff:1.2.3.4/128", "::ffff:0:0/96", "::1.2.3.4", "64:ff9b::1.2.3.4"],
  ["fe80::1%eth0", "fe80::/10", "FE80::/10", "0x7f.1", "2130706433", "1.2.3.4/255.255.255.0", "１.2.3.4"],
  ["1.2.3.4-1.2.3.9"],
].flat();

function ruleMessages(schema: StructuralSchema): string[] {
  const children = [...Object.values(schema.properties ?? {}), ...(schema.items === undefined ? [] : [schema.items])];
  return [...(schema[validationsKey] ?? []).map(({ message }) => message), ...children.flatMap(ruleMessages)];
}

const celMessages = new Set(resourceKinds.flatMap((kind) => ruleMessages(objectSchema(kindDefinitions[kind]))));

/** `spec.ttl: write …` without its path. */
function messageOf(fault: string): string {
  return fault.slice(fault.indexOf(": ") + 2);
}

await describeWithControlPlane("admission", (cluster) => {
  let namespace: string;

  beforeAll(async () => {
    await installDefinitions(cluster);
    namespace = await createNamespace(cluster, "admission");
  });

  function pathOf({ kind }: TestDocument): string {
    return `/apis/${apiGroup}/${apiVersionName}/namespaces/${namespace}/${pluralOf(kind)}`;
  }

  function create(document: TestDocument, query = "?dryRun=All&fieldValidation=Strict"): Promise<ApiAnswer> {
    return cluster.request({ method: "POST", path: pathOf(document) + query, body: document });
  }

  function messageIn({ body }: ApiAnswer): string {
    return (body as StatusBody).message ?? "";
  }

  /** The positions in `spec.addresses` that the server rejects, and its message for each. */
  async function refusedAddresses(addresses: readonly string[]): Promise<Map<number, string>> {
    const { body } = await create(documentOf("WafIpRule", { addresses }));
    const refused = new Map<number, string>();
    for (const { field, message } of (body as StatusBody).details?.causes ?? []) {
      const place = /^spec\.addresses\[(\d+)\]$/.exec(field ?? "")?.[1];
      if (place !== undefined) refused.set(Number(place), message);
    }
    return refused;
  }

  describe("rejects what the parser rejects, with the same message if it comes from a rule:", () => {
    test.each(faultyCases)("$title", async ({ document, faults }) => {
      const answer = await create(document);
      expect([400, 422]).toContain(answer.status);
      const messages = faults.map(messageOf);
      if (!messages.every((message) => celMessages.has(message))) return;
      for (const message of messages) expect(messageIn(answer)).toContain(message);
    });
  });

  describe("accepts what the parser accepts, and fills in the same defaults:", () => {
    test.each(validDocuments)("%s", async (_, document) => {
      const answer = await create(document);
      expect([answer.status, messageIn(answer)]).toStrictEqual([201, ""]);
      const parsed = parseResource(document, namespace);
      const spec: unknown = parsed.ok ? JSON.parse(JSON.stringify(parsed.value.spec)) : undefined;
      const body = answer.body as ObjectBody;
      expect(body.spec).toStrictEqual(spec);
      expect(body.status).toMatchObject({ observedGeneration: -1 });
      expect(parseResource(body, "other")).toMatchObject({ ok: true });
    });
  });

  test("an invalid address at position 4,711 of 10,000 is named, and the valid ones are not", async () => {
    const addresses = Array.from({ length: 10_000 }, (_, place) => `2001:db8::${place.toString(16)}`);
    expect(await refusedAddresses(addresses)).toStrictEqual(new Map());
    const refused = await refusedAddresses(addresses.with(4711, "198.51.100.7:443"));
    expect([...refused.keys()]).toStrictEqual([4711]);
    expect(refused.get(4711)).toContain("write an IPv4 or IPv6 address or network, for example 192.0.2.7");
  });

  // It stores the whole object in an annotation of limited size.
  test("client-side apply takes the CRDs, and a rule with 10,000 addresses", async () => {
    await cluster.expectKubectl(["apply", "--dry-run=server", "-k", definitionsDirectory]);
    const addresses = Array.from({ length: 10_000 }, (_, place) => `198.18.${place >> 8}.${place & 255}`);
    const rule = { ...documentOf("WafIpRule", { addresses }), metadata: { name: "many", namespace } };
    await cluster.expectKubectl(["apply", "-f", "-"], { input: JSON.stringify(rule) });
  });

  test("the API server rejects exactly the addresses that the parser of entries rejects", async () => {
    const prefixed = tuple(oneof(ipV4(), ipV6()), nat({ max: 140 })).map(([address, prefix]) => `${address}/${prefix}`);
    const aligned = tuple(nat({ max: 255 }), nat({ max: 33 })).map(([octet, prefix]) => `${octet}.0.0.0/${prefix}`);
    const odd = constantFrom(...oddAddresses);
    const text = oneof(ipV4(), ipV6(), prefixed, aligned, odd, stringMatching(/^[0-9a-f:./]{1,20}$/)).map((address) =>
      address.slice(0, 43),
    );
    await assert(
      asyncProperty(array(text, { minLength: 500, maxLength: 500 }), async (addresses) => {
        const refused = await refusedAddresses(addresses);
        const places = addresses.flatMap((address, place) => (parseDeclaredEntry(address).ok ? [] : [place]));
        expect(places.length).toBeGreaterThan(0);
        const differing = addresses.filter((_, place) => refused.has(place) !== places.includes(place));
        expect(differing).toStrictEqual([]);
      }),
      { numRuns: 8 },
    );
  });

  describe("after the creation", () => {
    let created = 0;

    /** Creates the document, then merges the change into its spec, as a dry run. */
    async function change(document: TestDocument, spec: object): Promise<string> {
      created += 1;
      const name = `change-${created}`;
      const creation = await create({ ...document, metadata: { name } }, "");
      expect([creation.status, messageIn(creation)]).toStrictEqual([201, ""]);
      const answer = await cluster.request({
        method: "PATCH",
        path: `${pathOf(document)}/${name}?dryRun=All`,
        contentType: "application/merge-patch+json",
        body: { spec },
      });
      return answer.status === 200 ? "taken" : messageIn(answer);
    }

    const immutable = "this field can't be changed: delete the object and create it again";
    const onlyTrigger = "only trigger and suspend can";

    test.each<[string, TestDocument, object, string]>([
      ["the instance of a rule", documentOf("WafIpRule"), { instanceRef: { name: "other" } }, immutable],
      ["the namespace of an instance", documentOf("WafOrigin"), { instanceRef: { namespace: "other" } }, immutable],
      ["the instance of a cache clear", documentOf("WafCacheClear"), { instanceRef: { name: "other" } }, immutable],
      ["a backoff limit", documentOf("WafCacheClear"), { backoffLimit: 5 }, onlyTrigger],
      ["a deadline", documentOf("WafCacheClear"), { activeDeadlineSeconds: 5 }, onlyTrigger],
      [
        "a time to live",
        documentOf("WafCacheClear", { ttlSecondsAfterFinished: 5 }),
        { ttlSecondsAfterFinished: 6 },
        onlyTrigger,
      ],
      [
        "no time to live",
        documentOf("WafCacheClear", { ttlSecondsAfterFinished: 5 }),
        { ttlSecondsAfterFinished: null },
        onlyTrigger,
      ],
      ["a new time to live", documentOf("WafCacheClear"), { ttlSecondsAfterFinished: 5 }, onlyTrigger],
    ])("%s can't be changed", async (_, document, spec, message) => {
      expect(await change(document, spec)).toContain(message);
    });

    test.each<[string, TestDocument, object]>([
      ["a trigger", documentOf("WafCacheClear", { trigger: "a" }), { trigger: "b" }],
      ["a first trigger", documentOf("WafCacheClear"), { trigger: "b", suspend: true }],
      [
        "the addresses of a rule",
        documentOf("WafIpRule", { addresses: ["192.0.2.1"] }),
        { addresses: [], action: "Allow" },
      ],
      ["the type of an origin", documentOf("WafOrigin"), { type: "Backup" }],
      ["the policy of an instance", documentOf("WafInstance"), { blocklist: { policy: "Exclusive" } }],
    ])("%s can be changed", async (_, document, spec) => {
      expect(await change(document, spec)).toBe("taken");
    });
  });
});
