// Converts network errors into faults of a feed. For internal networks, the fault reveals only that they are not allowed: the
// author of a feed must not be able to scan for open ports.
import { addressRefused } from "../../net/checked-lookup.ts";
import { deadlineCode } from "./deadline.ts";
import type { FetchFault } from "../../plan/feeds/fetched-text.ts";
import { bodyTooLarge, bodyTruncated } from "./decoded-body.ts";

export interface FaultContext {
  /** `https://host`, for messages. */
  readonly origin: string;
  readonly timeoutMs: number;
  readonly bytesMax: number;
  /** Whether the connection was made to a public address. */
  readonly isPublicOnly: boolean;
}

/** @param hasAnswer whether the status has arrived, so that the failure concerns the body */
export function networkFault(error: unknown, hasAnswer: boolean, context: FaultContext): FetchFault {
  const code = codeOf(error);
  if (code === deadlineCode) {
    const message = `${context.origin} did not send a complete response within ${Math.round(context.timeoutMs / 1000)} s.`;
    return { code: "TimedOut", message };
  }
  if (code === bodyTooLarge) {
    const limit = `${Math.floor(context.bytesMax / 2 ** 20)} MiB`;
    return { code: "TooLarge", message: `The response of ${context.origin} is larger than ${limit}.` };
  }
  if (hasAnswer || code === bodyTruncated) {
    const message = `The response of ${context.origin} is incomplete. Rules continue to use the last good content.`;
    return { code: "Truncated", message };
  }
  return unreachable(code, context);
}

function unreachable(code: string, { origin, isPublicOnly }: FaultContext): FetchFault {
  if (code === addressRefused || code === "ENOTFOUND" || code === "EAI_AGAIN" || !isPublicOnly) {
    const reason = isPublicOnly
      ? "the host has no address, or one that is not on the public Internet, which requires --allow-private-feeds"
      : "check the URL, the certificate and the network";
    return { code: "Unreachable", message: `Cannot connect to ${origin}: ${reason}.` };
  }
  const hint = /CERT|TLS|SSL/u.test(code) ? "check the certificate of the server" : "check the URL and the network";
  return { code: "Unreachable", message: `Cannot connect to ${origin} (${code}): ${hint}.` };
}

function codeOf(error: unknown): string {
  const code: unknown = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[A-Z0-9_]{1,60}$/u.test(code) ? code : "network error";
}
