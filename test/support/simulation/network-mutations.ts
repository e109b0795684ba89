// The guarantees about internal networks, each with the smallest source change that breaks it.
import type { Mutation } from "./mutations.ts";

const policy = "src/net/address-policy.ts";
const policyTest = "test/net/address-policy.test.ts";
const lookup = "src/net/checked-lookup.ts";
const lookupTest = "test/net/checked-lookup.test.ts";
const connection = "src/net/http-connection.ts";
const connectionTest = "test/net/http-connection.test.ts";
const certificatesTest = "test/net/certificates.test.ts";
const basePolicy = "src/app/base-url-policy.ts";
const basePolicyTest = "test/app/base-url-policy.test.ts";

export const networkMutations: readonly Mutation[] = [
  {
    guard: "after a rotation, the first call with the new key waits for the call with the former key",
    file: "src/app/waf-clients.ts",
    from: "after: isRotated ? released : undefined,",
    to: "after: undefined,",
    foundBy: "test/app/waf-clients.test.ts",
  },
  {
    guard: "private networks count as internal",
    file: policy,
    from: '["10.0.0.0", 8],',
    to: '["10.0.0.0", 9],',
    foundBy: policyTest,
  },
  {
    guard: "metadata services count as internal",
    file: policy,
    from: '["169.254.0.0", 16],',
    to: '["169.254.0.0", 17],',
    foundBy: policyTest,
  },
  {
    guard: "an IPv6 address that contains an internal IPv4 address counts as internal",
    file: policy,
    from: 'if (embedded !== undefined) return !isIn(innerIpv4, embedded, "ipv4");',
    to: "if (embedded !== undefined) return true;",
    foundBy: policyTest,
  },
  {
    guard: "addresses that are not known to be public count as internal",
    file: policy,
    from: 'return isIn(globalUnicast, address, "ipv6") && !isIn(innerIpv6, address, "ipv6");',
    to: 'return !isIn(innerIpv6, address, "ipv6");',
    foundBy: policyTest,
  },
  {
    guard: "every address of a host is checked",
    file: lookup,
    from: "if (!addresses.every(({ address }) => isAllowed(address)))",
    to: "if (!addresses.some(({ address }) => isAllowed(address)))",
    foundBy: lookupTest,
  },
  {
    guard: "a host that is written as an address is checked",
    file: lookup,
    from: "return isIP(address) !== 0 && !isAllowed(address) ? refusal() : undefined;",
    to: "return isIP(host) !== 0 && !isAllowed(address) ? refusal() : undefined;",
    foundBy: lookupTest,
  },
  {
    guard: "the address is checked when the connection is made",
    file: connection,
    from: "lookup: createCheckedLookup(check.isAllowed, check.resolve)",
    to: "lookup: createCheckedLookup(() => true, check.resolve)",
    foundBy: connectionTest,
  },
  {
    guard: "no connection is made to an internal address in a URL",
    file: connection,
    from: "if (refused !== undefined) throw",
    to: 'if (refused?.code === "") throw',
    foundBy: connectionTest,
  },
  {
    guard: "a WAF, a feed or an API server with an invalid certificate gets no request",
    file: connection,
    from: 'ALPNProtocols: ["http/1.1"],',
    to: 'ALPNProtocols: ["http/1.1"], rejectUnauthorized: false,',
    foundBy: certificatesTest,
  },
  {
    guard: "a request on a connection that is already open counts as sent",
    file: connection,
    from: "else sent = true;",
    to: "else sent = false;",
    foundBy: "test/waf/client.test.ts",
  },
  {
    guard: "an allowed base URL allows no other host that begins with the same letters",
    file: basePolicy,
    from: "if (allowed.origin !== asked.origin) return false;",
    to: "if (!asked.origin.startsWith(allowed.origin)) return false;",
    foundBy: basePolicyTest,
  },
  {
    guard: "an allowed base URL allows no other path that begins with the same letters",
    file: basePolicy,
    from: "allowed.pathname : `${allowed.pathname}/`;",
    to: "allowed.pathname : allowed.pathname;",
    foundBy: basePolicyTest,
  },
  {
    guard: "a changed feed concerns only the instances that use it",
    file: "src/source/cluster/instance-changes.ts",
    from: 'flatMap((key) => this.#usersOf(key, "feed"));',
    to: 'flatMap(() => this.#options.stores.byKind.WafIpRule.list().flatMap((rule) => this.concernedBy("WafIpRule", rule)));',
    foundBy: "test/source/cluster/instance-changes.test.ts",
  },
  {
    guard: "a former guest's objects concern no instance",
    file: "src/source/cluster/instance-changes.ts",
    from: "names.push(...this.#attaching(kind, namespaceOf(change.object), this.#instanceStore.get(nameKey(former))));",
    to: "names.push(former);",
    foundBy: "test/source/cluster/instance-changes.test.ts",
  },
  {
    guard: "only feeds that attached rules use are fetched",
    file: "src/source/cluster/feed-objects.ts",
    from: 'return isAllowed && this.#changes.concernedBy("WafIpRule", rule).length > 0;',
    to: "return isAllowed;",
    foundBy: "test/source/cluster/instance-changes.test.ts",
  },
  {
    guard: "only feeds that allow the namespace of the rule are fetched",
    file: "src/source/cluster/feed-objects.ts",
    from: "return isAllowed && ",
    to: "return (isAllowed || true) && ",
    foundBy: "test/source/cluster/instance-changes.test.ts",
  },
  {
    guard: "a ConfigMap that can't be read keeps its last content",
    file: "src/source/cluster/config-maps.ts",
    from: 'if (read.ok || read.fault.code === "NotFound") {',
    to: "if (read.ok || !read.ok) {",
    foundBy: "test/source/cluster/config-maps.test.ts",
  },
  {
    guard: "a text of a guest that is longer than its grant allows is not kept",
    file: "src/source/cluster/config-maps.ts",
    from: "if (text.length > lengthMax)",
    to: "if (text.length < 0)",
    foundBy: "test/source/cluster/config-maps.test.ts",
  },
  {
    guard: "the feeds of a namespace have a limit for all their entries",
    file: "src/reconcile/feeds/namespace-limit.ts",
    from: "if (entries <= entriesOfNamespaceMax) return undefined;",
    to: "if (entries >= 0) return undefined;",
    foundBy: "test/reconcile/feeds/feed-limits.test.ts",
  },
  {
    guard: "a namespace whose servers do not respond takes a limited number of connections",
    file: "src/reconcile/feeds/fetch-turns.ts",
    from: "new FairGate(fetchesOfNamespaceMax)",
    to: "new FairGate(1_000)",
    foundBy: "test/reconcile/feeds/feed-limits.test.ts",
  },
  {
    guard: "a namespace leaves reading responses of feeds to the others",
    file: "src/reconcile/feeds/fetch-turns.ts",
    from: "new FairGate(readsOfNamespaceMax)",
    to: "new FairGate(readsMax)",
    foundBy: "test/reconcile/feeds/feed-limits.test.ts",
  },
  {
    guard: "the feeds of a round do not wait for servers that do not respond",
    file: "src/app/feed-loop.ts",
    from: "await this.#within(async () => await fetching, fetchWaitMs, signal);",
    to: "await fetching;",
    foundBy: "test/reconcile/feeds/feed-limits.test.ts",
  },
  {
    guard: "a guest's origins exempt no visitor from the owner's automatic blocks",
    file: "src/plan/instance/draft-auto-block.ts",
    from: "meta.namespace === namespace ? [host] : []",
    to: 'meta.namespace === namespace || namespace !== "" ? [host] : []',
    foundBy: "test/plan/instance/auto-blocks.test.ts",
  },
  {
    guard: "a guest's origins are not retained",
    file: "src/plan/lists/guest-limits.ts",
    from: 'return { ...origin, deletionPolicy: "Delete",',
    to: "return { ...origin,",
    foundBy: "test/plan/instance/guests.test.ts",
  },
  {
    guard: "every call to a WAF releases the worker of its run",
    file: "src/app/parked-waits.ts",
    from: "await waiting(async () => await Reflect.apply(call, target, parameters))",
    to: "await Reflect.apply(call, target, parameters)",
    foundBy: "test/app/parked-waits.test.ts",
  },
];
