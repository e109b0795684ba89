// Recognizes IPv4 addresses and networks in canonical form, which nearly all lists use: such a string is its own
// entry. All other strings must be parsed, which takes ten times as long.

const dotCode = 46;
const slashCode = 47;
const zeroCode = 48;
const nineCode = 57;

const octetMax = 255;
const prefixLengthMax = 32;
/** The lengths of `0.0.0.0` and `255.255.255.255/31`. */
const lengthMin = 7;
const lengthMax = 18;

/** True only if `parseDeclaredEntry` and `readObservedEntry` both read the string as an entry with the same spelling. */
export function isCanonicalIpv4(text: string): boolean {
  if (text.length < lengthMin || text.length > lengthMax) return false;
  let address = 0;
  let octet = 0;
  let digits = 0;
  let dots = 0;
  let index = 0;
  for (; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code >= zeroCode && code <= nineCode) {
      octet = octet * 10 + (code - zeroCode);
      digits += 1;
      // No leading zero, and no fourth digit.
      if (octet > octetMax || digits > 3 || (digits === 2 && octet < 10)) return false;
    } else if (code === dotCode) {
      dots += 1;
      if (digits === 0 || dots > 3) return false;
      address = address * 256 + octet;
      octet = 0;
      digits = 0;
    } else break;
  }
  if (dots !== 3 || digits === 0) return false;
  if (index === text.length) return true;
  return text.charCodeAt(index) === slashCode && isPrefixLength(text, index + 1, address * 256 + octet);
}

/** One or two digits without a leading zero, below 32, and long enough for the address. */
function isPrefixLength(text: string, start: number, address: number): boolean {
  const first = text.charCodeAt(start) - zeroCode;
  if (!(first >= 0 && first <= 9)) return false;
  let length = first;
  if (text.length === start + 2) {
    const second = text.charCodeAt(start + 1) - zeroCode;
    if (first === 0 || second < 0 || second > 9) return false;
    length = first * 10 + second;
  } else if (text.length !== start + 1) return false;
  return length < prefixLengthMax && address % 2 ** (prefixLengthMax - length) === 0;
}
