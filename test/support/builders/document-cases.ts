// Documents with the expected result: the parser reports exactly these faults, and the API server comes to the same
// verdict. One table tests both, so they cannot diverge.
import {
  cacheClearDocument,
  crowdsecDocument,
  autoBlockDocument,
  feedDocument,
  instanceDocument,
  originDocument,
  ruleDocument,
  type TestDocument,
} from "./documents.ts";

export interface FaultyCase {
  readonly title: string;
  readonly document: TestDocument;
  /** `path: message`, in any order. */
  readonly faults: readonly string[];
}

const durationForm = "write a duration such as 30s, 5m, 1h30m or 2d: whole numbers with the units d, h, m, s and ms";
const hostForm =
  "write only the host, a DNS name or an IP address, for example origin.example.com or 192.0.2.7: no scheme, port or path";
const urlForm =
  "write an https URL such as https://waf.example.com or https://waf.example.com/management: a host, optionally a port and a path, but no user, password, query or fragment";
const portForm = "write a port of at most 65535 and a host that is a DNS name or an IP address";
const networkForm =
  "write an IPv4 or IPv6 address, or a network without host bits, for example 192.0.2.7, 10.0.0.0/8 or 2001:db8::/48";
const objectNameForm = "write the name of an object: lower-case letters, digits, '-' and '.'";
const selectorForm = "write selector only together with from: Selector";
const namesForm = "write names: [...] to list the namespaces, or from: Selector, or from: All";
const valuesForm = "write values with the operators In and NotIn, and none with Exists and DoesNotExist";

function baseUrlCases(urls: readonly string[], message: string): FaultyCase[] {
  return urls.map((baseUrl) => ({
    title: `the base URL ${JSON.stringify(baseUrl)}`,
    document: instanceDocument({ baseUrl }),
    faults: [`spec.baseUrl: ${message}`],
  }));
}

const urlCases: FaultyCase[] = [
  ...baseUrlCases(
    [
      "waf.example.com",
      "ftp://waf.example.com",
      "https:/waf.example.com",
      "https://",
      "https://user:password@waf.example.com",
      "https://waf.example.com?api_key=secret",
      "https://waf.example.com#part",
      "https://waf.example.com/allowed/../other",
      "https://waf.example.com//twice",
      " https://waf.example.com",
      "https://waf.example.com/a b",
      "https://bücher.example",
      "https://waf.example.com:https",
    ],
    urlForm,
  ),
  ...baseUrlCases(
    ["https://waf.example.com:65536", "http://256.1.1.1", "https://10.0.0.1.2/v1", "https://waf.1:8443"],
    portForm,
  ),
];

const hostCases: FaultyCase[] = [
  "https://origin.example.com",
  "origin.example.com:443",
  "origin.example.com/path",
  "192.0.2.300",
  "192.0.2",
  "192.0.2.07",
  "1.2.3.4.",
  "[2001:db8::1]",
  "fe80::1%eth0",
  "::ffff:192.0.2.1",
  "::ffff:c000:201",
  "-origin.example.com",
  "origin..example.com",
  " origin.example.com",
  "*.example.com",
  "0x7f000001",
  `${"a".repeat(64)}.example.com`,
].map((host) => ({
  title: `the host ${JSON.stringify(host)}`,
  document: originDocument({ host }),
  faults: [`spec.host: ${hostForm}`],
}));

const durationCases: FaultyCase[] = [
  ["5", durationForm],
  ["", durationForm],
  ["5 m", durationForm],
  ["1.5h", durationForm],
  ["-5m", durationForm],
  ["5M", durationForm],
  ["30s5m", durationForm],
  ["2w", durationForm],
  ["99999d", durationForm],
  ["0s", "write a duration of at least 1s and at most 1d"],
  ["999ms", "write a duration of at least 1s and at most 1d"],
  ["25h", "write a duration of at least 1s and at most 1d"],
  ["1d1s", "write a duration of at least 1s and at most 1d"],
].map(([resyncInterval, message]) => ({
  title: `the resync interval ${JSON.stringify(resyncInterval)}`,
  document: instanceDocument({ resyncInterval }),
  faults: [`spec.resyncInterval: ${message}`],
}));

