// Each promise of wafsync, and the smallest change of the source that breaks it. `npm run mutate` makes each of these changes
// in a copy and shows that something notices; docs/reliability.md has the table, and a test that both are up to date.

export interface Mutation {
  /** What is switched off. */
  readonly guard: string;
  /** From the root of the repository. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly from: string;
  readonly to: string;
  /** `simulation`, or the test that fails. */
  readonly foundBy: string;
}

const simulation = "simulation";

/** One row of the table in docs/reliability.md. */
export function rowOf({ guard, file, foundBy }: Mutation): string {
  const test = foundBy === simulation ? "the simulation" : `\`${foundBy}\``;
  return `| ${guard} | \`${file}\` | ${test} |`;
}

export const mutations: readonly Mutation[] = [
  {
    guard: "`maxRemovals` holds a plan",
    file: "src/plan/lists/removal-guard.ts",
    from: "if (count > guards.maxRemovals) return true;",
    to: "",
    foundBy: simulation,
  },
  {
    guard: "`maxRemovalPercent` holds a plan",
    file: "src/plan/lists/removal-guard.ts",
    from: "return size >= shareCountsFrom && count * 100 > guards.maxRemovalPercent * size;",
    to: "return false;",
    foundBy: simulation,
  },
  {
    guard: "an approval lets exactly the named plan through",
    file: "src/plan/lists/removal-guard.ts",
    from: "if (hash !== undefined && hash === annotation) {",
    to: 'if (hash !== undefined && (annotation ?? "") !== "") {',
    foundBy: "test/plan/lists/removal-guard.test.ts",
  },
  {
    guard: "an approval outlives a crash half-way",
    file: "src/plan/lists/removal-guard.ts",
    from: "const isApproved = approval?.removals[list].has(entry) === true;",
    to: "const isApproved = approval !== undefined && requests === undefined;",
    foundBy: "test/plan/lists/removal-guard.test.ts",
  },
  {
    guard: "`neverBlock` refuses what overlaps it",
    file: "src/plan/lists/guards.ts",
    from: "if (kept === undefined) return undefined;",
    to: "if (family !== undefined) return undefined;",
    foundBy: simulation,
  },
  {
    guard: "addresses of declared origins are never blocked",
    file: "src/plan/lists/guards.ts",
    from: "for (const origin of origins) {",
    to: "for (const origin of origins.slice(0, 0)) {",
    foundBy: simulation,
  },
  {
    guard: "`minPrefixLength` refuses wide networks",
    file: "src/plan/lists/guards.ts",
    from: "if (prefixLengthOf(entry) < shortest) {",
    to: "if (prefixLengthOf(entry) < 0) {",
    foundBy: simulation,
  },
  {
    guard: "a guard that can't be read stops all writes",
    file: "src/plan/instance/plan.ts",
    from: "!suspend && desired.instanceFaults.length === 0;",
    to: "!suspend;",
    foundBy: "test/reconcile/converge/safety.test.ts",
  },
  {
    guard: "the domain of the first sync is pinned",
    file: "src/plan/instance/domain.ts",
    from: 'if (sameDomain(inventory.domain, domain)) return { state: "Known", inventory };',
    to: 'if (expected === undefined || sameDomain(inventory.domain, domain)) return { state: "Known", inventory };',
    foundBy: simulation,
  },
  {
    guard: "`expectedDomain` is the only one written to",
    file: "src/plan/instance/domain.ts",
    from: "if (expected !== undefined && !sameDomain(expected, domain)) {",
    to: "if (expected !== undefined && domain === '') {",
    foundBy: simulation,
  },
  {
    guard: "a write that was done for another domain ends the run",
    file: "src/reconcile/converge/run-state.ts",
    from: "if (domain.toLowerCase() === observed.domain.toLowerCase()) return undefined;",
    to: "if (observed.domain !== '') return undefined;",
    foundBy: simulation,
  },
  {
    guard: "lists of another WAF make nothing forgotten",
    file: "src/reconcile/converge/run-state.ts",
    from: "if (foreign !== undefined) return foreign;",
    to: "",
    foundBy: simulation,
  },
  {
    guard: "a broken source holds removals",
    file: "src/plan/instance/desired.ts",
    from: "const holds: Hold[] = [...gathered.brokenSources, ...origins.held].map(",
    to: "const holds: Hold[] = [...origins.held].map(",
    foundBy: simulation,
  },
  {
    guard: "a missing ConfigMap or an invalid line holds removals",
    file: "src/plan/instance/desired.ts",
    from: "if (!expired) holds.push(",
    to: "if (expired && !expired) holds.push(",
    foundBy: simulation,
  },
  {
    guard: "a hold has a scope: what it can't concern is removed",
    file: "src/plan/lists/holds.ts",
    from: "if (this.#all.length === 0 || owners === unknownOwners) return this.#all;\n    const known",
    to: "if (this.#all.length >= 0) return this.#all;\n    const known",
    foundBy: simulation,
  },
  {
    guard: "a missing source holds what it wanted last",
    file: "src/plan/lists/holds.ts",
    from: "const ofSource = source === undefined ? [] : (this.#bySource.get(source) ?? []);",
    to: "const ofSource = source === undefined ? [] : [];",
    foundBy: simulation,
  },
  {
    guard: "an invalid line holds what its rule wanted last",
    file: "src/plan/lists/holds.ts",
    from: 'if (scope.kind === "Rule") push(this.#byRule, scope.rule, hold);',
    to: "",
    foundBy: simulation,
  },
  {
    guard: "a source of which nothing is known holds what a renamed rule may have wanted",
    file: "src/plan/lists/holds.ts",
    from: "push(this.#byNamespace, namespaceOf(scope.rule), hold);",
    to: "",
    foundBy: simulation,
  },
  {
    guard: "owners that can't be asked stay owners, whoever else wants the entry",
    file: "src/plan/lists/ownership.ts",
    from: "const owners = joinOwners(wantedBy.owners, this.#unreadable(before.owners));",
    to: "const { owners } = wantedBy;",
    foundBy: "test/plan/lists/holds.test.ts",
  },
  {
    guard: "no approval lets a removal through that is not confirmed",
    file: "src/plan/lists/removal-guard.ts",
    from: 'hold.scope.kind === "Unconfirmed" || approval?.holds.has(holdKey(hold)) !== true;',
    to: "approval?.holds.has(holdKey(hold)) !== true;",
    foundBy: "test/plan/lists/holds.test.ts",
  },
  {
    guard: "an approval that was used never acts again",
    file: "src/plan/lists/removal-guard.ts",
    from: "approvals: approvals + 1 };",
    to: "approvals };",
    foundBy: simulation,
  },
  {
    guard: "broken sources hold removals of origins",
    file: "src/plan/origins/origin-plan.ts",
    from: "if (input.removalsHeld) continue;",
    to: "",
    foundBy: simulation,
  },
  {
    guard: "a fresh read comes before removals",
    file: "src/reconcile/converge/apply-plan.ts",
    from: "if (!run.isConfirmedFor(operation)) {",
    to: "if (run.left === -1) {",
    foundBy: simulation,
  },
  {
    guard: "a new process writes nothing before a fresh read",
    file: "src/reconcile/converge/instance-memory.ts",
    from: "hasConfirmed: false,",
    to: "hasConfirmed: true,",
    foundBy: "test/reconcile/converge/safety.test.ts",
  },
  {
    guard: "a fresh read that fails holds removals",
    file: "src/reconcile/converge/run-state.ts",
    from: "gathered = { ...gathered, unconfirmed: confirmed.problem };",
    to: "gathered = { ...gathered };",
    foundBy: simulation,
  },
  {
    guard: "a fresh read counts for 30 s",
    file: "src/reconcile/converge/run-state.ts",
    from: "this.ports.clock.nowMs() - this.#confirmedMs < confirmedForMs;",
    to: "this.#confirmedMs < Infinity;",
    foundBy: "test/reconcile/converge/safety.test.ts",
  },
  {
    guard: "an instance without a record is begun after a fresh read",
    file: "src/reconcile/converge/run-state.ts",
    from: 'return this.#revision === "" || orphansEntries(this.#view, this.#plan);',
    to: "return orphansEntries(this.#view, this.#plan);",
    foundBy: "test/reconcile/converge/safety.test.ts",
  },
  {
    guard: "an old picture makes nothing forgotten that is retained",
    file: "src/reconcile/converge/run-state.ts",
    from: 'return this.#revision === "" || orphansEntries(this.#view, this.#plan);',
    to: 'return this.#revision === "";',
    foundBy: "test/reconcile/converge/safety.test.ts",
  },
  {
    guard: "of two rules with one entry the oldest decides",
    file: "src/plan/lists/conflicts.ts",
    from: "if (other === undefined) winners.set(entry, first);",
    to: "winners.set(entry, first);",
    foundBy: simulation,
  },
  {
    guard: "a conflict is won by the rule whose list holds the entry",
    file: "src/plan/lists/conflicts.ts",
    from: "const holding = holderOf(entry, holders.managed);",
    to: "const holding = undefined;",
    foundBy: simulation,
  },
  {
    guard: "of two instances with one key the oldest works",
    file: "src/plan/access/admit-instance.ts",
    from: "if (oldest !== undefined && oldest !== instance.meta) {",
    to: "if (oldest !== undefined && oldest.name === '') {",
    foundBy: simulation,
  },
  {
    guard: "a contested entry is left alone for a while",
    file: "src/plan/lists/disputes.ts",
    from: "const correctionsMax = 3;",
    to: "const correctionsMax = 1_000;",
    foundBy: "test/reconcile/converge/safety.test.ts",
  },
  {
    guard: "the primary origin is never removed",
    file: "src/plan/origins/origin-plan.ts",
    from: "      waiting.push(host);\n      continue;",
    to: "      waiting.push(host);",
    foundBy: "test/plan/origins/origin-plan.test.ts",
  },
  {
    guard: "`Additive` removes only what is ours",
    file: "src/plan/lists/ownership.ts",
    from: "else if (record !== undefined || input.exclusive) removals.push(entry);",
    to: "else removals.push(entry);",
    foundBy: simulation,
  },
  {
    guard: "what a rule wants is never removed",
    file: "src/plan/lists/ownership.ts",
    from: "if (input.wanted.has(entry)) continue;",
    to: "",
    foundBy: simulation,
  },
  {
    guard: "what a deleted rule retains stays",
    file: "src/plan/lists/ownership.ts",
    from: "if (isRetained(record, input.existingRules) && !input.exclusive) retained.push(entry);",
    to: "if (record === null) retained.push(entry);",
    foundBy: "test/plan/lists/ownership.test.ts",
  },
  {
    guard: "only what is gone from the list is forgotten",
    file: "src/plan/lists/ownership.ts",
    from: "if (rules === undefined && (dropped.has(entry) || !observed.has(entry))) {",
    to: "if (rules === undefined) {",
    foundBy: simulation,
  },
  {
    guard: "only an annotated rule adopts",
    file: "src/plan/lists/ownership.ts",
    from: 'return meta.annotations[adoptAnnotation] === "true";',
    to: "return meta.name !== '';",
    foundBy: simulation,
  },
  {
    guard: "`Observe` writes nothing",
    file: "src/plan/instance/plan.ts",
    from: 'policies[part] !== "Observe" && !suspend',
    to: "!suspend",
    foundBy: simulation,
  },
  {
    guard: "a suspended instance writes nothing",
    file: "src/plan/instance/plan.ts",
    from: 'policies[part] !== "Observe" && !suspend',
    to: 'policies[part] !== "Observe"',
    foundBy: simulation,
  },
  {
    guard: "the inventory is written ahead",
    file: "src/reconcile/converge/run.ts",
    from: "const stopped = (await run.record()) ?? (await applyPlan(run));",
    to: "const stopped = await applyPlan(run);",
    foundBy: simulation,
  },
  {
    guard: "a conflict of the inventory ends the run",
    file: "src/reconcile/converge/run-state.ts",
    from: 'if (saved.state === "Conflict") return',
    to: 'if (saved.state === "Conflict" && this.name.name === "") return',
    foundBy: simulation,
  },
  {
    guard: "a refused addition is not ours",
    file: "src/reconcile/converge/write-ledger.ts",
    from: 'if (operation.kind === "AddEntry") inventory = this.#disowned(inventory, list, [operation.entry]);',
    to: "",
    foundBy: "test/reconcile/converge/faults.test.ts",
  },
  {
    guard: "a crash during the upgrade of an inventory loses no owners",
    file: "src/source/inventory-shards.ts",
    from: 'const format = Math.max(...shards.map((shard) => Number(shard["format"])));',
    to: 'const format = Number(first["format"]);',
    foundBy: "test/source/inventory-owners.test.ts",
  },
  {
    guard: "an addition that may have been done stays ours",
    file: "src/reconcile/converge/write-ledger.ts",
    from: 'if (operation.kind === "AddEntry") this.#writes[operation.list].added(operation.entry);',
    to: "",
    foundBy: "test/reconcile/converge/safety.test.ts",
  },
  {
    guard: "`deletionPolicy: Retain` of an instance",
    file: "src/reconcile/converge/release.ts",
    from: 'if (instance.deletionPolicy === "Retain") return',
    to: 'if (instance.meta.name === "") return',
    foundBy: "test/reconcile/converge/release.test.ts",
  },
  {
    guard: "what others added stays when an `Exclusive` instance goes",
    file: "src/plan/instance/desired.ts",
    from: 'return policy === "Exclusive" ? "Additive" : policy;',
    to: "return policy;",
    foundBy: "test/reconcile/converge/release.test.ts",
  },
  {
    guard: "an event reports what stays on the WAF",
    file: "src/reconcile/converge/release.ts",
    from: "if (left !== 0) {",
    to: "if (left === -1) {",
    foundBy: "test/reconcile/converge/release.test.ts",
  },
  {
    guard: "one call at a time",
    file: "src/waf/lane.ts",
    from: "if (this.#running !== undefined || !this.#isAwake) return;",
    to: "if (!this.#isAwake) return;",
    foundBy: "test/waf/lane.test.ts",
  },
  {
    guard: "nothing is written without the Lease",
    file: "src/waf/client.ts",
    from: "if (!permission.permitted) return",
    to: "if (!permission.permitted && call.name === undefined) return",
    foundBy: "test/waf/client.test.ts",
  },
  {
    guard: "the key is in no message",
    file: "src/model/api-key.ts",
    from: "return this.#find().replaceIn(text, redactedKey);",
    to: "return text;",
    foundBy: simulation,
  },
];
