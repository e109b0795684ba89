// The response of an endpoint: a status and a JSON body, before a fault changes it.
import { randomInt } from "node:crypto";
import type { SimulatedWaf } from "./simulated-waf.ts";
import type { SimulatorSettings } from "./simulator-world.ts";

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request with a valid key and all required parameters. */
export interface Call {
  readonly waf: SimulatedWaf;
  readonly parameters: ReadonlyMap<string, string>;
  readonly settings: SimulatorSettings;
  readonly nowMs: number;
}

export type Handler = (call: Call) => Answer;

/** The value of a parameter that the table of endpoints requires. */
export function requiredParameter(call: Call, name: string): string {
  const value = call.parameters.get(name);
  if (value === undefined) throw new TypeError(`the endpoint's table does not require ${name}`);
  return value;
}

/** 200 with the domain, and a message where the contract has one. */
export function accepted(waf: SimulatedWaf, message?: string): Answer {
  return { status: 200, body: { success: true, domain: waf.domain, ...(message === undefined ? {} : { message }) } };
}

/**
 * The API's words are free, so no program may depend on them: each refusal has a random one of these messages, whatever its cause.
 */
const refusalMessages = [
  "The request could not be processed",
  "Origin or IP exists already",
  "No DNS record exists for this host",
  "Not found",
  "Value rejected",
  "duplicate or invalid",
] as const;

/** 400 with the domain: the request was understood and refused. */
export function refused(waf: SimulatedWaf): Answer {
  const message = refusalMessages[randomInt(refusalMessages.length)];
  waf.counters.refusals += 1;
  return { status: 400, body: { success: false, domain: waf.domain, message } };
}

/** A failure without a domain. */
export function failed(status: number, message: string): Answer {
  return { status, body: { success: false, message } };
}
