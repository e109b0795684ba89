// Spellings of entries with the expected result. `admitted` is the result of Kubernetes' isIP(self) || isCIDR(self), so
// that a test against a real API server can ask the same questions.
import type { EntryFaultCode } from "../../../src/address/entry-fault.ts";

export interface Verdict {
  readonly text: string;
  readonly admitted: boolean;
  readonly expected: { readonly entry: string } | { readonly code: EntryFaultCode; readonly instead: string };
}

function accepted(text: string, entry: string = text): Verdict {
  return { text, admitted: true, expected: { entry } };
}

/** `instead` is the part of the message that says what to write instead. */
function refused(text: string, code: EntryFaultCode, instead: string): Verdict {
  return { text, admitted: code === "HostBits", expected: { code, instead } };
}

export const verdicts: readonly Verdict[] = [
  accepted("192.0.2.1"),
  accepted("192.0.2.1/32", "192.0.2.1"),
  accepted("10.0.0.0/8"),
  accepted("0.0.0.0"),
  accepted("0.0.0.0/0"),
  accepted("255.255.255.255"),
  accepted("::"),
  accepted("::/0"),
  accepted("::1"),
  accepted("2001:db8::/32"),
  accepted("2001:DB8::A", "2001:db8::a"),
  accepted("2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"),
  accepted("2001:0db8:0000:0000:0000:0000:0000:0001/128", "2001:db8::1"),
  accepted("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
  accepted("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
  accepted("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
  accepted("::1.2.3.4", "::102:304"),
  accepted("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
  accepted("fe80::1"),

  refused("", "Empty", "write an address such as 192.0.2.1, or remove the item"),
  refused("  ", "Empty", "write an address such as 192.0.2.1, or remove the item"),
  refused("10.1.2.3/8", "HostBits", "write 10.0.0.0/8 for the network, or 10.1.2.3 for the one address"),
  refused("2001:db8::1/32", "HostBits", "write 2001:db8::/32 for the network, or 2001:db8::1 for the one address"),
  refused("192.0.2.1/0", "HostBits", "write 0.0.0.0/0 for the network, or 192.0.2.1 for the one address"),
  refused("010.1.1.1", "LeadingZeros", "write 10.1.1.1 if it is decimal"),
  refused("010.001.000.000/16", "LeadingZeros", "write 10.1.0.0/16 if it is decimal"),
  refused("::ffff:1.2.3.4", "MappedIPv4", "write 1.2.3.4"),
  refused("::FFFF:102:304", "MappedIPv4", "write 1.2.3.4"),
  refused("::ffff:10.0.0.0/104", "MappedIPv4", "write 10.0.0.0/8"),
  refused("::ffff:0:0/95", "MappedIPv4", "write an IPv4 network, such as 192.0.2.0/24"),
  refused("fe80::1%eth0", "ZoneId", "write a routable address"),
  refused(" 192.0.2.1", "WhiteSpace", "write it without"),
  refused("192.0.2.1\n", "WhiteSpace", "write it without"),
  refused("192.0.2.0 /24", "WhiteSpace", "write it without"),
  refused("192.0.2.1 192.0.2.2", "WhiteSpace", "write one address for each item"),
  refused("192.0.2.1 - 192.0.2.2", "WhiteSpace", "indent all items of the list alike"),
  refused("192.0.2.1 # office", "WhiteSpace", "write one address for each item"),
  refused("10.1", "ShortIPv4", "write four decimal numbers, such as 192.0.2.1"),
  refused("127.1", "ShortIPv4", "write four decimal numbers"),
  refused("0x7f.1", "ShortIPv4", "write four decimal numbers"),
  refused("0x7f.0.0.0x1", "ShortIPv4", "write four decimal numbers"),
  refused("2130706433", "ShortIPv4", "write four decimal numbers"),
  refused("10/8", "ShortIPv4", "write four decimal numbers"),
  refused("192.0.2.0/024", "PrefixLength", "write 192.0.2.0/24"),
  refused("10.0.0.0/08", "PrefixLength", "write 10.0.0.0/8"),
  refused("10.0.0.0/33", "PrefixLength", "a number from 0 to 32"),
  refused("2001:db8::/129", "PrefixLength", "a number from 0 to 128"),
  refused("10.0.0.0/", "PrefixLength", "a number from 0 to 32"),
  refused("10.0.0.0/-1", "PrefixLength", "a number from 0 to 32"),
  refused("10.0.0.0/+8", "PrefixLength", "a number from 0 to 32"),
  refused("10.0.0.0/8/8", "PrefixLength", "a number from 0 to 32"),
  refused("10.1.2.3/255.0.0.0", "Netmask", "write 10.0.0.0/8"),
  refused("192.0.2.1-192.0.2.9", "Range", "write the networks that cover it"),
  refused("192.0.2.1-9", "Range", "write the networks that cover it"),
  refused("10.1.*.*", "Wildcard", "such as 10.1.0.0/16"),
  refused("192.0.2.1:443", "Port", "write 192.0.2.1"),
  refused("[2001:db8::1]:443", "Port", "write 2001:db8::1"),
  refused("[2001:db8::1]", "Port", "write 2001:db8::1"),
  refused("https://192.0.2.1/admin", "Url", "write 192.0.2.1"),
  refused("https://192.0.2.1:8443/", "Url", "write 192.0.2.1"),
  refused("https://www.example.com", "Url", "write the addresses themselves"),
  refused("www.example.com/path", "Url", "write the addresses themselves"),
  refused("www.example.com", "HostName", "write the addresses that it stands for"),
  refused("localhost", "HostName", "write the addresses that it stands for"),
  refused("256.1.1.1", "NotAnAddress", "write four numbers of at most 255 each"),
  refused("1.2.3.4.5", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"),
  refused("1.2.3.", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"),
  refused("1:2:3:4:5:6:7", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"),
  refused("1::2::3", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"),
  refused("12345::", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"),
  refused("::010.1.1.1", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"),
  refused("１92.0.2.1", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"),
  refused("deadbeef", "NotAnAddress", "write an address such as 192.0.2.1 or 2001:db8::1"),
];
