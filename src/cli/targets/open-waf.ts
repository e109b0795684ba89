// Opens a WAF for a command. Every call takes turns with the other processes on this machine that use the same API key.
import { readFile } from "node:fs/promises";
import { baseUrlObjection } from "../../app/base-url-policy.ts";
import { type CallWaf, WafClients } from "../../app/waf-clients.ts";
import { readEnvironment } from "../../app/config.ts";
import { machineLocks } from "../../app/machine-locks.ts";
import { realClock } from "../../async/clock.ts";
import { type ApiKey, validateApiKey } from "../../model/api-key.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import type { RemoteState } from "../../source/directory/remote-state.ts";
import type { Permission } from "../../waf/client.ts";
import type { WafFault } from "../../model/waf-result.ts";
import type { KeyLocks } from "../../waf/lane.ts";
import { connectTo } from "../../waf/lane-registry.ts";
import { CommandError } from "../describe-error.ts";
import type { Session } from "../session.ts";
import { terminalOn } from "../terminal.ts";
import { type TargetOptions, policyOf } from "./target-options.ts";

/** How a command calls a WAF. */
export interface WafWork {
  /** Shown by other processes that wait for this one. */
  readonly command: string;
  readonly requestTimeoutMs: number;
  /** By default, all writes are refused. */
  readonly writes?: boolean;
}

/** The clients of a command, which are closed when it ends. */
export function clientsFor(
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
export async function readApiKey(file: string | undefined): Promise<ApiKey> {
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
