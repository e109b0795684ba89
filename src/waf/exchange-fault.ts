// Classifies exchanges without the documented response. The important distinction: unless it is certain that a write changed
// nothing, its outcome is unknown, and the list has to be read again.
import { excerpt } from "../model/redactor.ts";
import { asSentence, capitalized } from "../model/texts.ts";
import type { WafFault, WafFaultCode } from "../model/waf-result.ts";
import { deadlineCode } from "../async/clock.ts";
import { abortedCode, bodyTooLargeCode } from "../net/http-connection.ts";
import { parseRetryAfter } from "../net/retry-after.ts";
import { type Answered, type Broken, type Exchange, isSuccess, notTextCode } from "./request.ts";
import { failureAnswer, parseAnswer } from "./wire.ts";

/** The codes of Node's parser: the response is not valid HTTP, and a retry will not change this. */
const notHttpCode = /^HPE_/;

export type Effect = "Read" | "Write";

export interface ExchangeContext {
  readonly effect: Effect;
  /** Whether failures may have plain-text bodies: for logs, the documented bodies are sentences. */
  readonly takesPlainFailures: boolean;
  readonly redact: (text: string) => string;
  /** `https://host`, for messages. */
  readonly origin: string;
  /**
   * If true, all failed connections have the same message. Different messages would reveal to the author of a base URL which hosts
   * and ports exist in the operator's network.
   */
  readonly hidesCause: boolean;
  /** The limit for the body of a successful read. */
  readonly bodyBytesMax: number;
  readonly timeoutMs: number;
  readonly nowMs: number;
  /** The problem with the body of a 2xx response. */
  readonly problem: string | undefined;
}

/** ASCII words with single spaces: there is nothing to replace, and no Unicode pattern to compile. */
const plainLine = /^[!-~]+(?: [!-~]+)*$/;

/** Prepares an external string for one line of output: truncated, redacted, without control characters and line breaks. */
export function printable(text: string, redact: (text: string) => string): string {
  const redacted = redact(excerpt(text));
  return plainLine.test(redacted) ? redacted : redacted.replaceAll(/[\p{C}\p{Z}\s]+/gu, " ").trim();
}

/** Returns the fault of an unsuccessful exchange. */
export function faultOf(exchange: Exchange, context: ExchangeContext): WafFault {
  const { status } = exchange;
  if (status === 429) return rateLimited(exchange, context);
  if (!exchange.sent) return notSent(exchange, context);
  if (status !== undefined && status >= 500) return serverError(exchange, context);
  return exchange.text === undefined ? noBody(exchange, context) : answered(exchange, context);
}

