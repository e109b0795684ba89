// The guarantees about networks, clocks, files, access and other processes, each with the smallest source change that breaks it.
import { breaks } from "./breaks.ts";
import type { Mutation } from "./breaks.ts";

export const surroundingsMutations: readonly Mutation[] = [
  ...breaks("src/cli/rule-session.ts", "test/cli/command-rule.test.ts", {
    "`unblock` changes only rules that a command wrote": "|| !isCommandRule(rule.meta) →",
  }),
  ...breaks("src/net/http-connection.ts", "test/feeds/fetch-feed.test.ts", {
    "a truncated response is not accepted as the content of a feed": "throw faultOf(failed() ?? error); → return;",
    "a reset connection is not the end of a response without a length":
      'if (failed() !== undefined) throw faultOf(failed()); → if (failed() === "") throw faultOf(failed());',
  }),
  ...breaks("src/net/http-connection.ts", "test/net/http-connection.test.ts", {
    "the address is checked when the connection is made":
      "lookup: createCheckedLookup(check.isAllowed, check.resolve) → lookup: createCheckedLookup(() => true, check.resolve)",
    "no connection is made to an internal address in a URL":
      'if (refused !== undefined) throw → if (refused?.code === "") throw',
  }),
  ...breaks("src/net/http-connection.ts", "test/net/certificates.test.ts", {
    "a WAF, a feed or an API server with an invalid certificate gets no request":
      'ALPNProtocols: ["http/1.1"], → ALPNProtocols: ["http/1.1"], rejectUnauthorized: false,',
  }),
  ...breaks("src/net/http-connection.ts", "test/waf/client.test.ts", {
    "a request on a connection that is already open counts as sent": "else sent = true; → else sent = false;",
  }),
  ...breaks("src/app/waf-clients.ts", "test/app/waf-clients.test.ts", {
    "after a rotation, the first call with the new key waits for the call with the former key":
      "after: isRotated ? released : undefined, → after: undefined,",
  }),
  ...breaks("src/net/address-policy.ts", "test/net/address-policy.test.ts", {
    "private networks count as internal": '["10.0.0.0", 8], → ["10.0.0.0", 9],',
    "metadata services count as internal": '["169.254.0.0", 16], → ["169.254.0.0", 17],',
    "an IPv6 address that contains an internal IPv4 address counts as internal":
      'if (embedded !== undefined) return !isIn(innerIpv4, embedded, "ipv4"); → if (embedded !== undefined) return true;',
    "addresses that are not known to be public count as internal":
      'return isIn(globalUnicast, address, "ipv6") && !isIn(innerIpv6, address, "ipv6"); → return !isIn(innerIpv6, address, "ipv6");',
  }),
  ...breaks("src/net/checked-lookup.ts", "test/net/checked-lookup.test.ts", {
    "every address of a host is checked":
      "if (!addresses.every(({ address }) => isAllowed(address))) → if (!addresses.some(({ address }) => isAllowed(address)))",
    "a host that is written as an address is checked":
      "return isIP(address) !== 0 && !isAllowed(address) ? refusal() : undefined; → return isIP(host) !== 0 && !isAllowed(address) ? refusal() : undefined;",
  }),
  ...breaks("src/app/base-url-policy.ts", "test/app/base-url-policy.test.ts", {
    "an allowed base URL allows no other host that begins with the same letters":
      "if (allowed.origin !== asked.origin) return false; → if (!asked.origin.startsWith(allowed.origin)) return false;",
    "an allowed base URL allows no other path that begins with the same letters":
      "allowed.pathname : `${allowed.pathname}/`; → allowed.pathname : allowed.pathname;",
  }),
  ...breaks("src/source/cluster/instance-changes.ts", "test/source/cluster/instance-changes.test.ts", {
    "a changed feed concerns only the instances that use it":
      'flatMap((key) => this.#usersOf(key, "feed")); → flatMap(() => this.#options.stores.byKind.WafIpRule.list().flatMap((rule) => this.concernedBy("WafIpRule", rule)));',
    "a former guest's objects concern no instance":
      "names.push(...this.#attaching(kind, change.object, this.#instanceStore.get(nameKey(former)))); → names.push(former);",
  }),
  ...breaks("src/source/cluster/instance-changes.ts", "test/source/cluster/instance-changes.test.ts", {
    "only feeds that attached rules use are fetched":
      'return isAllowed && this.#changes.concernedBy("WafIpRule", rule).length > 0; → return isAllowed;',
    "only feeds that allow the namespace of the rule are fetched":
      "return isAllowed && → return (isAllowed || true) &&",
  }),
  ...breaks("src/source/cluster/config-maps.ts", "test/source/cluster/config-maps.test.ts", {
    "a ConfigMap that can't be read keeps its last content":
      'if (read.ok || read.fault.code === "NotFound") { → if (read.ok || !read.ok) {',
    "a text of a guest that is longer than its grant allows is not kept":
      "if (text.length > lengthMax) → if (text.length < 0)",
  }),
  ...breaks("src/feeds/feed-loop.ts", "test/feeds/feed-limits.test.ts", {
    "the feeds of a round do not wait for servers that do not respond":
      "await this.#within(async () => await fetching, fetchWaitMs, signal); → await fetching;",
  }),
  ...breaks("src/net/retry-after.ts", "test/net/retry-after.test.ts", {
    "a date in `Retry-After` is compared with the server's clock": 'parseHttpDate(date?.trim() ?? "") ?? nowMs → nowMs',
  }),
  ...breaks("src/app/selected-instances.ts", "test/app/selected-instances.test.ts", {
    "an operator calls no WAF of an instance whose labels do not match its selector":
      "return this.matches(labels) && ( → return (",
    "an instance that gets the labels of an operator waits until the calls of the former one have ended":
      "this.#clock.monotonicMs() - joinedAtMs >= handOverMs → true",
  }),
  ...breaks("src/source/directory/lock-file.ts", "test/source/directory/state-directory.test.ts", {
    "a state directory is used only while the process holds its lock":
      'if (text === undefined) return "Gone"; → if (text === undefined) return "Held";',
  }),
  ...breaks("src/source/directory/lock-file.ts", "test/source/directory/lock-file.test.ts", {
    "a lock whose process can't be seen is removed only after ten seconds without a change":
      '(life === "Unknown" && isSilent) → life === "Unknown"',
    "a dead lock is removed by one process at a time": "if (readLock(this.#path) === text) rmSync → rmSync",
  }),
  ...breaks("src/app/machine-locks.ts", "test/app/machine-locks.test.ts", {
    "a process with many calls lets others use the key now and then":
      "if (!isOver || !existsSync(this.#wanted)) → if (true)",
  }),
  ...breaks("src/app/standalone.ts", "test/app/lost-state.test.ts", {
    "no call of the WAF without the lock of the state directory": "const lost = this.lost(); → const lost = undefined;",
  }),
  ...breaks("src/source/directory/atomic-file.ts", "test/source/directory/atomic-file.test.ts", {
    "a file of the user keeps its mode and its owner": "await file.chmod(mode & 0o7777); → await file.chmod(0o644);",
  }),
  ...breaks("src/source/directory/atomic-file.ts", "test/source/directory/state-directory.test.ts", {
    "a file that can't be flushed to the disk does not replace the former one":
      "await file.writeFile(content);\n      await file.sync(); → await file.writeFile(content);\n      await file.sync().catch(() => undefined);",
  }),
  ...breaks("src/cli/targets/folder-files.ts", "test/cli/command-rule.test.ts", {
    "an approval changes nothing else in its file": "isDeepStrictEqual(valueOf(result), wanted) → true",
  }),
  ...breaks("src/cli/targets/folder-files.ts", "test/cli/command-rule.test.ts", {
    "a rule's file with another document is not overwritten": "documents.length === 1 && →",
  }),
  ...breaks("src/source/directory/read-directory.ts", "test/source/directory/read-directory.test.ts", {
    "a state directory is never read as declarations, however its path is spelled":
      "visited: await identitiesOf(skip), → visited: new Set(),",
  }),
  ...breaks("src/source/directory/state-directory.ts", "test/source/directory/status-files.test.ts", {
    "a status is not read through a link": "refuseLinksSync(this.#partsOf(file)); → refuseLinksSync([]);",
    "no file above its limit is read from the state directory": "if (stats.size > bytesMax) → if (stats.size < 0)",
  }),
  ...breaks("src/source/directory/gather.ts", "test/source/directory/directory-source.test.ts", {
    "a `WafAutoBlock` whose instance is missing keeps its entries":
      'entryKinds.some((kind) => kind === one.declared.meta.kind) → entryKinds.some((kind) => kind === one.declared.meta.kind && kind !== "WafAutoBlock")',
  }),
  ...breaks("src/waf/lane-registry.ts", "test/waf/lane.test.ts", {
    "a key has one lane, however its URL is written":
      "const name = key.fingerprint(); → const name = `${baseUrl} ${key.fingerprint()}`;",
  }),
  ...breaks("src/source/directory/status-files.ts", "test/source/directory/status-files.test.ts", {
    "a damaged list in a status does not stop the commands":
      "conditions.every(isObject) && !hasDamagedList(value); → conditions.every(isObject);",
  }),
  ...breaks("src/waf/lane.ts", "test/waf/lane.test.ts", {
    "a lane runs one call at a time":
      "if (this.#running !== undefined || !this.#isAwake) return; → if (!this.#isAwake) return;",
  }),
  ...breaks("src/waf/client.ts", "test/waf/client.test.ts", {
    "nothing is written without the Lease":
      "if (!permission.permitted) return → if (!permission.permitted && call.name === undefined) return",
  }),
  ...breaks("src/model/redactor.ts", "simulation", {
    "no message contains the API key":
      "if (start >= done) redacted += text.slice(done, start) + redactedKey; → if (start >= done) redacted += text.slice(done, end);",
  }),
];
