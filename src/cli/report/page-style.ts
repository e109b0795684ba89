// The style sheet of a report, for light and dark mode. The charts use these colors, too.

/** The exact content of a `<style>` element, whose hash is in the content security policy. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --card: #ffffff; --text: #1c2430; --quiet: #5b6675; --line: #dfe3e9;
  --accent: #1f5fbf; --good: #13703f; --good-back: #dff3e7; --open: #94490b; --open-back: #fdeedd;
  --series-1: #2f6fd0; --series-2: #d9822b; --series-3: #2a9d78; --series-4: #b9487c; --series-5: #7a5fc7;
  --series-6: #c2a21c; --series-other: #98a2af;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c; --card: #1b212a; --text: #e6eaf0; --quiet: #9aa6b5; --line: #323b48;
    --accent: #82b1ff; --good: #7fdcaa; --good-back: #173527; --open: #f5b676; --open-back: #3d2a16;
    --series-1: #6ba1f2; --series-2: #eea45b; --series-3: #58c4a0; --series-4: #e07fac; --series-5: #a794ea;
    --series-6: #dcc456; --series-other: #6d7887;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 32px 20px; display: grid; gap: 20px; grid-template-columns: minmax(0, 1fr); }
h1 { margin: 0; font-size: 26px; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 0 0 12px; font-size: 17px; }
h3 { margin: 12px 0 6px; font-size: 15px; }
p { margin: 0; }
a { color: var(--accent); }
a:focus-visible, button:focus-visible, summary:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.quiet { color: var(--quiet); }
section, .tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; min-width: 0; }
section > .quiet { margin-bottom: 8px; }
.pair { display: grid; gap: 20px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
.tiles { display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); margin: 0; }
.tile { padding: 12px 16px; }
.tile dt { color: var(--quiet); font-size: 13px; }
.tile dd { margin: 0; font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.tile .quiet { font-size: 13px; font-weight: 400; }
.warnings { border-color: var(--open); }
.warnings ul { margin: 0; padding-left: 20px; }
figure { margin: 0; }
figure svg { display: block; width: 100%; height: auto; }
figure svg text { font: 13px system-ui, sans-serif; }
figure .narrow { display: none; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 10px 0 0; padding: 0; list-style: none; font-size: 14px; }
.legend li { overflow-wrap: anywhere; min-width: 0; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 7px; }
.series-1 { background: var(--series-1); } .series-2 { background: var(--series-2); } .series-3 { background: var(--series-3); }
.series-4 { background: var(--series-4); } .series-5 { background: var(--series-5); } .series-6 { background: var(--series-6); }
.series-other { background: var(--series-other); }
details > summary { color: var(--accent); cursor: pointer; width: fit-content; max-width: 100%; overflow-wrap: anywhere; }
figure + .quiet, figure + .legend + details, figure + details { margin-top: 10px; }
.scroll { overflow: auto; max-height: 420px; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-size: 13px; font-weight: 600; color: var(--quiet); }
dd, li, summary, .quiet, .address, .path, .words, .text { overflow-wrap: anywhere; }
th, td { padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.address, .path, pre { font-family: ui-monospace, monospace; font-size: 13px; }
.time { white-space: nowrap; }
.address, .text { min-width: 9em; }
.path, .words { width: 60%; min-width: 12em; }
.number + :not(.number) { padding-left: 20px; }
.mark { border-radius: 999px; padding: 1px 10px; font-size: 13px; }
.listed { color: var(--good); background: var(--good-back); }
.open { color: var(--open); background: var(--open-back); }
.head { display: flex; justify-content: space-between; gap: 12px; align-items: start; }
button { font: inherit; color: var(--accent); background: none; border: 1px solid currentColor; border-radius: 8px; padding: 4px 14px; cursor: pointer; white-space: nowrap; }
pre { margin: 12px 0 0; padding: 12px 14px; background: var(--page); border: 1px solid var(--line); border-radius: 8px; overflow: auto; max-height: 420px; }
@media (max-width: 700px) {
  main { padding: 20px 12px; gap: 14px; }
  section { padding: 14px; }
  h1 { font-size: 22px; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .tile dd { font-size: 18px; }
  figure .wide { display: none; } figure .narrow { display: block; }
  .head { flex-wrap: wrap; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  table.data, .data thead, .data tbody, .data tr, .data th, .data td { display: block; width: auto; }
  .data thead tr { display: flex; flex-wrap: wrap; gap: 4px 16px; padding-bottom: 8px; border-bottom: 1px solid var(--line); }
  .data thead th, .data thead th.number + :not(.number) { border: 0; padding: 0; }
  .data tbody tr { display: grid; grid-template-columns: 1fr 1fr; gap: 0 14px; padding: 8px 0; border-bottom: 1px solid var(--line); }
  .data tbody tr:last-child { border-bottom: 0; }
  .data td, .data td.number + :not(.number) { display: flex; gap: 8px; border: 0; padding: 1px 0; text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 0; width: auto; }
  .data td.time, .data td.address, .data td.path, .data td.words, .data td:last-child { grid-column: 1 / -1; }
  .data td::before { content: attr(data-label); color: var(--quiet); flex: none; font: 13px/1.7 system-ui, sans-serif; }
  .data td.address::before, .data td.path::before, .data td.words::before { content: none; }
  .data td > span { min-width: 0; }
}
@media print { body { background: none; } section, .tile { break-inside: avoid; } button { display: none; } .scroll, pre { max-height: none; } }
`;