function rateLimited({ headers }: Exchange, { nowMs }: ExchangeContext): WafFault {
  const retryAfterMs = parseRetryAfter(headers, nowMs);
  const wait = retryAfterMs === undefined ? "without saying for how long" : `for ${Math.ceil(retryAfterMs / 1000)} s`;
  const message = `The WAF asks to wait ${wait} (429).`;
  return { code: "RateLimited", message, status: 429, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function notSent({ code }: Broken, { effect, origin, timeoutMs, hidesCause }: ExchangeContext): WafFault {
  if (code === abortedCode) return { code: "Aborted", message: "The call was canceled before anything was sent." };
  if (hidesCause) return withoutConnection(origin, code);
  if (code === deadlineCode) {
    const message = `No connection to ${origin} within ${timeoutMs} ms: nothing was sent. Check the base URL and the network.`;
    return { code: effect === "Read" ? "TimedOut" : "Unavailable", message };
  }
  const message = `No connection to ${origin} (${code}): nothing was sent. ${connectionHint(code)}`;
  return { code: "Unavailable", message };
}

/** Returns the same message for every cause. */
function withoutConnection(origin: string, cause: string): WafFault {
  const inner = "Internal addresses require --allowed-base-urls or --allow-private-networks.";
  const message = `wafsync cannot connect to ${origin}. Check the host, its certificate and the network; wafsync's log contains the cause. ${inner}`;
  return { code: "Unavailable", message, cause };
}

function connectionHint(code: string): string {
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "Check the host in the base URL, and DNS.";
  if (/CERT|TLS|SSL/.test(code)) return "Check the WAF's certificate and the CAs that this machine trusts.";
  return "Check the base URL and the network.";
}

function serverError(exchange: Exchange, context: ExchangeContext): WafFault {
  const words = failureMessage(exchange, context);
  const quoted = words === undefined ? "" : `: ${words}`;
  if (context.effect === "Write")
    return unclear("ContractBroken", `the WAF answered ${exchange.status}${quoted}`, exchange, context);
  const retryAfterMs = parseRetryAfter(exchange.headers, context.nowMs);
  const message = asSentence(`The WAF answered ${exchange.status}${quoted}`);
  return { code: "Unavailable", message, ...withStatus(exchange), ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function noBody(exchange: Broken, context: ExchangeContext): WafFault {
  const { effect, origin, timeoutMs, bodyBytesMax } = context;
  const problem = (code: WafFaultCode, what: string): WafFault => unclear(code, what, exchange, context);
  switch (exchange.code) {
    case abortedCode:
      // A read changes nothing, so it does not matter whether it was in flight.
      if (effect === "Read") return { code: "Aborted", message: "The call was canceled." };
      return problem("Aborted", "the call was canceled while it waited for the response");
    case deadlineCode:
      return problem("TimedOut", `no complete response arrived within ${timeoutMs} ms`);
    case bodyTooLargeCode: {
      if (effect === "Write" || !isSuccess(exchange.status)) {
        return problem("ContractBroken", "the response is larger than any documented response");
      }
      const most = `${Math.round(bodyBytesMax / 1_048_576)} MiB`;
      return problem("TooLarge", `the response is larger than the limit of ${most} (--max-response-mib)`);
    }
    case notTextCode:
      return problem("ContractBroken", "the response is not UTF-8 text");
    default: {
      if (context.hidesCause && effect === "Read") return withoutConnection(origin, exchange.code);
      const code = notHttpCode.test(exchange.code) ? "ContractBroken" : "Unavailable";
      return problem(code, `the connection failed before the response was complete (${exchange.code})`);
    }
  }
}

function answered(exchange: Answered, context: ExchangeContext): WafFault {
  const { status } = exchange;
  const broken = (what: string): WafFault => unclear("ContractBroken", what, exchange, context);
  if (isSuccess(status)) {
    const words = failureMessage(exchange, context);
    const refusal = words === undefined ? undefined : `it reports a failure: ${words}`;
    return broken(`the response is not as documented: ${refusal ?? context.problem ?? "unknown"}`);
  }
  if (status < 400) {
    return broken(`the WAF responded with a redirect (${status}), which wafsync does not follow; check the base URL`);
  }
  const words = failureMessage(exchange, context);
  if (words === undefined) {
    return broken(`the response with status ${status} does not come from the WAF's API; check the base URL`);
  }
  if (status === 403) {
    // wafsync sends it with each call, so nothing is wrong with the key.
    if (words === "Missing parameter api_key")
      return broken(`no API key arrived (403: ${words}); look for a proxy that removes it`);
    return { code: "BadApiKey", message: `The WAF refuses the API key (403: ${words}).`, status };
  }
  if (status === 400) return { code: "Rejected", message: words, status };
  if (status === 404) {
    // Only the logs have a documented 404.
    const message = `The API has no such path (404: ${words}); check the path of the base URL.`;
    return { code: "NotFound", message: context.takesPlainFailures ? words : message, status };
  }
  return broken(`the WAF answered ${status}: ${words}`);
}

/** The API's message, ready to print; undefined if the body is not a documented failure. */
function failureMessage({ text }: Exchange, { redact, takesPlainFailures }: ExchangeContext): string | undefined {
  if (text === undefined) return undefined;
  const failure = parseAnswer(failureAnswer, text);
  if (failure.ok) return printable(failure.value.message, redact);
  const isSentence = takesPlainFailures && /^[^<{[]+$/.test(text);
  return isSentence ? printable(text, redact).replaceAll('"', "") : undefined;
}

/** `code` is for a read. A write that was sent may have taken effect, whatever is wrong with its response. */
function unclear(code: WafFaultCode, what: string, exchange: Exchange, { effect }: ExchangeContext): WafFault {
  const sentence = capitalized(what);
  return effect === "Write"
    ? {
        code: "OutcomeUnknown",
        message: `${sentence.replace(/\.$/, "")}: it is unknown whether the write took effect.`,
        ...withStatus(exchange),
      }
    : { code, message: asSentence(sentence), ...withStatus(exchange) };
}

function withStatus({ status }: Exchange): { readonly status?: number } {
  return status === undefined ? {} : { status };
}
