// Blocked requests of attackers: markup in every string, in all forms that have worked in browsers.
import type { LogEntry } from "../../../src/model/log-entry.ts";
import { row } from "../fakes/scripted-logs.ts";

/** Each sets `window.hit` if a browser runs it. */
export const attacks: readonly string[] = [
  "<script>window.hit=1</script>",
  "</script><script>window.hit=1</script>",
  "</style></title></svg></pre><img src=x onerror=window.hit=1>",
  '"><svg onload=window.hit=1>',
  "'><iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
  "--><a href=javascript:window.hit=1 autofocus onfocus=window.hit=1>",
  "]]><svg><script>window.hit=1</script></svg>",
  "&lt;script&gt;window.hit=1&lt;/script&gt;",
  "&#60;img src=x onerror=window.hit=1&#62;",
  "${window.hit=1}{{window.hit=1}}{a|x}",
  "<style>@import 'http://127.0.0.1:9/x.css'</style>",
  "<link rel=stylesheet href=http://127.0.0.1:9/x.css>",
  "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
  "<base href=http://127.0.0.1:9/><form action=/x>",
  "\u{0}<scr\u{0}ipt>window.hit=1</script>",
  "\u{202E}tpircs\u{2066}<b>",
  "\u{D800}<b>\u{DFFF}",
  "line\r\nbreak\u{2028}<b>",
  "\u{1B}]0;window.hit\u{7}\u{1B}[2J\u{9B}31m\u{1B}]8;;http://127.0.0.1:9/\u{7}link",
  "\u{200F}\u{2067}rtl\u{2069}\u{200B}\u{FEFF}\u{E0041}",
  `${"<b>x".repeat(25_000)}<script>window.hit=1</script>`,
];

/** Every attack in every string of an entry. */
export function hostileRows(timestamp: string): LogEntry[] {
  return attacks.map((attack) =>
    row(`/${attack}`, {
      timestamp,
      client_ip: attack,
      http_method: attack,
      referrer: attack,
      user_agent: attack,
      block_reason: `${attack} 1`,
      country: attack,
    }),
  );
}
