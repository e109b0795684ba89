// Resolves the host of a connection once and checks every returned address. The socket connects to one of these addresses, so a
// DNS response that changes after the check has no effect. Node.js looks up only names: callers that open connections must also
// call `refusedLiteral` for hosts that are addresses.
import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns";
import { isIP } from "node:net";
import type { LookupFunction } from "node:net";

/** The error code of a connection that the policy rejects. */
export const addressRefused = "ADDRESS_REFUSED";

export type AllowAddress = (address: string) => boolean;

/** Calls back with all addresses of a host, in the order in which to try them, like `dns.lookup` of Node.js. */
export type ResolveHost = (
  host: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

/** The `lookup` option of `net.connect` and `tls.connect`. One rejected address rejects the host. */
export function createCheckedLookup(isAllowed: AllowAddress, resolve: ResolveHost = lookup): LookupFunction {
  return (host, { all, family }, callback) => {
    resolve(host, { all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "");
      const wanted = addresses.filter((one) => !family || one.family === family || `IPv${one.family}` === family);
      const [first] = wanted;
      if (first === undefined) return callback(coded("ENOTFOUND", "The host has no address."), "");
      if (!addresses.every(({ address }) => isAllowed(address))) return callback(refusal(), "");
      return all === true ? callback(null, [...wanted]) : callback(null, first.address, first.family);
    });
  };
}

/** The error for a host that is a rejected address. Undefined for names, which the lookup checks. */
export function refusedLiteral(host: string, isAllowed: AllowAddress): NodeJS.ErrnoException | undefined {
  const address = host.replace(/^\[(.*)\]$/, "$1");
  return isIP(address) !== 0 && !isAllowed(address) ? refusal() : undefined;
}

function refusal(): NodeJS.ErrnoException {
  return coded(addressRefused, "The host has an address that is not on the public Internet.");
}

function coded(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}