const neverBlockCases: FaultyCase[] = [
  "10.0.0.1/8",
  "10.0.0.0/33",
  "10.0.0.0/08",
  "010.0.0.1",
  "office.example.com",
  "::ffff:192.0.2.1",
  "fe80::1%eth0",
  "10.0.0.0-10.0.0.9",
].map((network) => ({
  title: `the never-blocked network ${JSON.stringify(network)}`,
  document: instanceDocument({ guards: { neverBlock: ["192.0.2.0/24", network] } }),
  faults: [`spec.guards.neverBlock[1]: ${networkForm}`],
}));

const momentCases: FaultyCase[] = [
  "tomorrow",
  "2030-01-31",
  "2030-01-31 18:00:00Z",
  "2030-01-31T18:00:00",
  "2030-01-31T18:00Z",
  "2030-02-30T18:00:00Z",
  "2030-01-31T24:00:00Z",
  "2030-01-31T18:00:60Z",
  "2030-01-31T18:00:00,5Z",
  "2030-01-31T18:00:00+25:00",
].map((expiresAt) => ({
  title: `the moment ${JSON.stringify(expiresAt)}`,
  document: ruleDocument({ expiresAt }),
  faults: ["spec.expiresAt: write a time such as 2030-01-31T18:00:00Z or 2030-01-31T18:00:00+01:00"],
}));

const instanceCases: FaultyCase[] = [
  {
    title: "an instance without base URL and key",
    document: { ...instanceDocument(), spec: {} },
    faults: ["spec.baseUrl: is missing: write a string", "spec.apiKeySecretRef: is missing: write an object with name"],
  },
  {
    title: "a key written instead of a reference to it",
    document: instanceDocument({ apiKeySecretRef: "the key itself" }),
    faults: ["spec.apiKeySecretRef: must be an object with name, but is a string"],
  },
  {
    title: "a selector without from: Selector",
    document: instanceDocument({ access: [{ namespaces: { from: "All", selector: {} } }] }),
    faults: [`spec.access[0].namespaces: ${selectorForm}`],
  },
  {
    title: "from: Selector without a selector",
    document: instanceDocument({ access: [{ namespaces: { from: "Selector" } }] }),
    faults: [`spec.access[0].namespaces: ${selectorForm}`],
  },
  {
    title: "a grant for no namespace",
    document: instanceDocument({ access: [{ namespaces: {} }] }),
    faults: [`spec.access[0].namespaces: ${namesForm}`],
  },
  {
    title: "a grant of a kind that can't be granted",
    document: instanceDocument({ access: [{ namespaces: { from: "All" }, kinds: ["WafInstance"] }] }),
    faults: [
      'spec.access[0].kinds[0]: must be one of WafIpRule, WafOrigin, WafCacheClear, WafAutoBlock, but is "WafInstance"',
    ],
  },
  {
    title: "a selector with an operator that wants values",
    document: instanceDocument({
      access: [{ namespaces: { from: "Selector", selector: { matchExpressions: [{ key: "team", operator: "In" }] } } }],
    }),
    faults: [`spec.access[0].namespaces.selector.matchExpressions[0]: ${valuesForm}`],
  },
  {
    title: "an unknown policy",
    document: instanceDocument({ blocklist: { policy: "Additiv" } }),
    faults: [
      'spec.blocklist.policy: must be one of Additive, Exclusive, Observe, but is "Additiv"; did you mean Additive?',
    ],
  },
  {
    title: "a list without room for any entry",
    document: instanceDocument({ allowlist: { maxEntries: 0 } }),
    faults: ["spec.allowlist.maxEntries: must be at least 1"],
  },
  {
    title: "an exclusive policy for origins",
    document: instanceDocument({ origins: { policy: "Exclusive" } }),
    faults: ['spec.origins.policy: must be one of Additive, Observe, but is "Exclusive"'],
  },
  {
    title: "guards beyond their bounds",
    document: instanceDocument({
      guards: { maxRemovalPercent: 101, minPrefixLength: { ipv4: -1, ipv6: 129 }, allowMinPrefixLength: { ipv4: 33 } },
    }),
    faults: [
      "spec.guards.maxRemovalPercent: must be at most 100",
      "spec.guards.minPrefixLength.ipv4: must be at least 0",
      "spec.guards.minPrefixLength.ipv6: must be at most 128",
      "spec.guards.allowMinPrefixLength.ipv4: must be at most 32",
    ],
  },
  {
    title: "a guard with a choice that does not exist",
    document: instanceDocument({ guards: { specialPurpose: "Deny" } }),
    faults: ['spec.guards.specialPurpose: must be one of Reject, Allow, but is "Deny"'],
  },
  {
    title: "a window of the guards that is too long",
    document: instanceDocument({ guards: { window: "8d" } }),
    faults: ["spec.guards.window: write a duration of at least 0s and at most 7d"],
  },
  {
    title: "a consistency window that is too long",
    document: instanceDocument({ consistencyWindow: "61m" }),
    faults: ["spec.consistencyWindow: write a duration of at least 0s and at most 1h"],
  },
  {
    title: "a request timeout that is too short",
    document: instanceDocument({ requestTimeout: "99ms" }),
    faults: ["spec.requestTimeout: write a duration of at least 100ms and at most 5m"],
  },
  {
    title: "a name that is too long for what is named after the instance",
    document: { ...instanceDocument(), metadata: { name: "a".repeat(64) } },
    faults: ["metadata.name: give the instance a name of at most 63 characters: the names of its records include it"],
  },
];

