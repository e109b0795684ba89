// Generates the requests of the scenario `Attack`: requests of the campaigns, and of many background clients, each of which has a
// fixed country and user agent. All addresses are from networks that are reserved for documentation and benchmarks.
import { attackDay } from "./attack-day.ts";
import { campaignOf, choose } from "./attack-campaigns.ts";
import { hashNumbers } from "./seeded-hash.ts";

/** The number of background clients. Some send much more than others. */
const clientsMax = 3000;

const countries = ["US", "US", "US", "DE", "DE", "CN", "CN", "FR", "GB", "IN", "BR", "NL", "RU", "JP", "PL", "ID"];
const reasons = [
  "Bad Bot 1002",
  "Bad Bot 1002",
  "Scanner Detected 913100",
  "Protocol Violation 920350",
  "IP Blocklist 1001",
  "XSS Attack 941100",
  "Rate Limit 1015",
  "NONE",
];
const paths = [
  "/",
  "/wp-login.php",
  "/xmlrpc.php",
  "/.env",
  "/robots.txt",
  "/search?q=<script>alert(1)</script>",
  "/products?page=7",
  "/favicon.ico",
  "/api/v1/users",
  "/Überblick/naïve?emoji=😀",
];
const httpMethods = ["GET", "GET", "GET", "GET", "POST", "HEAD"];
const userAgents = [
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5",
  "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
  "Mozilla/5.0 (compatible; DataForSeoBot/1.0)",
  "curl/8.5.0",
  "Go-http-client/1.1",
  "",
];
const referrers = [null, null, null, "https://www.google.com/", "https://shop.example/cart"];

interface AttackRow {
  readonly seed: number;
  readonly day: number;
  readonly rowCount: number;
}

/** The time of the row since the start of the day. */
export function attackTimeMs(logDay: AttackRow, row: number): number {
  return momentOf(logDay, row).timeMs;
}

/** All fields of the row except its timestamp. */
export function attackFields(logDay: AttackRow, row: number) {
  const { seed, day } = logDay;
  const draw = (salt: number): number => hashNumbers(seed, day, row, salt);
  const { slot } = momentOf(logDay, row);
  const fields = slot === undefined ? backgroundFields(seed, draw) : campaignFields(seed, day, slot, draw);
  return {
    ...fields,
    http_status: fields.block_reason.startsWith("Rate Limit") ? 429 : 403,
    response_size: 150 + (draw(60) % 900),
    cache_hit: draw(61) % 200 === 0,
  };
}

function momentOf({ seed, day, rowCount }: AttackRow, row: number) {
  const share = (row + unit(hashNumbers(seed, day, row, 12))) / rowCount;
  return attackDay(seed, day).momentOf(share, unit(hashNumbers(seed, day, row, 13)));
}

function campaignFields(seed: number, day: number, slot: number, draw: (salt: number) => number) {
  const campaign = campaignOf(seed, day, slot);
  // A few hosts send most of the requests.
  const host = Math.floor(campaign.hosts * unit(draw(50)) ** 2);
  return {
    client_ip: campaign.addressOf(host),
    http_method: choose(campaign.httpMethods, draw(51)),
    request_path: choose(campaign.paths, draw(52)),
    referrer: null,
    user_agent: choose(campaign.userAgents, draw(53)),
    block_reason: choose(campaign.reasons, draw(54)),
    country: campaign.country,
  };
}

function backgroundFields(seed: number, draw: (salt: number) => number) {
  const client = Math.floor(clientsMax * unit(draw(50)) ** 2);
  const of = (salt: number): number => hashNumbers(seed, client, salt);
  const host = of(70) % 0x2_00_00;
  const isWide = of(71) % 8 === 0;
  return {
    client_ip: isWide
      ? `2001:db8:${(of(72) % 0xffff).toString(16)}::${(1 + (of(70) % 0xfffe)).toString(16)}`
      : `198.${18 + (host >>> 16)}.${(host >>> 8) & 0xff}.${host & 0xff}`,
    http_method: choose(httpMethods, draw(51)),
    request_path: choose(paths, draw(52)),
    referrer: choose(referrers, draw(55)),
    user_agent: choose(userAgents, of(73)),
    block_reason: choose(reasons, draw(54)),
    country: choose(countries, of(74)),
  };
}

/** From 0 to below 1. */
function unit(drawn: number): number {
  return drawn / 2 ** 32;
}
