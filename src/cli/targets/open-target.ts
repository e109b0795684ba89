// The ways into the work of a command: on a folder or a cluster, or on one WAF. Modules that only one kind of target needs are loaded
// on demand.
import { readFile } from "node:fs/promises";
import { baseUrlObjection, type BaseUrlPolicy } from "../../app/base-url-policy.ts";
import { type ReadingWaf, type CallWaf, WafClients } from "../../app/waf-clients.ts";
import type { WafClient, Permission } from "../../waf/client.ts";
import type { LogSourceOptions } from "../commands/waf-commands.ts";
import { CommandError } from "../describe-error.ts";
import { type Session, withSession } from "../session.ts";
import type { InstanceSight, Target } from "./target.ts";
import { readEnvironment } from "../../app/config.ts";
import { machineLocks } from "../../app/machine-locks.ts";
import { realClock } from "../../async/clock.ts";
import { type ApiKey, validateApiKey } from "../../model/api-key.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import type { RemoteState } from "../../source/directory/remote-state.ts";
import type { WafFault } from "../../model/waf-result.ts";
import { type KeyLocks, connectTo } from "../../waf/lane.ts";
import { terminalOn } from "../terminal.ts";
import { type ObjectName, isNameOfNamespace, isNameOfObject, nameKey } from "../../model/resource.ts";
import { listed } from "../../model/texts.ts";
import type { OptionsOf } from "../commands/declare.ts";
import type { targetOptions } from "../commands/option-groups.ts";

/** The options that select a WAF without an instance. */
interface BaseUrlOptions extends Pick<TargetOptions, "allowInsecureHttp" | "allowedBaseUrls"> {
  readonly baseUrl: string;
  readonly keyFile?: string | undefined;
}

export interface OpenedWaf {
  readonly waf: ReadingWaf;
  readonly baseUrl: string;
  /** The instance whose WAF it is; undefined if the WAF was given by --base-url. */
  readonly sight: InstanceSight | undefined;
}

/** Opens the folder of `-f`, or the cluster, for the work of a command. @throws CommandError that names what is missing */
export async function withTarget(
  options: TargetOptions,
  work: (target: Target, session: Session) => Promise<number>,
): Promise<number> {
  return await withSession(async (session) => await work(await openTarget(options, session), session));
}

/** @param how how the command calls WAFs, if it reads more than their lists. @throws CommandError that names what is missing */
async function openTarget(options: TargetOptions, session: Session, how?: WafWork): Promise<Target> {
  const { from } = options;
  if (from === undefined) {
    if (options.state !== undefined) throw new CommandError("--state needs a folder", "Add -f DIRECTORY.");
    const { openCluster } = await import("./cluster-target.ts");
    return openCluster(options, session, how);
  }
  const { openFolder } = await import("./folder-target.ts");
  return await openFolder({ ...options, from }, session, how);
}

/** For commands that work on the WAF of --base-url. @throws CommandError that says what to write instead */
export async function withBaseUrl(
  options: BaseUrlOptions,
  how: WafWork,
  work: (waf: WafClient, session: Session) => Promise<number>,
): Promise<number> {
  return await withSession(async (session) => {
    const objection = baseUrlObjection(policyOf(options), options.baseUrl);
    if (objection !== undefined) throw new CommandError(objection.replace("spec.baseUrl", "--base-url"));
    const key = await readApiKey(options.keyFile);
    session.redactor.add(key);
    const { baseUrl } = options;
    const named = { baseUrl, meta: { namespace: "", name: "" }, minRequestIntervalMs: 0 };
    return await work(clientsFor(how, session).open({ ...named, ...how }, key), session);
  });
}

/** For commands that read from one WAF: that of --base-url, or of the only or selected instance. @throws CommandError */
export async function withWaf(
  options: TargetOptions & Pick<LogSourceOptions, "baseUrl" | "keyFile">,
  how: WafWork,
  work: (opened: OpenedWaf, session: Session) => Promise<number>,
): Promise<number> {
  const { baseUrl } = options;
  if (baseUrl !== undefined) {
    for (const name of ["from", "instance", "namespace", "kubeconfig", "context"] as const) {
      if (options[name] === undefined) continue;
      throw new CommandError(`--${name} cannot be combined with --base-url`, "Use only one of them.");
    }
    return await withBaseUrl({ ...options, baseUrl }, how, async (waf, session) => {
      return await work({ waf, baseUrl, sight: undefined }, session);
    });
  }
  if (options.keyFile !== undefined) throw new CommandError("--key-file needs --base-url");
  return await withSession(async (session) => {
    const target = await openTarget(options, session, how);
    const sight = await target.look(await onlyInstance(target, options.instance), { live: false });
    const { baseUrl: url } = sight.gathered.instance;
    const called = await target.callWaf(sight, async (waf) => await work({ waf, baseUrl: url, sight }, session));
    if (!called.ok) throw new CommandError(called.problem);
    return called.value;
  });
}

