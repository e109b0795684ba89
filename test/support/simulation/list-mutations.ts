// The guarantees about lists and origins, the run and its records, each with the smallest source change that breaks it.
import { breaks } from "./breaks.ts";
import type { Mutation } from "./breaks.ts";

export const listMutations: readonly Mutation[] = [
  ...breaks("src/decide/removal-guard.ts", "simulation", {
    "`maxRemovals` puts removals on hold": "if (count > guards.maxRemovals) return true; →",
    "`maxRemovalPercent` puts removals on hold":
      "return sizeMax >= shareCountsFrom && count * 100 > guards.maxRemovalPercent * size; → return false;",
  }),
  ...breaks("src/decide/removal-guard.ts", "test/decide/removal-guard.test.ts", {
    "an approval works only once": "approvals: approvals + 1 }; → approvals };",
    "`window` adds up the removals of several plans": "const count = former + weigh( → const count = weigh(",
    "a list that gets short within the window is still guarded":
      "sizeMax: request.sizeMax + recent }; → sizeMax: request.sizeMax };",
    "a removal is judged again after its entry is declared again":
      "const pending = request.removals.filter((entry) => before.pending.has(entry)); → const pending = [...before.pending];",
    "a removal is no longer approved after its entry is declared again":
      "return next.hash === before.hash && sizeOf(next) === sizeOf(before); → return next.hash === before.hash;",
    "an approval applies to exactly the named removals":
      'if (hash !== undefined && hash === annotation) { → if (hash !== undefined && (annotation ?? "") !== "") {',
    "an approval survives a crash":
      "const isApproved = approval?.removals[list].has(entry) === true; → const isApproved = approval !== undefined && requests === undefined;",
    "a list that may have ten entries is treated as a list of ten":
      "return sizeMax >= shareCountsFrom && → return size >= shareCountsFrom &&",
    "entries that expired in a feed count for no guard of removals":
      'ended.get(`${id} ${owner.source ?? ""}`)?.has(entry) === true; → ended.size < 0;',
    "entries that are removed from a feed before their end count for the guards of removals":
      'ended.get(`${id} ${owner.source ?? ""}`)?.has(entry) === true; → ended.size >= 0;',
  }),
  ...breaks("src/decide/removal-guard.ts", "test/run/safety.test.ts", {
    "removals that were allowed are not judged again":
      "isApproved || before.pending.has(entry) || endsByItself → isApproved || endsByItself",
    "an inventory that is older than the status puts removals on hold":
      "if (version >= reported) return undefined; → if (version >= 0) return undefined;",
  }),
  ...breaks("src/decide/removal-guard.ts", "test/decide/remembered.test.ts", {
    "a failed fresh read puts all removals on hold, approved or not":
      "removals[list] = obstacle === undefined ? guarded[list].held : fresh; → removals[list] = guarded[list].held;",
  }),
  ...breaks("src/decide/removal-guard.ts", "test/run/aggregate.test.ts", {
    "the guards count the declared entries that a removal uncovers":
      "entries.reduce((sum, entry) => sum + weightOf(entry), 0) → entries.reduce((sum, entry) => sum + Math.min(1, weightOf(entry)), 0)",
  }),
  ...breaks("src/run/world.ts", "test/run/safety.test.ts", {
    "a restored inventory stays recognizable until it is accepted":
      'held?.obstacle?.kind !== "Restored" ? Math.max → held?.obstacle?.kind !== "Unconfirmed" ? Math.max',
    "a fresh read is valid for 30 s":
      "this.ports.clock.monotonicMs() - this.#confirmedMs < confirmedForMs; → this.#confirmedMs < Infinity;",
    "a stale cache does not remove retained entries from the inventory":
      "(this.#confirmedMs !== undefined || !beforeRemovals); → true;",
    "removals that were not confirmed are not counted":
      "countsRemovals: this.#confirmedMs !== undefined, → countsRemovals: true,",
    "a cache has caught up only if it showed the state that this run read first":
      "this.memory.hasCaughtUp ||= !this.#isRead && → this.memory.hasCaughtUp ||=",
  }),
  ...breaks("src/run/world.ts", "simulation", {
    "a failed fresh read puts removals on hold":
      "gathered = { ...gathered, unconfirmed: confirmed.problem }; → gathered = { ...gathered };",
    "a conflict when saving the inventory ends the run":
      'if (saved.state === "Conflict") return → if (saved.state === "Conflict" && this.name.name === "") return',
  }),
  ...breaks("src/run/world.ts", "test/run/release.test.ts", {
    "a deletion stops removing entries if they should stay":
      'gathered === undefined || wantsRemoval(gathered) ? undefined : { kind: "Outdated" }; → undefined;',
  }),
  ...breaks("src/run/world.ts", "test/run/clock-jumps.test.ts", {
    "setting the clock back does not extend a confirmation":
      "undefined : this.ports.clock.monotonicMs(); → undefined : this.ports.clock.nowMs();",
  }),
  ...breaks("src/decide/plan.ts", "test/run/safety.test.ts", {
    "removals are counted before their calls":
      "countsRemovals && offOn(list) === undefined → countsRemovals && nowMs < 0",
    "a guard that can't be parsed stops all writes": ": instanceFaults[0]; → : undefined;",
  }),
  ...breaks("src/decide/plan.ts", "test/run/aggregate.test.ts", {
    "an addition that waits for removals on hold is reported and not recorded":
      "return entries.length === 0 ? leftOut → return entries.length >= 0 ? leftOut",
    "the entries that replace a merged one are added before it is removed":
      "orderForRoom([...orderWrites(adds, removals, basis), ...replaced], rooms) → orderForRoom([...replaced, ...orderWrites(adds, removals, basis)], rooms)",
  }),
  ...breaks("src/decide/plan.ts", "simulation", {
    "with `Observe`, wafsync writes nothing":
      'policies[part] === "Observe" ? → policies[part] === "Exclusive" && policies[part] === "Observe" ?',
    "wafsync writes nothing for a suspended instance":
      'suspend ? "spec.suspend is true" → suspend && instanceFaults.length > 0 ? "spec.suspend is true"',
  }),
  ...breaks("src/run/finish.ts", "test/run/release.test.ts", {
    "the deletion of an instance waits at most ten minutes":
      "return Math.min(wakeAtMs, wallTimeOf(clock, endsMs)); → return Math.max(wakeAtMs, wallTimeOf(clock, endsMs));",
  }),
  ...breaks("src/decide/guards.ts", "simulation", {
    "`neverBlock` rejects overlapping entries":
      'const kept = list === "allowlist" ? undefined : → const kept = list !== undefined ? undefined :',
    "addresses of declared origins are never blocked":
      "for (const origin of origins) { → for (const origin of origins.slice(0, 0)) {",
    "`minPrefixLength` rejects wide networks":
      "if (prefixLength >= shortest) return undefined; → if (prefixLength >= 0) return undefined;",
    "`allowMinPrefixLength` rejects wide Allow entries":
      'list === "blocklist" ? "minPrefixLength" : "allowMinPrefixLength"; → "minPrefixLength";',
    "`specialPurpose` rejects special-purpose networks":
      'guards.specialPurpose === "Allow" ? undefined → network !== undefined ? undefined',
    "`except` leaves out entries inside its networks":
      "else if (excepted.containing(entry) === undefined) { → else if (excepted.containing(entry) !== undefined) check(entry);\n    else {",
  }),
  ...breaks("src/decide/guards.ts", "test/decide/guards.test.ts", {
    "`except` leaves out every network that it names":
      "without(entry, excepted.inside(entry), piecesMax) → without(entry, excepted.inside(entry).slice(0, 1), piecesMax)",
    "`except` makes a limited number of networks of an entry": "const piecesMax = 256; → const piecesMax = 100_000;",
  }),
  ...breaks("src/decide/special-purpose.ts", "test/decide/special-purpose.test.ts", {
    "public parts of special-purpose networks are accepted":
      "if (exceptionIndex.containing(addresses) !== undefined) return undefined; →",
  }),
  ...breaks("src/decide/domain.ts", "simulation", {
    "the domain of the first sync is pinned":
      "if (former === undefined || sameDomain(former, domain)) { → if (former === undefined || expected === undefined || sameDomain(former, domain)) {",
    "wafsync writes only to the WAF of `expectedDomain`":
      "if (expected !== undefined && !sameDomain(expected, domain)) { → if (expected !== undefined && domain === '') {",
  }),
  ...breaks("src/decide/domain.ts", "test/decide/memory-of-faults.test.ts", {
    "the record of a domain is kept while the instance manages another domain":
      "if (countManaged(inventory) > 0) { → if (countManaged(inventory) < 0) {",
  }),
  ...breaks("src/run/world.ts", "simulation", {
    "a write that reaches another domain ends the run":
      "if (domain.toLowerCase() === observed.domain.toLowerCase()) return undefined; → if (observed.domain !== '') return undefined;",
  }),
  ...breaks("src/run/world.ts", "test/run/safety.test.ts", {
    "lists of another WAF do not change the record": "return moved; → return undefined;",
  }),
  ...breaks("src/decide/desired.ts", "test/decide/guests.test.ts", {
    "a guest's origin is not protected from blocks":
      'verdict === "Accepted" && isOwnersOf(instance, origin) → verdict === "Accepted" && (isOwnersOf(instance, origin) || origin.host !== "")',
  }),
  ...breaks("src/decide/desired.ts", "test/run/release.test.ts", {
    "unmanaged entries stay when an `Exclusive` instance is deleted":
      'return policy === "Exclusive" ? "Additive" : policy; → return policy;',
  }),
  ...breaks("src/decide/remembered.ts", "simulation", {
    "a file that can't be read counts as declaring what the record says":
      "if (this.everything !== undefined) return this.everything;\n    const { invalidObjects, brokenReferences } → const { invalidObjects, brokenReferences }",
    "a broken reference counts as declaring what its object last declared":
      "if (broken !== undefined) return [{ ...broken, id, source }]; →",
    "an invalid line counts as declaring what its rule last declared": "else push(this.#byRule, rule, part); →",
  }),
  ...breaks("src/model/inventory.ts", "test/decide/remembered.test.ts", {
    "an entry whose removal has begun is not declared again because a source breaks":
      "return record.missingSinceMs !== undefined || pending.has(entry); → return record.sinceMs === -1 && pending.has(entry);",
  }),
  ...breaks("src/decide/remembered.ts", "test/decide/remembered.test.ts", {
    "a missing source counts as declaring what it last declared":
      "if (source !== undefined && recorded.has(source)) push(this.#bySource, source, part); → if (source !== undefined && recorded.has(source)) void part;",
    "an unknown source counts as declaring what a possibly renamed rule last declared":
      "if (source !== undefined && !recorded.has(source)) push(this.#byNamespace, namespaceOfRule(rule), part); →",
    "a typo in `metadata.namespace` in a file does not delete the object's entries":
      "(existing?.has(key) === false ? this.#renamed.get(plainKey(ref)) : undefined) → (existing?.has(key) === null ? this.#renamed.get(plainKey(ref)) : undefined)",
    "a rule that can't be read retains its entries in the record":
      "if (id !== undefined && found.length > 0) this.#unknown.add(id); →",
  }),
  ...breaks("src/decide/draft-rule.ts", "test/decide/remembered.test.ts", {
    "remembered entries are guarded":
      "guardEntries(guards, list, places, { except, grant, merged: lines }) → { entries: new Set(inOrder), cutFrom: new Map<Entry, Entry>(), places, except, guards, list }",
    "remembered entries count for the grant of a guest":
      "const fitting = grant === undefined ? left : quota → const fitting = grant !== null ? left : quota",
  }),
  ...breaks("src/decide/desired-origins.ts", "test/decide/remembered.test.ts", {
    "a broken reference of a `WafOrigin` keeps its origin":
      "for (const [host, { origin }] of recalled) wanted.set(host, origin); →",
  }),
  ...breaks("src/decide/decisions.ts", "test/decide/decisions.test.ts", {
    "row 1 of the table of decisions": '"declared shown recorded": inSync, → "declared shown recorded": nothing,',
    "row 2 of the table of decisions": '"declared shown -": foreign, → "declared shown -": nothing,',
    "row 3 of the table of decisions": '"declared - recorded": add, → "declared - recorded": nothing,',
    "row 4 of the table of decisions": '"declared - -": add, → "declared - -": nothing,',
    "row 5 of the table of decisions": '"- shown recorded": remove, → "- shown recorded": nothing,',
    "row 6 of the table of decisions": '"- shown -": others, → "- shown -": nothing,',
    "row 7 of the table of decisions": '"- - recorded": forget, → "- - recorded": nothing,',
    "entries that a deleted rule retains become unmanaged, even if another rule declares them":
      "if (isReleased(line, context)) { → if (isReleased(line, context) && !line.declared) {",
    "entries that a deleted rule retains stay on the list":
      "if (!context.exclusive && context.isRetained(line)) return released; → if (context.exclusive && context.isRetained(line)) return released;",
    "a full list evicts entries":
      'insteadOf("Remove", line, context, fullList);\n} → { kind: "InSync", reason: fullList };\n}',
  }),
  ...breaks("src/decide/decisions.ts", "test/decide/remembered.test.ts", {
    "unrecorded entries stay on an Exclusive list while something can't be read":
      "if (!context.isUnread || !isUnknown) return undefined; → if (context.isUnread || !isUnknown) return undefined;",
  }),
  ...breaks("src/decide/decisions.ts", "simulation", {
    "`Additive` removes only managed entries":
      "return context.exclusive ? remove(line, context) : → return context.exclusive || !context.exclusive ? remove(line, context) :",
    "an entry that is missing from only one read stays in the record":
      "windowMs === 0 || (sinceMs → windowMs >= 0 || (sinceMs",
  }),
  ...breaks("src/decide/decisions.ts", "test/decide/ownership.test.ts", {
    "an entry is deleted from the record only by a read after `consistencyWindow`":
      "readAtMs - sinceMs >= windowMs → readAtMs - sinceMs >= 0",
  }),
  ...breaks("src/decide/ownership.ts", "test/run/aggregate.test.ts", {
    "an entry that is evicted from a full list stays recorded":
      'if (left === undefined) return kind → if (left === undefined || kind === "NoRoom") return kind',
  }),
  ...breaks("src/decide/ownership.ts", "simulation", {
    "only an annotated rule adopts entries":
      "return meta.annotations[adoptAnnotation] === \"true\"; → return meta.name !== '';",
  }),
  ...breaks("src/decide/ownership.ts", "test/decide/ownership.test.ts", {
    "a read that missed an entry is not its own confirmation, even if the clock was set back":
      "Math.max(nowMs, context.readAtMs); → nowMs;",
  }),
  ...breaks("src/decide/origin-plan.ts", "test/run/adoption.test.ts", {
    "a former refusal does not prevent the adoption of an origin":
      'if (call === "Add" && origin !== undefined && asksToAdopt(origin.meta)) return []; →',
  }),
  ...breaks("src/decide/decisions.ts", "test/decide/origin-plan.test.ts", {
    "the primary origin is never removed": "= [primary, off, sourceBroken, → = [off, sourceBroken,",
  }),
  ...breaks("src/run/run.ts", "simulation", {
    "a fresh read comes before removals":
      "if (next === undefined || !world.isConfirmedFor(next)) return → if (next === undefined) return",
  }),
  ...breaks("src/run/run.ts", "test/run/aggregate.test.ts", {
    "removals wait until the reason for a rejected addition is known":
      "if (ledger.refusedCount > 0 && (beforeRemovals || isOver)) → if (ledger.refusedCount > 0 && isOver)",
  }),
  ...breaks("src/run/instance-memory.ts", "simulation", {
    "a new process writes nothing before a fresh read": "hasCaughtUp: false, → hasCaughtUp: true,",
  }),
  ...breaks("src/run/view.ts", "test/run/view.test.ts", {
    "a cache that lacks remembered objects counts as stale": "...autoBlocks, ...broken]; → ...autoBlocks];",
  }),
  ...breaks("src/run/view.ts", "test/run/safety.test.ts", {
    "wafsync adds nothing based on a cache that is older than a fresh read":
      "versionsIn(cached) === versionsIn(read) → versionsIn(cached) !== ''",
  }),
  ...breaks("src/decide/conflicts.ts", "test/decide/conflicts.test.ts", {
    "of two rules with the same entry, the older one takes precedence":
      "if (other === undefined) winners.set(entry, first); → if (other?.rule.list !== rule.list) winners.set(entry, first);",
    "a list that shows an unmanaged entry holds it in a conflict":
      "this.#isShown(list, entry) || recorded[list].of(entry).length > 0 → recorded[list].of(entry).length > 0",
    "a block that the record has holds a conflict, whatever the lists show":
      "return listNames.find((list) => → return listNames.findLast((list) =>",
    "a merged Block entry that nobody recorded takes precedence, too":
      "return isMerged && networksAround(entry).some((network) => shown.has(network)); → return isMerged && shown.has(entry);",
  }),
  ...breaks("src/decide/conflicts.ts", "simulation", {
    "the rule whose list already has the entry wins a conflict":
      "const holding = sent.holderOf(entry); → const holding = undefined;",
  }),
  ...breaks("src/decide/conflicts.ts", "test/decide/guests.test.ts", {
    "the owner of an instance wins every conflict with a guest":
      "if (rule.isOwners !== other.rule.isOwners) { → if (rule.isOwners && other.rule.list === rule.list) {",
  }),
  ...breaks("src/decide/protect-others.ts", "test/decide/guests.test.ts", {
    "an Allow entry of a guest that is no longer on the list lifts no block":
      "sentAs?.of(entry).some((sent) => shown?.allowlist.has(sent) !== false) === true; → sentAs?.of(entry).some(() => shown !== null) === true;",
  }),
  ...breaks("src/decide/protect-others.ts", "simulation", {
    "a guest's Allow entry does not unblock addresses of other namespaces":
      "if (rules.every(({ isOwners }) => isOwners)) return rules; → if (rules.length >= 0) return rules;",
  }),
  ...breaks("src/decide/guest-limits.ts", "simulation", {
    "a guest can't have more entries than its quota":
      "if (!used.has(list, entry) && used.count >= grant.maxEntries) { → if (!used.has(list, entry) && used.count > 2_000_000 + grant.maxEntries) {",
  }),
  ...breaks("src/decide/guest-limits.ts", "test/decide/guests.test.ts", {
    "a guest can't retain entries beyond its quota":
      'return { ...rule, priority, ttlMs, deletionPolicy: "Delete", meta: withoutAdoption(rule.meta, grant) }; → return { ...rule, priority, ttlMs, meta: withoutAdoption(rule.meta, grant) };',
    "a guest can't adopt entries without a grant":
      "if (grant.adopt || !asksToAdopt(meta)) return meta; → if (!grant.adopt || !asksToAdopt(meta)) return meta;",
    "a guest's origins are not retained": 'return { ...origin, deletionPolicy: "Delete", → return { ...origin,',
  }),
  ...breaks("src/decide/admit-instance.ts", "simulation", {
    "of two instances with the same API key, only the older one is active":
      "if (oldest !== undefined && oldest !== instance.meta) { → if (oldest !== undefined && oldest.name === '') {",
  }),
  ...breaks("src/decide/admit-instance.ts", "test/run/continues.test.ts", {
    "an instance is inactive if another one continues it":
      "if (successor !== undefined) { → if (successor?.deleting === true) {",
  }),
  ...breaks("src/decide/disputes.ts", "test/run/safety.test.ts", {
    "corrections of a contested entry are paused": "const correctionsMax = 3; → const correctionsMax = 1_000;",
  }),
  ...breaks("src/decide/urgent-removals.ts", "test/decide/order.test.ts", {
    "an urgent removal waits for additions that share an address with it":
      "1 + lastOverlapping(adds, overlapping, removal.entry) → 0",
  }),
  ...breaks("src/run/release.ts", "test/simulation/sieve-plans.test.ts", {
    "an instance is released only if a fresh read shows that it is being deleted":
      "world.gathered = gathered; → if (gathered.instance.meta.deleting) world.gathered = gathered;",
  }),
  ...breaks("src/run/release.ts", "test/run/release.test.ts", {
    "`deletionPolicy: Retain` of an instance keeps its entries":
      'if (instance.deletionPolicy === "Retain") → if (instance.meta.name === "")',
    "an event reports the entries that stay on the WAF": "if (left !== 0) { → if (left === -1) {",
    "a deletion uses the policy from the API server, not from a stale cache":
      "world.gathered = gathered; → if (!gathered.instance.meta.deleting) world.gathered = gathered;",
  }),
  ...breaks("src/run/write-ledger.ts", "test/run/adoption.test.ts", {
    "an origin that an interrupted call may have added counts as added if the API refuses a second addition":
      "if (!isUnsent) return withOriginAdded → if (!isUnsent && message === '') return withOriginAdded",
    "an origin whose first addition the API refuses does not count as added":
      "if (!isUnsent) return withOriginAdded → if (message !== '') return withOriginAdded",
  }),
  ...breaks("src/run/write-ledger.ts", "test/run/faults.test.ts", {
    "a rejected entry is not managed":
      'if (operation.kind === "AddEntry") inventory = this.#disowned(inventory, list, [operation.entry]); →',
  }),
  ...breaks("src/run/write-ledger.ts", "test/run/safety.test.ts", {
    "an entry stays managed if the outcome of its addition is unknown":
      'if (operation.kind === "AddEntry") this.#writes[operation.list].added(operation.entry); →',
  }),
  ...breaks("src/decide/list-draft.ts", "test/decide/plan.property.test.ts", {
    "declared entries are never removed":
      "declared: rules.length > 0, shown: live.has(entry) → declared: false, shown: live.has(entry)",
  }),
  ...breaks("src/decide/list-draft.ts", "test/run/aggregate.test.ts", {
    "a removal waits while the API rejects an entry that shares addresses with it":
      "waitsFor?.overlaps(entry) !== undefined; → waitsFor?.overlaps(entry) === null;",
  }),
  ...breaks("src/decide/owner-lookup.ts", "test/decide/ownership.test.ts", {
    "all rules that retain an entry are recorded": '[...new Set(ids)].toSorted().join(","); → ids[0];',
  }),
  ...breaks("src/run/run.ts", "simulation", {
    "the inventory is saved before the calls": "const ended = world.isUnsaved → const ended = !world.isPlanned",
  }),
  ...breaks("src/run/run.ts", "test/run/clock-jumps.test.ts", {
    "setting the clock back delays no retry":
      "ports.clock.monotonicMs() < backOff.untilMs; → ports.clock.nowMs() < backOff.untilMs;",
  }),
  ...breaks("src/records/cluster-record-store.ts", "test/records/record-store.test.ts", {
    "a part that a killed process left is written again":
      'if (created.fault.code !== "AlreadyExists") return created.fault; → return created.fault.code === "AlreadyExists" ? undefined : created.fault;',
    "the parts of the former text are deleted only after the new one is stored":
      "const committed = await this.#put( → for (const name of before?.others ?? []) if (!parts.some((part) => part.name === name)) await this.#releaseNamed(key, name);\n    const committed = await this.#put(",
    "a save replaces only the version that was loaded":
      "if (metadata.resourceVersion !== revision) return changed(key); →",
    "a new part has a name that no other save uses":
      'hexDigest(`${before?.head.resourceVersion ?? ""} ${owner.uid} ${digest}`, 16) → hexDigest(digest, 16)',
    "a damaged part is not used": "if (hexDigest(part) !== expected) return → if (expected === name) return",
    "a save keeps no part of a damaged record":
      "const known = { head: head.metadata, parts: [], others → const known = { head: head.metadata, parts: head.spec?.parts ?? [], others",
  }),
  ...breaks("src/records/cluster-record-store.ts", "test/records/typed-records.test.ts", {
    "the content of a feed that is created again survives the deletion of the former one's":
      'if (isOfFormerFeed(key, owner, head)) return { state: "Absent", revision }; → this.#known.set(idOf(key), { ...known, parts: head.spec?.parts ?? [] });\n    if (isOfFormerFeed(key, owner, head)) return { state: "Absent", revision };',
  }),
  ...breaks("src/records/file-record-store.ts", "test/records/record-store.test.ts", {
    "a file that another writer has changed is not overwritten": '!== revision) { → === "never") {',
  }),
  ...breaks("src/records/inventory-text.ts", "test/records/inventory-text.test.ts", {
    "a truncated inventory is damaged":
      "if (!reader.isComplete) return → if (reader.isComplete && first === stored) return",
  }),
  ...breaks("src/decide/continued-record.ts", "test/run/continues.test.ts", {
    "an instance continues another one's record only for the same WAF":
      "return waf?.baseUrl === baseUrl || waf?.keyMark === key.markFor(recorded); → return true;",
  }),
  ...breaks("src/run/take-over.ts", "test/run/continues.test.ts", {
    "a continued record is removed only after it was copied":
      "if (joined !== own.inventory) { → if (joined === own.inventory) {",
  }),
  ...breaks("src/address/ranges.ts", "test/address/ranges.test.ts", {
    "merged networks contain only declared addresses":
      "if (whole.first !== first || whole.last !== upper.network.last) return false; → if (whole.first !== first) return false;",
    "merged networks are no wider than the guards and the grant allow":
      "prefixLength !== upper.network.prefixLength || prefixLength <= widest → prefixLength !== upper.network.prefixLength",
  }),
  ...breaks("src/decide/aggregation.ts", "test/run/aggregate.test.ts", {
    "entries that overlap an entry of the other list are not merged":
      "others.overlaps(entry) !== undefined; → others.overlaps(entry) === null;",
    "entries that the rule adopts are not merged": "adopted.has(entry) || →",
    "entries that expire by themselves are not merged": "ends.some((ending) => ending.has(entry)) || →",
  }),
  ...breaks("src/decide/aggregation.ts", "test/decide/conflicts.test.ts", {
    "a merged Block entry takes precedence over new Allow rules for each of its parts":
      "return this.#owned.has(entry) ? [entry, ...around] : around; → return this.#owned.has(entry) ? [entry] : [];",
  }),
  ...breaks("src/decide/capacity.ts", "test/run/aggregate.test.ts", {
    "`maxEntries` leaves out entries with a lower priority": "b.priority - a.priority || → a.priority - b.priority ||",
    "no more entries than `maxEntries` are sent":
      "if (target.size <= room) return nothingLeftOut; → if (target.size >= 0) return nothingLeftOut;",
  }),
  ...breaks("src/records/record-object.ts", "test/records/typed-records.test.ts", {
    "the record of a former feed of the same name counts as absent":
      "owner !== undefined && spec?.feed?.uid !== owner.uid → owner !== undefined && spec?.feed?.uid === ''",
  }),
  ...breaks("src/decide/yielding.ts", "test/blocks/block-rules.test.ts", {
    "automatic blocks exempt what the WAF's own allowlist shows": "basis), ...others]; → basis)];",
    "automatic blocks exempt the current primary origin": "[...yieldsTo, ...primary] → [...yieldsTo]",
    "what only the record allows lifts no automatic block":
      "(isBlocked(entry) ? lifting : protecting) → (isBlocked(entry) ? protecting : protecting)",
  }),
  ...breaks("src/decide/draft-rule.ts", "test/blocks/block-rules.test.ts", {
    "exempt clients are not blocked automatically":
      "withoutYielded(rule, guarded.entries, basis); → guarded.entries ?? basis;",
  }),
  ...breaks("src/decide/rule-entries.ts", "test/blocks/block-rules.test.ts", {
    "automatic blocks end on time": "firstEndMs > nowMs) return part; → firstEndMs > 0) return part;",
  }),
  ...breaks("src/blocks/block-rules.ts", "test/blocks/block-rules.test.ts", {
    "a guest's origins exempt no visitor from the owner's automatic blocks":
      'origin.meta.namespace === meta.namespace ? → origin.meta.namespace !== "" ?',
    "the guards for removals do not count automatic blocks that have ended": "{ has: () => true }; → undefined;",
  }),
  ...breaks("src/decide/refusals.ts", "test/decide/memory-of-faults.test.ts", {
    "setting the clock back does not delay the retry of a rejected entry":
      "return nowMs < refusal.refusedAtMs || nowMs >= refusalEndsAtMs(refusal); → return nowMs >= refusalEndsAtMs(refusal);",
  }),
];
