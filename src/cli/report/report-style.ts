// How a report looks, in light and in dark. The charts take their colours from here too.

const reportStyle = `
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
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 32px 20px; display: grid; gap: 20px; grid-template-columns: minmax(0, 1fr); }
h1 { margin: 0; font-size: 26px; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 0 0 12px; font-size: 17px; }
p { margin: 0; }
.quiet { color: var(--quiet); }
section, .tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; min-width: 0; }
.pair { display: grid; gap: 20px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
.tiles { display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); margin: 0; }
.tile { padding: 12px 16px; }
.tile dt { color: var(--quiet); font-size: 13px; }
.tile dd { margin: 0; font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.warnings { border-color: var(--open); }
.warnings ul { margin: 0; padding-left: 20px; }
figure { margin: 0; overflow-x: auto; }
figure svg { display: block; width: 100%; height: auto; }
figure svg { min-width: 400px; }
figure + .quiet { margin-top: 8px; }
figure.wide svg { min-width: 640px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 10px 0 0; padding: 0; list-style: none; font-size: 14px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 7px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-size: 13px; font-weight: 600; color: var(--quiet); white-space: nowrap; }
th, td { padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.address, .path, pre { font-family: ui-monospace, monospace; font-size: 13px; }
.address, .time { white-space: nowrap; }
.path, .words { overflow-wrap: anywhere; width: 70%; }
.number + :not(.number) { padding-left: 20px; }
.mark { border-radius: 999px; padding: 1px 10px; font-size: 13px; white-space: nowrap; }
.listed { color: var(--good); background: var(--good-back); }
.open { color: var(--open); background: var(--open-back); }
.head { display: flex; justify-content: space-between; gap: 12px; align-items: start; }
button { font: inherit; color: var(--accent); background: none; border: 1px solid currentColor; border-radius: 8px; padding: 4px 14px; cursor: pointer; white-space: nowrap; }
pre { margin: 12px 0 0; padding: 12px 14px; background: var(--page); border: 1px solid var(--line); border-radius: 8px; overflow-x: auto; max-height: 420px; }
@media print { body { background: none; } section, .tile { break-inside: avoid; } button { display: none; } }
`;

export const styleElement = `<style>${reportStyle}</style>`;
