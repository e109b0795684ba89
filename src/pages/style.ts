// The style sheet of all pages, for light and dark mode, and for wide and narrow screens.

export const pageStyle = `
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --card: #ffffff; --text: #1c2430; --quiet: #566170; --line: #dfe3e9; --accent: #1f5fbf;
  --good: #13703f; --good-back: #dff3e7; --bad: #a3232c; --bad-back: #fbe3e4; --open: #8a440a; --open-back: #fdeedd;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c; --card: #1b212a; --text: #e6eaf0; --quiet: #a3aebc; --line: #323b48; --accent: #82b1ff;
    --good: #7fdcaa; --good-back: #173527; --bad: #ff9ea3; --bad-back: #452026; --open: #f5b676; --open-back: #3d2a16;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
a { color: var(--accent); text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 12px; top: 8px; background: var(--card); padding: 6px 10px; }
.bar { background: var(--card); border-bottom: 1px solid var(--line); }
.bar > div { max-width: 1200px; margin: 0 auto; padding: 10px 20px; display: flex; flex-wrap: wrap; gap: 8px 20px; align-items: center; justify-content: space-between; }
.brand { font-weight: 700; color: var(--text); text-decoration: none; }
.brand span { font-weight: 400; color: var(--quiet); overflow-wrap: anywhere; }
form { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
section > form { margin-bottom: 10px; }
label { color: var(--quiet); font-size: 14px; }
input, button { font: inherit; color: var(--text); background: var(--page); border: 1px solid #7d8795; border-radius: 8px; padding: 4px 10px; min-height: 34px; max-width: 100%; }
button { color: var(--accent); font-weight: 600; cursor: pointer; }
main { max-width: 1200px; margin: 0 auto; padding: 22px 20px 40px; display: grid; gap: 18px; grid-template-columns: minmax(0, 1fr); }
h1 { margin: 0; font-size: 24px; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 0 0 10px; font-size: 17px; overflow-wrap: anywhere; }
p, li, dd { overflow-wrap: anywhere; }
p { margin: 0; }
p + p, ul + p, p + pre, pre + p, pre + button, table + p, .scroll + p { margin-top: 8px; }
ul { margin: 0; padding-left: 20px; }
.quiet { color: var(--quiet); }
h2 + .quiet { margin-bottom: 8px; }
section, .tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px 18px; min-width: 0; }
.tiles { display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); margin: 0; }
.tile { padding: 10px 14px; }
.tile dt { color: var(--quiet); font-size: 13px; }
.tile dd { margin: 0; font-size: 21px; font-weight: 600; font-variant-numeric: tabular-nums; }
.warning { border-color: var(--open); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-size: 13px; font-weight: 600; color: var(--quiet); }
th, td { padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child > * { border-bottom: 0; }
tbody th { font-size: 15px; font-weight: 400; color: var(--text); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
@media (min-width: 701px) { .number + :not(.number) { padding-left: 12px; } td:not(.text) .mark { white-space: nowrap; } }
.time { white-space: nowrap; font-variant-numeric: tabular-nums; }
.address, .path, .words, .text, .name { overflow-wrap: anywhere; }
.address, .text { min-width: 9em; }
.name { min-width: 14em; }
.words { min-width: 13em; }
th.path, th.words { width: 50%; min-width: 12em; }
code, pre, tbody .address, tbody .path { font-family: ui-monospace, monospace; font-size: 13px; }
pre { margin: 0; padding: 12px 14px; background: var(--page); border: 1px solid var(--line); border-radius: 8px; overflow: auto; max-height: 420px; white-space: pre-wrap; overflow-wrap: anywhere; }
.copies { display: none; min-height: 0; padding: 0 8px; font-size: 13px; }
.scripted .copies { display: inline-block; }
code.copy { user-select: all; overflow-wrap: anywhere; }
code.copy span { display: inline-block; max-width: 100%; }
.mark { border-radius: 10px; padding: 1px 10px; font-size: 13px; display: inline-block; }
.good { color: var(--good); background: var(--good-back); }
.bad { color: var(--bad); background: var(--bad-back); }
.open { color: var(--open); background: var(--open-back); }
.lost-note { display: none; }
.lost .lost-note { display: block; }
@media (max-width: 700px) {
  .bar > div, main { padding-left: 12px; padding-right: 12px; }
  section { padding: 14px 12px; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .tile dd { font-size: 18px; }
  form input { flex: 1 1 160px; }
  .name, .words, th.path, th.words { min-width: 8em; }
  .cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .cards, .cards tbody { display: block; }
  .cards tbody tr { display: grid; grid-template-columns: 1fr 1fr; gap: 0 14px; padding: 8px 0; border-bottom: 1px solid var(--line); }
  .cards tbody tr:last-child { border-bottom: 0; }
  .cards tbody th, .cards tbody td { display: flex; gap: 8px; border: 0; padding: 1px 0; text-align: left; white-space: normal; min-width: 0; width: auto; }
  .cards tbody th, .cards td.time, .cards td.words, .cards td.text, .cards td:has(.mark) { grid-column: 1 / -1; }
  .cards td::before { content: attr(data-label); color: var(--quiet); flex: none; font: 13px/1.7 system-ui, sans-serif; }
  .cards td.words::before { content: none; }
  .cards td:has(> span:empty) { display: none; }
  .cards span { min-width: 0; }
}
@media print { body { background: none; } .bar form, button { display: none; } section, .tile { break-inside: avoid; } .scroll, pre { max-height: none; } }
`;
