// The style sheet of the report's page: light and dark by the reader's system, from 320 pixels up.
// Its colours and curves stand apart, for an SVG without a page.
#pragma once

namespace sim {

/// Names for the colours, light and dark, and the curves and grids that use them.
inline constexpr const char* kCurveStyle = R"(
:root { color-scheme: light dark; --back: #ffffff; --text: #1b1f24; --soft: #57606a;
  --line: #d0d7de; --card: #f6f8fa; --trouble: #b3261e; --gain: #1a7f37; --other: #6e7781;
  --c0: #0b62b8; --c1: #b4540a; --c2: #17774a; --c3: #9b2f85; --c4: #7d6100; --c5: #5a48c4;
  --c6: #b3262e; --c7: #4a5560; }
@media (prefers-color-scheme: dark) {
  :root { --back: #0f1419; --text: #e6e9ed; --soft: #9aa5b1; --line: #323b46; --card: #181f27;
    --trouble: #ff8a80; --gain: #6fd08c; --other: #9aa5b1;
    --c0: #6cb0f0; --c1: #f0944d; --c2: #55c48a; --c3: #e08ac8; --c4: #d9b93b; --c5: #a99cf5;
    --c6: #f27a7f; --c7: #b5c0cb; } }
.grid { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.curve { fill: none; stroke-width: 1.75; stroke-linejoin: round;
  vector-effect: non-scaling-stroke; }
.curve.s0 { stroke: var(--c0); } .curve.s1 { stroke: var(--c1); }
.curve.s2 { stroke: var(--c2); } .curve.s3 { stroke: var(--c3); }
.curve.s4 { stroke: var(--c4); stroke-dasharray: 7 3; }
.curve.s5 { stroke: var(--c5); stroke-dasharray: 7 3; }
.curve.s6 { stroke: var(--c6); stroke-dasharray: 7 3; }
.curve.s7 { stroke: var(--c7); stroke-dasharray: 7 3; }
)";

/// The rest of a page, after kCurveStyle.
inline constexpr const char* kPageStyle = R"(
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 75rem; background: var(--back);
  color: var(--text); font: 1rem/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0 0 0.25rem; }
h2 { font-size: 1.125rem; margin: 0; }
p { margin: 0.25rem 0; }
.soft, figcaption p { color: var(--soft); font-size: 0.875rem; }
.mode { border-left: 4px solid var(--c0); padding-left: 0.75rem; margin: 0.75rem 0; }
.warning { border-left: 4px solid var(--trouble); padding-left: 0.75rem; margin: 0.75rem 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(10.5rem, 1fr));
  gap: 0.5rem; margin: 1rem 0; }
.tiles div { background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: 0.5rem 0.75rem; }
.tiles dt { color: var(--soft); font-size: 0.8125rem; }
.tiles dd { margin: 0; font-size: 1.125rem; font-variant-numeric: tabular-nums;
  overflow-wrap: break-word; }
main { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.5rem; }
@media (min-width: 62rem) { main { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  main > .wide { grid-column: 1 / -1; } }
figure { margin: 0; min-width: 0; }
.frame { display: grid; grid-template-columns: 5rem minmax(0, 1fr);
  grid-template-rows: 12rem 1.5rem; margin: 0.75rem 1.25rem 0 0; }
.frame svg { width: 100%; height: 100%; display: block; border-left: 1px solid var(--soft);
  border-bottom: 1px solid var(--soft); }
svg:focus-visible, summary:focus-visible { outline: 2px solid var(--c0); outline-offset: 2px; }
.y, .x { position: relative; color: var(--soft); font-size: 0.75rem; }
.y span { position: absolute; right: 0.375rem; transform: translateY(50%); white-space: nowrap; }
.x { grid-column: 2; height: 1.25rem; }
.x span { position: absolute; top: 0.25rem; transform: translateX(-50%); white-space: nowrap; }
.mark { stroke-width: 1; stroke-dasharray: 2 3; opacity: 0.55;
  vector-effect: non-scaling-stroke; }
.dense .mark { opacity: 0.2; }
.mark.trouble { stroke: var(--trouble); } .mark.gain { stroke: var(--gain); }
.mark.other { stroke: var(--other); }
.event.trouble { fill: var(--trouble); } .event.gain { fill: var(--gain); }
.event.other { fill: var(--other); }
.tip { fill: transparent; }
.tip:hover { fill: var(--soft); fill-opacity: 0.2; }
.key { display: inline-block; width: 1.25rem; margin-right: 0.375rem; vertical-align: middle;
  border-top: 3px solid; }
.key.s0 { border-color: var(--c0); } .key.s1 { border-color: var(--c1); }
.key.s2 { border-color: var(--c2); } .key.s3 { border-color: var(--c3); }
.key.s4 { border-color: var(--c4); border-top-style: dashed; }
.key.s5 { border-color: var(--c5); border-top-style: dashed; }
.key.s6 { border-color: var(--c6); border-top-style: dashed; }
.key.s7 { border-color: var(--c7); border-top-style: dashed; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0.125rem 1rem; padding: 0;
  margin: 0.25rem 0; font-size: 0.8125rem; }
.events-row { display: grid; grid-template-columns: 5rem minmax(0, 1fr) 3rem; gap: 0.5rem;
  align-items: center; font-size: 0.8125rem; margin-top: 0.25rem; }
.events-row svg { width: 100%; height: 1rem; display: block; background: var(--card); }
.events-row .x { grid-column: 2; }
.count { color: var(--soft); font-variant-numeric: tabular-nums; }
.no-data { color: var(--soft); font-style: italic; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: 0.8125rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.25rem 0.75rem 0.25rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line); }
summary { cursor: pointer; color: var(--soft); font-size: 0.8125rem; }
code { font-size: 0.875rem; }
@media print { .tip { display: none; } }
)";

}  // namespace sim
