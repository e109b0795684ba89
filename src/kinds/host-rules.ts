// Validation of hosts and base URLs. Each rule exists as CEL for admission and as an equivalent function.
import { isIPv4, isIPv6 } from "node:net";
import * as z from "zod";
import { matchRule } from "./schema-parts.ts";
import { type SchemaRule, celText, withRules } from "./schema-rules.ts";

const label = "[a-zA-Z0-9_]([-a-zA-Z0-9_]{0,61}[a-zA-Z0-9_])?";
const dnsName = `${label}(\\.${label})*`;
/** A name with a numeric last label is probably a mistyped IPv4 address. */
const numberAtEnd = "(^|\\.)([0-9]+|0[xX][0-9a-fA-F]*)\\.?$";

const dnsNamePattern = `^${dnsName}\\.?$`;
const dnsNameExpression = new RegExp(dnsNamePattern, "u");
const numberAtEndExpression = new RegExp(numberAtEnd, "u");

/** Whether the string is an address as CEL's `isIP` defines it: no zone, and no IPv4-mapped IPv6 address. */
function isAddress(text: string): boolean {
  if (isIPv4(text)) return true;
  // The first call of `isIPv6` compiles a large expression in Node.js, so it is called only for candidates.
  if (!text.includes(":") || text.includes("%") || !isIPv6(text)) return false;
  const canonical = new URL(`http://[${text}]`).hostname;
  return !/^\[::ffff:[0-9a-f]{1,4}:[0-9a-f]{1,4}\]$/u.test(canonical);
}

const hostRule: SchemaRule<string> = {
  cel: `isIP(self) || (self.matches(${celText(dnsNamePattern)}) && !self.matches(${celText(numberAtEnd)}))`,
  message:
    "write only the host, a DNS name or an IP address, for example origin.example.com or 192.0.2.7: no scheme, port or path",
  holds: (text) => isAddress(text) || (dnsNameExpression.test(text) && !numberAtEndExpression.test(text)),
};

/** A DNS name or an IP address. */
export const host = withRules(z.string().min(1).max(253), [hostRule]);

/** A URL whose host a browser takes for an IPv4 address, and one whose host is an IPv4 address: 256.1.1.1 is neither an address nor a name. */
const numberAtEndOfHost = "^[^:]+://([^/?]*\\.)?([0-9]+|0[xX][0-9a-fA-F]*)\\.?(:[0-9]+)?([/?]|$)";
const octet = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const addressAsHost = `^[^:]+://${octet}(\\.${octet}){3}(:[0-9]+)?([/?]|$)`;

/** Checks the port and a numeric host. Admits what does not match the pattern, which has its own rule. */
function urlRule(pattern: string): SchemaRule<string> {
  const matches = (text: string, expression: string): boolean => new RegExp(expression, "u").test(text);
  return {
    cel: `!self.matches(${celText(pattern)}) || (isURL(self) && (url(self).getPort() == '' || int(url(self).getPort()) <= 65535) && (!self.matches(${celText(numberAtEndOfHost)}) || self.matches(${celText(addressAsHost)})))`,
    message: "write a port of at most 65535 and a host that is a DNS name or an IP address",
    holds: (text) =>
      !matches(text, pattern) ||
      (URL.canParse(text) && (!matches(text, numberAtEndOfHost) || matches(text, addressAsHost))),
  };
}

const urlPattern = `^[hH][tT][tT][pP][sS]?://(${dnsName}\\.?|\\[[0-9a-fA-F:.]+\\])(:[0-9]{1,5})?(/[-a-zA-Z0-9_~][-a-zA-Z0-9_~.]*)*/?$`;

/** An http or https URL to which paths can be appended. The operator decides whether http is allowed. */
export const baseUrl = withRules(z.string().min(1).max(2048), [
  matchRule(
    urlPattern,
    "write an https URL such as https://waf.example.com or https://waf.example.com/management: a host, optionally a port and a path, but no user, password, query or fragment",
  ),
  urlRule(urlPattern),
]);

const webUrlPattern = `^[hH][tT][tT][pP][sS]?://(${dnsName}\\.?|\\[[0-9a-fA-F:.]+\\])(:[0-9]{1,5})?(/[-a-zA-Z0-9_~.%/!$&()*+,;=:@]*)?(\\?[-a-zA-Z0-9_~.%/?!$&()*+,;=:@]*)?$`;

/** An http or https URL of one document, optionally with a query. The operator decides whether http is allowed. */
export const webUrl = withRules(z.string().min(1).max(2048), [
  matchRule(
    webUrlPattern,
    "write an https URL such as https://lists.example.com/drop.txt: without a user, password or fragment",
  ),
  urlRule(webUrlPattern),
]);