// Opens a WAF for a command. Every call takes turns with the other processes on this machine that use the same API key.

/** How a command calls a WAF. */
export interface WafWork {
  /** Shown by other processes that wait for this one. */
  readonly command: string;
  readonly requestTimeoutMs: number;
  /** By default, all writes are refused. */
  readonly writes?: boolean;
}

/** The clients of a command, which are closed when it ends. */
function clientsFor(
  how: Omit<WafWork, "requestTimeoutMs">,
  { redactor, stopping, atEnd }: Session,
  permitRead = (): Permission => ({ permitted: true }),
): WafClients {
  const clients = new WafClients({
    clock: realClock,
    open: connectTo(),
    redactor,
    locks: processLocks(how.command),
    hidesCause: false,
    permit: (_instance, effect) => {
      if (effect === "Read") return permitRead();
      if (how.writes !== true) return { permitted: false, reason: "This command only reads." };
      return stopping().stop.aborted ? { permitted: false, reason: "wafsync is stopping." } : { permitted: true };
    },
  });
  atEnd(async () => await clients.close());
  return clients;
}

/**
 * How a target that commands opened calls the WAFs of its instances: to read.
 * @param remote the state that the process holds meanwhile
 */
export function commandCalls(
  options: TargetOptions,
  session: Session,
  how: WafWork | undefined,
  remote?: Pick<RemoteState, "hold" | "lost" | "release">,
): CallWaf {
  const clients = clientsFor(how ?? { command: "a read-only command" }, session, () => {
    const lost = remote?.lost();
    return lost === undefined ? { permitted: true } : { permitted: false, reason: lost };
  });
  let working = 0;
  return async (instance, key, work) => {
    const objection = baseUrlObjection(policyOf(options), instance.baseUrl);
    if (objection !== undefined) return { ok: false, problem: objection };
    session.redactor.add(key);
    working += 1;
    try {
      const held = await remote?.hold();
      if (held?.ok === false) return held;
      return { ok: true, value: await work(clients.open({ ...instance, ...how }, key)) };
    } finally {
      working -= 1;
      // A page is open for hours, and jobs must not wait for it.
      if (working === 0) await remote?.release();
    }
  };
}

/** From a file or from the environment. @throws CommandError that says what to do and contains no part of the key */
async function readApiKey(file: string | undefined): Promise<ApiKey> {
  const text = file === undefined ? readEnvironment().apiKey : await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) {
    if (file !== undefined) throw new CommandError(`cannot read the key file ${file}`);
    throw new CommandError(
      "no API key given",
      "Set the environment variable WAFSYNC_API_KEY, or write the key to a file and set --key-file.",
    );
  }
  const validated = validateApiKey(text);
  if (validated.ok) return validated.key;
  throw new CommandError(`the API key ${validated.problem}`);
}

/** One sentence that says where the key comes from; undefined if the fault has another cause. */
export function keyHint({ code }: WafFault, { meta, apiKeySecretRef: secret }: DeclaredInstance): string | undefined {
  if (code !== "BadApiKey") return undefined;
  const place = `Secret ${meta.namespace}/${secret.name} (spec.apiKeySecretRef) as ${secret.key}`;
  // In a folder, the key may also come from the environment.
  const other = meta.location === "" ? "" : ", or into WAFSYNC_API_KEY next to WAFSYNC_BASE_URL";
  return `Put a valid key into ${place}${other}.`;
}

/** The same for a WAF of --base-url. */
export function givenKeyHint({ code }: WafFault): string | undefined {
  return code === "BadApiKey" ? "Set WAFSYNC_API_KEY, or --key-file to the file with the key." : undefined;
}

/** What went wrong, and where a key that is not valid comes from. */
export function faultWithHint(fault: WafFault, instance: DeclaredInstance): string {
  return [fault.message, keyHint(fault, instance) ?? []].flat().join(" ");
}

/** @param command shown by the processes that wait for this one, for example `wafsync run` */
export function processLocks(command: string): KeyLocks {
  const { line } = terminalOn(process.stderr);
  return machineLocks({ environment: readEnvironment(), command, clock: realClock, onNotice: line });
}

// The options that select the target of a command and its instances, and the words that select them again in suggested commands.

export type TargetOptions = Partial<OptionsOf<typeof targetOptions>> & { readonly allowInsecureHttp: boolean };

