// The ways into the work of a command: on a folder or a cluster, or on one WAF. Modules that only one kind of target needs are loaded
// on demand.
import { baseUrlObjection } from "../../app/base-url-policy.ts";
import type { ReadingWaf } from "../../app/waf-clients.ts";
import type { WafClient } from "../../waf/client.ts";
import type { LogSourceOptions } from "../commands/waf-commands.ts";
import { CommandError } from "../describe-error.ts";
import { type Session, withSession } from "../session.ts";
import { type WafWork, clientsFor, readApiKey } from "./open-waf.ts";
import { type TargetOptions, onlyInstance, policyOf } from "./target-options.ts";
import type { InstanceSight, Target } from "./target.ts";

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