const ruleCases: FaultyCase[] = [
  {
    title: "networks to leave out that are no networks",
    document: ruleDocument({ except: ["192.0.2.1/24"], aggregate: "yes" }),
    faults: [
      "spec.except[0]: write an IPv4 or IPv6 address, or a network without host bits, for example 192.0.2.7, 10.0.0.0/8 or 2001:db8::/48",
      "spec.aggregate: must be true or false, but is a string",
    ],
  },
  {
    title: "both ttl and expiresAt",
    document: ruleDocument({ ttl: "2h", expiresAt: "2030-01-31T18:00:00Z" }),
    faults: [
      "spec: write either ttl or expiresAt: ttl counts from the creation of the rule, expiresAt is a point in time",
    ],
  },
  {
    title: "an unknown action",
    document: ruleDocument({ action: "block" }),
    faults: ['spec.action: must be one of Block, Allow, but is "block"; did you mean Block?'],
  },
  {
    title: "no action",
    document: ruleDocument({ action: undefined }),
    faults: ["spec.action: is missing: write Block or Allow"],
  },
  {
    title: "one address instead of a list",
    document: ruleDocument({ addresses: "192.0.2.1" }),
    faults: ["spec.addresses: must be a list, but is a string"],
  },
  {
    title: "an address that is no text",
    document: ruleDocument({ addresses: ["192.0.2.1", 1.2] }),
    faults: ["spec.addresses[1]: must be a string, but is a fraction"],
  },
  {
    title: "an empty item among the addresses",
    document: ruleDocument({ addresses: ["192.0.2.1", null] }),
    faults: ["spec.addresses[1]: must be a string, but is empty"],
  },
  {
    title: "10,001 addresses",
    document: ruleDocument({ addresses: Array.from({ length: 10_001 }, () => "192.0.2.1") }),
    faults: ["spec.addresses: must have at most 10,000 items"],
  },
  {
    title: "a ttl without a unit",
    document: ruleDocument({ ttl: 30 }),
    faults: ["spec.ttl: must be a string, but is a number"],
  },
  {
    title: "a ttl of nothing",
    document: ruleDocument({ ttl: "0s" }),
    faults: ["spec.ttl: write a duration of at least 1s and at most 3650d"],
  },
  {
    title: "a priority that is no whole number",
    document: ruleDocument({ priority: 1.5 }),
    faults: ["spec.priority: must be a whole number, but is a fraction"],
  },
  {
    title: "a source without its key",
    document: ruleDocument({ addressesFrom: [{ configMapKeyRef: { name: "list" } }] }),
    faults: ["spec.addressesFrom[0].configMapKeyRef.key: is missing: write a string"],
  },
  {
    title: "a ConfigMap's name in capitals",
    document: ruleDocument({ addressesFrom: [{ configMapKeyRef: { name: "List", key: "ips.txt" } }] }),
    faults: [`spec.addressesFrom[0].configMapKeyRef.name: ${objectNameForm}`],
  },
  {
    title: "an unknown field next to another fault, both reported together",
    document: ruleDocument({ adresses: ["192.0.2.1"], ttl: "2h", expiresAt: "2030-01-31T18:00:00Z" }),
    faults: [
      "spec.adresses: unknown field; did you mean addresses?",
      "spec: write either ttl or expiresAt: ttl counts from the creation of the rule, expiresAt is a point in time",
    ],
  },
  {
    title: "an unknown field that is near no other",
    document: ruleDocument({ instanceRef: { name: "shop", cluster: "eu" } }),
    faults: ["spec.instanceRef.cluster: unknown field; the known fields are name, namespace"],
  },
  {
    title: "an instance reference that is a text",
    document: ruleDocument({ instanceRef: "shop" }),
    faults: ["spec.instanceRef: must be an object with name, but is a string"],
  },
];

