// The rules for every status: it matches the schema, its reasons are published, observed generations are not in the
// future, transition times change only with the status, kubectl, Flux and Argo CD agree, and its size is limited.
import { type Condition, seeReady } from "../../../src/kinds/conditions.ts";
import { kindDefinitions } from "../../../src/kinds/custom-resource.ts";
import {
  type ConditionFact,
  conditionFacts,
  type ConditionsOfReason,
  type ConditionStatus,
  conditionStatuses,
  type ConditionType,
  reasonFacts,
} from "../../../src/kinds/reasons.ts";
import type { ResourceKind, ResourceMeta } from "../../../src/model/resource.ts";

const bytesMax = 8 * 1024;

type Status = Readonly<Record<string, unknown>>;

/** Returns one sentence for each violation in a status that follows `before`. */
export function statusFaults(object: ResourceMeta, before: Status | undefined, after: Status): string[] {
  const conditions = conditionsOf(after);
  const size = Buffer.byteLength(JSON.stringify(after));
  return [
    ...shapeFaults(object.kind, after),
    ...(size < bytesMax ? [] : [`it has ${size} bytes`]),
    ...generationFaults(object, after, conditions),
    ...conditions.flatMap((condition) => conditionFaults(object.kind, condition)),
    ...transitionFaults(conditionsOf(before ?? {}), conditions),
    ...consistencyFaults(conditions),
  ];
}

function conditionsOf(status: Status): readonly Condition[] {
  return (status["conditions"] ?? []) as readonly Condition[];
}

/** The values of `status` that conditions have with the reasons that they repeat. */
const repeatedStatuses: Readonly<Partial<Record<ConditionType, readonly ConditionStatus[]>>> = {
  Ready: conditionStatuses,
  Complete: ["False"],
  LogsJudged: ["False", "Unknown"],
  Reconciling: ["True"],
  Stalled: ["True"],
};

/** Whether a condition of this type may have this reason with this status. This defines status conformance. */
export function isPublished(type: string, reason: string, status: string): boolean {
  if (!Object.hasOwn(conditionFacts, type) || !Object.hasOwn(reasonFacts, reason)) return false;
  const known = type as ConditionType;
  const on: ConditionsOfReason = reasonFacts[reason as keyof typeof reasonFacts];
  const { repeats = [] }: ConditionFact = conditionFacts[known];
  const isRepeated = repeats.some((other) => on[other as ConditionType] !== undefined);
  const statuses = on[known] ?? (isRepeated ? repeatedStatuses[known] : undefined);
  return statuses?.some((each) => each === status) === true;
}

function shapeFaults(kind: ResourceKind, after: Status): string[] {
  const parsed = kindDefinitions[kind].status.safeParse(after);
  if (!parsed.success) return parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  const known = new Set(Object.keys(parsed.data));
  return Object.keys(after).flatMap((field) => (known.has(field) ? [] : [`the schema does not know ${field}`]));
}

function generationFaults({ generation }: ResourceMeta, after: Status, conditions: readonly Condition[]): string[] {
  const of = (what: string, observed: unknown): string[] =>
    typeof observed === "number" && observed <= generation ? [] : [`${what} has observed ${String(observed)}`];
  return [
    ...of("the status", after["observedGeneration"]),
    ...conditions.flatMap(({ type, observedGeneration }) => of(type, observedGeneration)),
  ];
}

function conditionFaults(
  kind: ResourceKind,
  { type, status, reason, message, lastTransitionTime }: Condition,
): string[] {
  const faults: string[] = [];
  if (!isPublished(type, reason, status)) faults.push(`${type} ${status} ${reason} is not published`);
  const facts: Readonly<Record<string, ConditionFact>> = conditionFacts;
  const fact = Object.hasOwn(facts, type) ? facts[type] : undefined;
  if (fact?.kinds.some((known) => known === kind) !== true) faults.push(`a ${kind} has no ${type}`);
  if (fact?.polarity === "AbnormalTrue" && status !== "True") faults.push(`${type} is there with status ${status}`);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/u.test(lastTransitionTime))
    faults.push(`${type} changed ${lastTransitionTime}`);
  return [...faults, ...messageFaults(message).map((fault) => `the message of ${type} ${fault}: ${message}`)];
}

/** A message is one or more sentences for a person. */
export function messageFaults(message: string): string[] {
  const faults: string[] = [];
  if (message.trim() !== message || message === "") faults.push("is empty or padded");
  if (/undefined|NaN|\[object|null/u.test(message)) faults.push("shows a value of the program");
  if (/ {2}|\.\.|\. \.|,\.|\(\)/u.test(message)) faults.push("has a hole in it");
  // The last words may be the annotation to write, for kubectl or for a file.
  if (!/[.…!?]$|(?:=[0-9a-f]{12}|: "[0-9a-f]{12}")$/u.test(message)) faults.push("does not end like a sentence");
  if (/\p{Cc}/u.test(message)) faults.push("has a line break or control character");
  return faults;
}

function transitionFaults(before: readonly Condition[], after: readonly Condition[]): string[] {
  return after.flatMap((condition) => {
    const earlier = before.find(({ type }) => type === condition.type);
    if (earlier === undefined || earlier.status !== condition.status) return [];
    return earlier.lastTransitionTime === condition.lastTransitionTime
      ? []
      : [`${condition.type} moved its transition time and stayed ${condition.status}`];
  });
}

/** As kstatus and its users read conditions. */
function consistencyFaults(conditions: readonly Condition[]): string[] {
  const faults: string[] = [];
  const find = (type: string): Condition | undefined => conditions.find((condition) => condition.type === type);
  if (new Set(conditions.map(({ type }) => type)).size < conditions.length) faults.push("a condition is there twice");
  const ready = find("Ready");
  const reconciling = find("Reconciling");
  const stalled = find("Stalled");
  if (ready === undefined) return [...faults, "there is no Ready"];
  // Forwarding logs is work of its own, which can fail in the same words.
  const said = conditions.filter(({ type, message }) => type !== "LogsForwarded" && message !== seeReady);
  const messages = said.map(({ message }) => message);
  if (new Set(messages).size < messages.length) faults.push("two conditions say the same");
  if (stalled !== undefined && reconciling !== undefined) faults.push("it is both Stalled and Reconciling");
  if (stalled !== undefined && ready.status !== "False") faults.push(`it is Stalled and Ready is ${ready.status}`);
  // The instance will be created, which takes only seconds with GitOps: this is neither work in progress nor a failure.
  const waits = ready.reason === "InstanceNotFound";
  if (ready.status === "False" && stalled === undefined && reconciling === undefined && !waits) {
    faults.push("Ready is False, and nobody is said to move next");
  }
  if (ready.status === "False" && ready.reason === "Pending") faults.push("Ready is False during plain work");
  if (ready.status === "Unknown" && reconciling === undefined && ready.reason !== "Suspended") {
    faults.push(`Ready is Unknown for ${ready.reason}, and nobody works on it`);
  }
  if (ready.status === "True" && reconciling !== undefined) faults.push("it is both Ready and Reconciling");
  if (ready.status === "True" && find("Accepted")?.status !== "True") faults.push("it is Ready and not Accepted");
  return faults;
}