/** Which base URLs the command may call. */
export function policyOf({
  allowInsecureHttp,
  allowedBaseUrls: urls,
}: Pick<TargetOptions, "allowInsecureHttp" | "allowedBaseUrls">): BaseUrlPolicy {
  const allowedBaseUrls = urls?.split(",").map((url) => url.trim());
  // The user who runs the command can reach private networks anyway.
  return { allowInsecureHttp, allowedBaseUrls, allowPrivateNetworks: true };
}

const namesShownMax = 10;

type KnownInstances = Pick<Target, "where" | "instances">;

/** The instance that `--instance` selects, or all instances. @throws CommandError if there is none */
export async function chosenInstances(
  target: KnownInstances,
  wanted: string | undefined,
): Promise<readonly ObjectName[]> {
  const named = wanted === undefined ? undefined : parseInstanceName(wanted);
  // Users who may not list instances can still name one.
  if (named?.namespace !== undefined) return [{ namespace: named.namespace, name: named.name }];
  return chosenFrom(await target.instances(), wanted, target);
}

/** The same from these instances. @throws CommandError if there is none */
export function chosenFrom<T extends ObjectName>(
  all: readonly T[],
  wanted: string | undefined,
  { where }: Pick<KnownInstances, "where">,
): readonly T[] {
  const named = wanted === undefined ? undefined : parseInstanceName(wanted);
  const fitting = all.filter(
    ({ namespace, name }) =>
      named === undefined || (named.name === name && (named.namespace ?? namespace) === namespace),
  );
  if (fitting.length > 0) return fitting;
  throw new CommandError(
    `there is no WafInstance ${wanted === undefined ? "" : `${wanted} `}${where}`,
    hintOf(all, where),
  );
}

/** The only instance that the command can use. @throws CommandError that lists the others */
export async function onlyInstance(target: KnownInstances, wanted: string | undefined): Promise<ObjectName> {
  const chosen = await chosenInstances(target, wanted);
  const [first] = chosen;
  if (first !== undefined && chosen.length === 1) return first;
  throw new CommandError(
    `there are ${chosen.length} WafInstances ${target.where}`,
    `Select one with --instance: ${listed(chosen.map(nameKey), namesShownMax)}.`,
  );
}

function hintOf(all: readonly ObjectName[], where: string): string {
  if (all.length > 0) return `Available instances: ${listed(all.map(nameKey), namesShownMax)}.`;
  if (where.startsWith("in folder")) return "Declare one in it, or set -f to another folder.";
  return "Set -n NAMESPACE or --instance NAMESPACE/NAME; `kubectl get wafinstances -A` lists all of them.";
}

/**
 * The options that select the same target, for the commands that hints suggest: `-f waf/ ` or `--context staging `, with a space at
 * the end; empty for the current context.
 */
export function targetWords(options: TargetOptions): string {
  const { from, state, kubeconfig, context, allowInsecureHttp, allowedBaseUrls } = options;
  const words: string[] = [];
  if (from !== undefined) words.push("-f", quoted(from));
  if (state !== undefined) words.push("--state", quoted(state));
  if (kubeconfig !== undefined) words.push("--kubeconfig", quoted(kubeconfig));
  if (context !== undefined) words.push("--context", quoted(context));
  if (allowedBaseUrls !== undefined) words.push("--allowed-base-urls", quoted(allowedBaseUrls));
  if (allowInsecureHttp) words.push("--allow-insecure-http");
  return words.map((word) => `${word} `).join("");
}

/**
 * The same for a suggested command that calls the WAF although this one did not: with a folder, it may have to allow `http://`.
 */
export function planningWords(
  options: TargetOptions,
  { baseUrl = "" }: { readonly baseUrl?: string | undefined },
): string {
  const allowInsecureHttp = options.allowInsecureHttp || (options.from !== undefined && baseUrl.startsWith("http://"));
  return targetWords({ ...options, allowInsecureHttp });
}

/** For a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Accepts `NAME`, without a namespace, or `NAMESPACE/NAME`. @throws CommandError if the text is neither */
export function parseInstanceName(text: string): Pick<ObjectName, "name"> & Partial<ObjectName> {
  const [first = "", second, ...more] = text.split("/");
  const parsed: ReturnType<typeof parseInstanceName> =
    second === undefined ? { name: first } : { namespace: first, name: second };
  const isNamespace = parsed.namespace === undefined || isNameOfNamespace(parsed.namespace);
  if (more.length === 0 && isNamespace && isNameOfObject(parsed.name)) return parsed;
  throw new CommandError(
    `--instance ${text} is not the name of an instance`,
    "Write NAME or NAMESPACE/NAME, for example --instance shop/shop.",
  );
}