const otherCases: FaultyCase[] = [
  {
    title: "an unknown origin type",
    document: originDocument({ type: "Primary" }),
    faults: ['spec.type: must be one of Alternate, Backup, but is "Primary"'],
  },
  {
    title: "an empty trigger",
    document: cacheClearDocument({ trigger: "" }),
    faults: ["spec.trigger: must not be empty"],
  },
  {
    title: "a negative backoff limit",
    document: cacheClearDocument({ backoffLimit: -1, suspend: "no" }),
    faults: ["spec.backoffLimit: must be at least 0", "spec.suspend: must be true or false, but is a string"],
  },
];

const webUrlForm =
  "write an https URL such as https://lists.example.com/drop.txt: without a user, password or fragment";
const exactlyOneSource = "write exactly one of http and crowdsec";
const listUrl = "https://lists.example.com/drop.txt";

const feedCases: FaultyCase[] = [
  {
    title: "a feed without a source",
    document: { ...feedDocument(), spec: {} },
    faults: [`spec: ${exactlyOneSource}`],
  },
  {
    title: "a feed with two sources",
    document: feedDocument({ crowdsec: crowdsecDocument().spec["crowdsec"] }),
    faults: [`spec: ${exactlyOneSource}`],
  },
  ...[
    "lists.example.com/drop.txt",
    "ftp://lists.example.com/drop.txt",
    "https://user:password@lists.example.com/drop.txt",
    "https://lists.example.com/drop.txt#part",
    "https://lists.example.com/a b",
    "file:///etc/passwd",
  ].map((url) => ({
    title: `the feed URL ${JSON.stringify(url)}`,
    document: feedDocument({ http: { url } }),
    faults: [`spec.http.url: ${webUrlForm}`],
  })),
  {
    title: "a feed URL with a host that is neither an address nor a name",
    document: feedDocument({ http: { url: "https://256.1.1.1/a?b=1" } }),
    faults: [`spec.http.url: ${portForm}`],
  },
  {
    title: "a CSV feed that does not say which column",
    document: feedDocument({ http: { url: listUrl, format: "Csv" } }),
    faults: ["spec.http: write csv only together with format: Csv"],
  },
  {
    title: "a plain feed with a path",
    document: feedDocument({ http: { url: listUrl, json: { path: "$[*]" } } }),
    faults: ["spec.http: write json only together with format: Json"],
  },
  {
    title: "a column by its name in a table without a header",
    document: feedDocument({ http: { url: listUrl, format: "Csv", csv: { column: "ip", header: false } } }),
    faults: ["spec.http.csv: write the number of the column, starting at 1, if the table has no header row"],
  },
  {
    title: "a column separator of two characters",
    document: feedDocument({ http: { url: listUrl, format: "Csv", csv: { column: "ip", delimiter: ";;" } } }),
    faults: ["spec.http.csv.delimiter: must have at most 1 character"],
  },
  ...[
    "$",
    "$prefixes",
    ".prefixes",
    "prefixes.",
    "$..ip",
    "a.[*]",
    "a[*]b",
    "a.*",
    "a[0]",
    "$.a['b']",
    "a[?@.b].ip",
  ].map((path) => ({
    title: `the path ${path} into a JSON document`,
    document: feedDocument({ http: { url: listUrl, format: "Json", json: { path } } }),
    faults: [
      "spec.http.json.path: write names separated by dots, with [*] for each element of a list, for example prefixes[*].ip_prefix",
    ],
  })),
  {
    title: "headers that belong to the request",
    document: feedDocument({
      http: { url: listUrl, headersFrom: [{ name: "Host", secretKeyRef: { name: "token", key: "value" } }] },
    }),
    faults: [
      "spec.http.headersFrom[0].name: choose another header: wafsync itself sets host, connection, content-length, transfer-encoding, accept-encoding, range",
    ],
  },
  {
    title: "an interval that is too short",
    document: feedDocument({ interval: "30s" }),
    faults: ["spec.interval: write a duration of at least 1m and at most 7d"],
  },
  {
    title: "guards of a feed beyond their bounds",
    document: feedDocument({
      guards: { minEntries: -1, maxShrinkPercent: 101, maxInvalidPercent: -1, maxEntries: 0, maxAddresses: 0 },
    }),
    faults: [
      "spec.guards.minEntries: must be at least 0",
      "spec.guards.maxShrinkPercent: must be at most 100",
      "spec.guards.maxInvalidPercent: must be at least 0",
      "spec.guards.maxEntries: must be at least 1",
      "spec.guards.maxAddresses: must be at least 1",
    ],
  },
  {
    title: "a feed that allows a selector without saying so",
    document: feedDocument({ allowedNamespaces: { selector: {} } }),
    faults: [`spec.allowedNamespaces: ${selectorForm}`],
  },
  {
    title: "a CrowdSec feed of no type of decision",
    document: crowdsecDocument({ types: [] }),
    faults: ["spec.crowdsec.types: write at least one type of decision, for example ban"],
  },
  {
    title: "a name of a feed that is too long",
    document: { ...feedDocument(), metadata: { name: "a".repeat(64) } },
    faults: ["metadata.name: give the feed a name of at most 63 characters: the names of its records include it"],
  },
  {
    title: "a source of addresses that is neither a ConfigMap nor a feed",
    document: ruleDocument({ addressesFrom: [{}] }),
    faults: ["spec.addressesFrom[0]: write exactly one of configMapKeyRef and feedRef in each item"],
  },
  {
    title: "a source of addresses that is both",
    document: ruleDocument({
      addressesFrom: [{ configMapKeyRef: { name: "list", key: "ips.txt" }, feedRef: { name: "threats" } }],
    }),
    faults: ["spec.addressesFrom[0]: write exactly one of configMapKeyRef and feedRef in each item"],
  },
];

