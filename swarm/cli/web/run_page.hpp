// The page of a run: one document without requests to others, in light and dark, from 320 pixels
// up. It takes the JSON of /api/state and puts all texts of others in as text.
#pragma once

namespace swarm::cli {

inline constexpr const char* kRunPage = R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline';
  connect-src 'self'">
<title>swarm</title>
<style>
:root { color-scheme: light dark; --back: #ffffff; --text: #1b1f24; --soft: #57606a;
  --line: #d0d7de; --card: #f6f8fa; --bar: #0b62b8; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --back: #0f1419; --text: #e6e9ed; --soft: #9aa5b1;
  --line: #323b46; --card: #181f27; --bar: #6cb0f0; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--back);
  color: var(--text); font: 1rem/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.05rem; margin: 1.5rem 0 0.5rem; }
.soft { color: var(--soft); } .bad { color: var(--bad); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 0.5rem;
  margin: 1rem 0; }
dl div { background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: 0.5rem 0.75rem; }
dt { color: var(--soft); font-size: 0.8rem; }
dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.25rem 0.5rem 0.25rem 0;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: normal; font-size: 0.85rem; }
.bar { display: block; height: 0.5rem; background: var(--bar); border-radius: 2px; min-width: 1px; }
svg { width: 100%; height: 12rem; display: block; border-left: 1px solid var(--soft);
  border-bottom: 1px solid var(--soft); }
path { fill: none; stroke: var(--bar); stroke-width: 1.75; vector-effect: non-scaling-stroke; }
code { background: var(--card); border: 1px solid var(--line); border-radius: 4px;
  padding: 0.3rem 0.5rem; display: block; }
button { font: inherit; margin-top: 0.5rem; padding: 0.25rem 0.75rem; }
button:focus-visible { outline: 2px solid var(--bar); outline-offset: 2px; }
</style>
</head>
<body>
<h1 id="name">swarm</h1>
<p id="status" class="soft" role="status">connecting</p>
<dl>
<div><dt>step</dt><dd id="step">-</dd></div>
<div><dt>loss per token</dt><dd id="loss">-</dd></div>
<div><dt>tokens/s</dt><dd id="speed">-</dd></div>
<div><dt>peers</dt><dd id="peers">-</dd></div>
<div><dt>replayed</dt><dd id="replayed">-</dd></div>
<div><dt>fenced</dt><dd id="fenced">-</dd></div>
</dl>
<h2 id="loss-title">Loss</h2>
<svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img"
  aria-labelledby="loss-title loss-text">
<path id="curve" d=""/></svg>
<p id="loss-text" class="soft">no step yet</p>
<h2>Stages and peers</h2>
<table><thead><tr><th scope="col">stage</th><th scope="col">peer</th><th scope="col">state</th>
<th scope="col">share of the last step</th><th scope="col">forwards/s</th></tr></thead>
<tbody id="rows"></tbody></table>
<p id="bytes" class="soft"></p>
<div id="joining" hidden><h2>Join with this machine</h2><code id="join"></code>
<p id="join-where" class="soft" hidden>No other machine can join: the run listens at a loopback
address of its own machine.</p>
<button id="copy" type="button">Copy</button></div>
<h2>What happened last</h2>
<table><thead><tr><th scope="col">ago</th><th scope="col">what</th><th scope="col">peer</th>
<th scope="col">stage</th><th scope="col">reason</th></tr></thead>
<tbody id="events"></tbody></table>
<script>
"use strict";
const at = id => document.getElementById(id);
const say = (id, text) => { if (at(id).textContent !== text) at(id).textContent = text; };
const round = (value, digits) => value === null ? "-" : Number(value).toFixed(digits);
function row(cells) {
  const line = document.createElement("tr");
  for (const cell of cells) {
    const box = document.createElement("td");
    if (cell instanceof Node) box.append(cell); else box.textContent = cell ?? "";
    line.append(box);
  }
  return line;
}
function bar(share) {
  const box = document.createElement("span");
  const text = document.createElement("span");
  text.textContent = round(100 * share, 0) + " %";
  const length = document.createElement("span");
  length.className = "bar";
  length.style.width = round(100 * share, 1) + "%";
  box.append(text, length);
  return box;
}
function size(bytes) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let at_unit = 0;
  for (; bytes >= 1000 && at_unit + 1 < units.length; ++at_unit) bytes /= 1000;
  return round(bytes, at_unit === 0 ? 0 : 1) + " " + units[at_unit];
}
function ago(seconds) {
  return seconds < 90 ? round(seconds, 0) + " s" : seconds < 5400 ? round(seconds / 60, 0) + " min"
    : round(seconds / 3600, 1) + " h";
}
function curve(losses) {
  if (losses.length < 2) return;
  const values = losses.map(point => point[1]);
  const least = Math.min(...values), most = Math.max(...values);
  const first = losses[0][0], last = losses[losses.length - 1][0];
  const x = step => 1000 * (step - first) / Math.max(1, last - first);
  const y = loss => 98 - 96 * (loss - least) / Math.max(1e-9, most - least);
  at("curve").setAttribute("d", "M" + losses.map(
    point => x(point[0]).toFixed(1) + " " + y(point[1]).toFixed(2)).join(" L"));
  say("loss-text", "from " + round(values[0], 4) + " at step " + first + " to " +
    round(values[values.length - 1], 4) + " at step " + last + "; least " + round(least, 4));
}
function show(state) {
  document.title = state.name + " - swarm";
  say("name", state.name);
  say("status", state.end ?? "training");
  say("step", state.step + " / " + state.steps);
  say("loss", round(state.loss, 4));
  say("speed", round(state.tokens_per_s, 0));
  say("peers", state.stages.map(
    stage => stage.peers.filter(peer => peer.state !== "joining").length).join(" + "));
  say("replayed", String(state.replayed));
  say("fenced", String(state.fenced));
  curve(state.losses);
  const rows = [];
  for (const stage of state.stages) {
    if (stage.peers.length === 0) {
      const none = document.createElement("span");
      none.className = "bad";
      none.textContent = "nobody: the run waits";
      rows.push(row([stage.stage, none, "", "", ""]));
    }
    for (const peer of stage.peers) {
      rows.push(row([stage.stage, peer.id, peer.state, bar(peer.share),
        round(peer.forwards_per_s, 1)]));
    }
  }
  at("rows").replaceChildren(...rows);
  at("joining").hidden = !state.join || state.end !== null;
  if (state.join) say("join", "swarm serve --join " + state.join);
  at("join-where").hidden = !state.join_here_only;
  say("bytes", state.codecs.map(sum => "between peers " + size(sum.wire_bytes) +
    (sum.codecs ? " by codecs " + sum.codecs : "")).join("; "));
  at("events").replaceChildren(...state.events.slice(0, 20).map(event => row(
    [ago(event.seconds_ago), event.what, event.peer, event.stage, event.reason])));
}
at("copy").addEventListener("click", () => navigator.clipboard?.writeText(at("join").textContent));
async function ask() {
  try { show(await (await fetch("/api/state")).json()); }
  catch { say("status", "the coordinator does not answer"); }
}
const stream = new EventSource("/events");
stream.addEventListener("state", event => show(JSON.parse(event.data)));
stream.addEventListener("error", () => say("status", "the coordinator does not answer"));
setInterval(ask, 5000);
ask();
</script>
</body>
</html>
)page";

}  // namespace swarm::cli