const autoBlockCases: FaultyCase[] = [
  {
    title: "an automatic block after a single request, without end and for too many",
    document: autoBlockDocument({ threshold: 1, repeatFactor: 11, maxEntries: 1001 }),
    faults: [
      "spec.threshold: must be at least 2",
      "spec.repeatFactor: must be at most 10",
      "spec.maxEntries: must be at most 1,000",
    ],
  },
  {
    title: "an automatic block over a window that is too short",
    document: autoBlockDocument({ window: "30s" }),
    faults: ["spec.window: write a duration of at least 1m and at most 1d"],
  },
  {
    title: "an automatic block that matches nothing that exists",
    document: autoBlockDocument({ match: { countries: ["N1"], statuses: ["600"] } }),
    faults: [
      "spec.match.countries[0]: write two letters, for example NL",
      "spec.match.statuses[0]: write an HTTP status, for example '403' or 4xx",
    ],
  },
  {
    title: "an automatic block with an exemption that is no network",
    document: autoBlockDocument({ exempt: ["office"] }),
    faults: [
      "spec.exempt[0]: write an IPv4 or IPv6 address, or a network without host bits, for example 192.0.2.7, 10.0.0.0/8 or 2001:db8::/48",
    ],
  },
];

export const faultyCases: readonly FaultyCase[] = [
  ...urlCases,
  ...hostCases,
  ...durationCases,
  ...neverBlockCases,
  ...momentCases,
  ...instanceCases,
  ...ruleCases,
  ...otherCases,
  ...feedCases,
  ...autoBlockCases,
];

export const validDocuments: readonly (readonly [title: string, document: TestDocument])[] = [
  ["the least that an instance needs", instanceDocument()],
  [
    "an instance with everything",
    instanceDocument({
      baseUrl: "HTTP://waf.example.com:8080/management/v1/",
      apiKeySecretRef: { name: "key", key: "waf.key" },
      expectedDomain: "www.example.com",
      access: [
        {
          namespaces: {
            from: "Selector",
            selector: {
              matchLabels: { "example.com/team": "shop" },
              matchExpressions: [
                { key: "stage", operator: "In", values: ["live"] },
                { key: "old", operator: "DoesNotExist" },
              ],
            },
          },
          kinds: ["WafIpRule", "WafOrigin", "WafCacheClear", "WafAutoBlock"],
          actions: ["Block", "Allow"],
          maxEntries: 1000,
          maxPriority: 10,
          minPrefixLength: { ipv4: 32, ipv6: 64 },
          maxTtl: "7d",
          adopt: true,
          cacheClear: { minInterval: "1h" },
        },
        { namespaces: { names: ["team-a", "team-b"] } },
        { namespaces: { from: "All" }, maxEntries: 0 },
      ],
      suspend: true,
      resyncInterval: "1h30m",
      consistencyWindow: "1m30s",
      requestTimeout: "100ms",
      minRequestInterval: "1m",
      blocklist: { policy: "Exclusive", maxEntries: 10_000 },
      allowlist: { policy: "Observe", maxEntries: 1 },
      origins: { policy: "Observe" },
      guards: {
        maxRemovals: 0,
        maxRemovalPercent: 0,
        window: "2d",
        neverBlock: ["198.51.100.0/24", "2001:DB8::/32", "192.0.2.1"],
        minPrefixLength: { ipv4: 16, ipv6: 0 },
        allowMinPrefixLength: { ipv4: 32, ipv6: 0 },
        specialPurpose: "Allow",
      },
      cacheClear: { afterRolloutOf: [{ kind: "Deployment", name: "web", namespace: "shop" }], minInterval: "0s" },
      logs: { enabled: true, interval: "10s", lookback: "1d12h", plan: "CDN", output: "OTLP" },
      deletionPolicy: "Retain",
    }),
  ],
  ["a base URL with an IPv6 address", instanceDocument({ baseUrl: "http://[::1]:8080" })],
  ["a base URL with an IPv4 address", instanceDocument({ baseUrl: "http://127.0.0.1:8080/" })],
  ["a base URL with an IPv4 address in an IPv6 one", instanceDocument({ baseUrl: "http://[64:ff9b::192.0.2.1]" })],
  ["a base URL with a name that begins with numbers", instanceDocument({ baseUrl: "http://1.2.3.example/1.2.3" })],
  ["fields without a value", instanceDocument({ guards: null, suspend: null, expectedDomain: null })],
  ["the least that a rule needs", ruleDocument()],
  [
    "a rule with everything",
    ruleDocument({
      instanceRef: { name: "shop", namespace: "platform" },
      action: "Allow",
      addresses: ["192.0.2.1", "198.51.100.0/24", "2001:db8::/48", "192.0.2.1"],
      addressesFrom: [
        { configMapKeyRef: { name: "list.v1", key: "ips.txt" } },
        { feedRef: { name: "threats", namespace: "platform" } },
      ],
      expiresAt: "2030-01-31T18:00:00.5+01:00",
      except: ["198.51.100.7", "198.51.100.128/25", "2001:db8::1"],
      aggregate: true,
      priority: -5,
      description: "Offices",
      deletionPolicy: "Retain",
    }),
  ],
  ["a leap day", ruleDocument({ expiresAt: "2028-02-29T00:00:00Z" })],
  ["the longest ttl", ruleDocument({ ttl: "3650d" })],
  ["a DNS name", originDocument({ host: "Origin_1.Example.com." })],
  ["a name of one label", originDocument({ host: "origin" })],
  ["an IPv4 address", originDocument({ host: "192.0.2.7" })],
  ["an IPv6 address", originDocument({ host: "2001:DB8::7", type: "Backup" })],
  [
    "an origin with everything",
    originDocument({
      instanceRef: { name: "shop", namespace: "platform" },
      host: "standby.example.com",
      type: "Alternate",
      deletionPolicy: "Retain",
    }),
  ],
  ["the least that a feed needs", feedDocument()],
  [
    "a feed of a table, with everything",
    feedDocument({
      http: {
        url: "HTTPS://lists.example.com:8443/a/b.csv?key=%20x&format=csv",
        headersFrom: [{ name: "Authorization", secretKeyRef: { name: "token", key: "value" } }],
        format: "Csv",
        csv: { column: "dst_ip", delimiter: ";", header: true },
      },
      interval: "6h",
      guards: { minEntries: 10, maxShrinkPercent: 50, maxInvalidPercent: 0, maxEntries: 5000, maxAddresses: 70_000 },
      staleAfter: "2d",
      suspend: true,
      allowedNamespaces: {
        from: "Selector",
        selector: {
          matchLabels: { team: "shop" },
          matchExpressions: [{ key: "stage", operator: "In", values: ["live"] }],
        },
      },
    }),
  ],
  ...["prefixes[*].ip_prefix", "$.hooks[*]", "$[*]", "[*][*].IP address"].map((path): [string, TestDocument] => [
    `a feed of JSON with the path ${path}`,
    feedDocument({ http: { url: listUrl, format: "Json", json: { path } } }),
  ]),
  ["the least that a feed of CrowdSec needs", crowdsecDocument()],
  [
    "a feed of CrowdSec with everything",
    crowdsecDocument({
      apiKeySecretRef: { name: "crowdsec", key: "key" },
      origins: ["crowdsec", "lists"],
      scenariosContaining: ["ssh"],
      scenariosNotContaining: ["http-probing"],
      types: ["ban", "captcha"],
    }),
  ],
  ["the least that an automatic block needs", autoBlockDocument()],
  [
    "an automatic block with everything",
    autoBlockDocument({
      instanceRef: { name: "shop", namespace: "platform" },
      mode: "Enforce",
      match: { reasons: ["SQL"], countries: ["nl", "DE"], paths: ["/wp-*", "/login"], statuses: ["403", "5xx"] },
      threshold: 50,
      window: "5m",
      groupBy: "Network",
      networkPrefixLength: { ipv4: 28, ipv6: 56 },
      ttl: "30m",
      repeatFactor: 3,
      maxTtl: "2d",
      maxEntries: 20,
      exempt: ["192.0.2.0/24", "2001:db8::7"],
      suspend: true,
    }),
  ],
  ["the least that a cache clear needs", cacheClearDocument()],
  [
    "a cache clear with everything",
    cacheClearDocument({
      instanceRef: { name: "shop", namespace: "platform" },
      trigger: "4f2a91c",
      suspend: true,
      backoffLimit: 0,
      activeDeadlineSeconds: 60,
      ttlSecondsAfterFinished: 0,
    }),
  ],
];
