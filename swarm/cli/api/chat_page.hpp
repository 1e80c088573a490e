// The page of `swarm api`: a chat with the model, the peers that answer, and the line that joins
// them. It is one document without requests to others, in light and dark, from 320 pixels up. It
// takes the JSON of /api/state and /events, and puts all texts of others in as text.
#pragma once

namespace swarm::cli {

inline constexpr const char* kChatPage = R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline';
  connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'">
<link rel="icon" href="data:,">
<title>swarm</title>
<style>
:root { color-scheme: light dark; --back: #ffffff; --text: #1b1f24; --soft: #57606a;
  --line: #d0d7de; --card: #f6f8fa; --bar: #0b62b8; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --back: #0f1419; --text: #e6e9ed; --soft: #9aa5b1;
  --line: #323b46; --card: #181f27; --bar: #6cb0f0; --bad: #ff8a80; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--back);
  color: var(--text); font: 1rem/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.05rem; margin: 1.5rem 0 0.5rem; }
h3 { font-size: 1rem; font-weight: normal; margin: 0.75rem 0 0.25rem; }
p { margin: 0.25rem 0; } .soft { color: var(--soft); } .bad { color: var(--bad); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: 0.5rem;
  margin: 1rem 0 0; }
dl div { background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: 0.5rem 0.75rem; }
dt { color: var(--soft); font-size: 0.8rem; }
dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
@media (min-width: 68rem) { body { max-width: 80rem; }
  main { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 2rem; } }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.5rem 0.25rem 0;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: normal; font-size: 0.85rem; overflow-wrap: normal; }
td:not(:last-child) { overflow-wrap: normal; }
th[scope=rowgroup] { color: var(--text); padding-top: 0.5rem; }
.bar { display: block; height: 0.5rem; background: var(--bar); border-radius: 2px; min-width: 1px; }
code { background: var(--card); border: 1px solid var(--line); border-radius: 4px;
  padding: 0.3rem 0.5rem; display: block; white-space: pre-wrap; }
#log { height: 24rem; overflow-y: auto; border: 1px solid var(--line); border-radius: 6px;
  padding: 0.5rem 0.75rem; }
.question { margin: 0.75rem 0 0.5rem; padding: 0.5rem 0.75rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 6px; }
.question, .answer { white-space: pre-wrap; }
.by { display: block; color: var(--soft); font-size: 0.8rem; }
form { margin: 0.75rem 0; }
label { color: var(--soft); font-size: 0.85rem; }
textarea, input { font: inherit; color: var(--text); background: var(--back);
  border: 1px solid var(--soft); border-radius: 4px; padding: 0.3rem 0.5rem; }
textarea { display: block; width: 100%; margin-top: 0.25rem; resize: vertical; }
input[type=number] { width: 6rem; } input[type=password] { width: 100%; max-width: 24rem; }
.line label { white-space: nowrap; }
.line { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem; margin-top: 0.5rem; }
button { font: inherit; color: var(--text); background: var(--card);
  border: 1px solid var(--soft); border-radius: 4px; padding: 0.25rem 0.75rem; }
button[type=submit] { color: var(--back); background: var(--bar); border-color: var(--bar); }
button:disabled { opacity: 0.5; }
:focus-visible { outline: 2px solid var(--bar); outline-offset: 2px; }
</style>
</head>
<body>
<h1 id="name">swarm</h1>
<p id="status" class="soft" role="status">connecting</p>
<form id="unlock" hidden>
<label for="key">Key (this page forgets it when it is closed)</label>
<div class="line"><input id="key" type="password" autocomplete="off" required>
<button type="submit">Use the key</button></div>
</form>
<dl>
<div><dt>tokens/s</dt><dd id="speed">-</dd></div>
<div><dt>answers running</dt><dd id="running">-</dd></div>
<div><dt>answers waiting</dt><dd id="waiting">-</dd></div>
<div><dt>all tokens</dt><dd id="tokens">-</dd></div>
</dl>
<main>
<section aria-labelledby="chat-title">
<h2 id="chat-title">Chat</h2>
<div id="log" role="log" aria-live="polite" aria-busy="false" aria-labelledby="chat-title"
  tabindex="0"><p class="soft">no question yet</p></div>
<form id="ask">
<label for="question">Your question (Enter sends it, Shift+Enter begins a line)</label>
<textarea id="question" rows="3"></textarea>
<div class="line"><button id="send" type="submit">Send</button>
<button id="stop" type="button" disabled>Stop</button>
<button id="again" type="button" disabled>Regenerate</button>
<button id="clear" type="button" disabled>Clear</button></div>
<div class="line"><label>Temperature
<input id="temperature" type="number" min="0" max="2" step="0.05" value="0.7" required></label>
<label>Max tokens
<input id="most" type="number" min="1" step="1" value="512" required></label></div>
</form>
</section>
<section aria-labelledby="peers-title">
<h2 id="peers-title">Stages and peers</h2>
<div id="models"><p class="soft">no peer yet</p></div>
<div id="joining" hidden><h2>Join with this machine</h2><code id="join"></code>
<p id="join-where" class="soft" hidden>No other machine can join: the directory listens at a
loopback address of its own machine.</p>
<div class="line"><button id="copy" type="button">Copy</button>
<span id="copied" class="soft" role="status"></span></div></div>
<h2 id="events-title">What happened last</h2>
<table aria-labelledby="events-title"><thead><tr><th scope="col">ago</th>
<th scope="col">what</th><th scope="col">peer</th><th scope="col">reason</th></tr></thead>
<tbody id="events"></tbody></table>
</section>
</main>
<script>
"use strict";
const kAgainMs = 2000;   // passes before the next try to reach the server
const kSilentMs = 5000;  // without a state means that the server is gone
const at = id => document.getElementById(id);
const say = (id, text) => { if (at(id).textContent !== text) at(id).textContent = text; };
const round = (value, digits) => Number(value).toFixed(digits);
const rate = value => value > 0 ? round(value, 1) : "-";
const trouble = error => error instanceof TypeError || error.name === "AbortError"
  ? "the server does not answer" : error.message;
let key = "";
let use_key = null;  // ends the wait for a key
const headers = () => key === "" ? {} : { Authorization: "Bearer " + key };

function made(tag, text, name) {
  const box = document.createElement(tag);
  if (text instanceof Node) box.append(text); else box.textContent = text ?? "";
  if (name) box.className = name;
  return box;
}
function row(cells) {
  const line = document.createElement("tr");
  line.append(...cells.map(cell => made("td", cell)));
  return line;
}
function heading_row(text, name) {
  const box = made("th", text, name);
  box.scope = "rowgroup";
  box.colSpan = 4;
  const line = document.createElement("tr");
  line.append(box);
  return line;
}
function bar(share) {
  const box = made("span", round(100 * share, 0) + "\u00a0%");
  const length = made("span", "", "bar");
  length.style.width = round(100 * share, 1) + "%";
  box.append(length);
  return box;
}
function ago(seconds) {
  return (seconds < 90 ? round(seconds, 0) + " s" : seconds < 5400
    ? round(seconds / 60, 0) + " min" : round(seconds / 3600, 1) + " h").replace(" ", "\u00a0");
}
const range = (first, last) => first === last ? "layer " + first : "layers " + first + "-" + last;

// The functions below show the server's state.
function nobody(first, last) {
  const group = document.createElement("tbody");
  group.append(heading_row(range(first, last) + ": nobody serves them", "bad"));
  return group;
}
function stage_rows(stage) {
  const group = document.createElement("tbody");
  group.append(heading_row(range(...stage.layers)));
  group.append(...stage.peers.map(peer => row([peer.id, bar(peer.share),
    rate(peer.prefill_rows_per_s), rate(peer.decode_rows_per_s)])));
  return group;
}
function model_part(model) {
  const part = document.createElement("div");
  part.append(made("h3", model.name + (model.layers > 0 ? ", " + model.layers + " layers" : "") +
    (model.served ? "" : ", not served"), model.served ? "" : "bad"));
  if (model.stages.length === 0) {
    part.append(made("p", "nobody serves it: answers wait", "bad"));
    return part;
  }
  const table = document.createElement("table");
  const top = row([]);
  for (const text of ["peer", "share", "prefill rows/s", "decode rows/s"]) {
    const box = made("th", text);
    box.scope = "col";
    top.append(box);
  }
  table.createTHead().append(top);
  let next = 0;  // the first layer that no stage above has
  for (const stage of model.stages) {
    const [first, last] = stage.layers;
    if (first > next) table.append(nobody(next, first - 1));
    table.append(stage_rows(stage));
    next = Math.max(next, last + 1);
  }
  if (next < model.layers) table.append(nobody(next, model.layers - 1));
  part.append(table);
  return part;
}
function say_status(text, is_bad) {
  say("status", text);
  at("status").className = is_bad ? "bad" : "soft";
}
function show(state) {
  document.title = state.model + " - swarm";
  say("name", state.model);
  say_status(state.served ? "served: all layers have peers"
    : "not served: some layers have no peer", !state.served);
  say("speed", round(state.tokens_per_s, 1));
  say("running", String(state.answers_running));
  say("waiting", String(state.answers_waiting));
  say("tokens", String(state.tokens));
  at("models").replaceChildren(...state.models.map(model_part));
  at("joining").hidden = !state.join_line;
  if (state.join_line) say("join", state.join_line);
  at("join-where").hidden = !state.join_here_only;
  const events = state.events.slice(0, 20).map(event => row(
    [ago(event.seconds_ago), event.what, event.peer, event.reason]));
  at("events").replaceChildren(...events.length > 0 ? events : [row(["", "nothing yet", "", ""])]);
}
at("copy").addEventListener("click", async () => {
  let is_copied = true;
  try { await navigator.clipboard.writeText(at("join").textContent); }
  catch {  // a page without TLS from another machine has no clipboard
    getSelection().selectAllChildren(at("join"));
    is_copied = document.execCommand("copy");
  }
  say("copied", is_copied ? "copied" : "not copied: press Ctrl+C");
  setTimeout(() => say("copied", ""), 3000);
});

// Events are read by fetch, because EventSource could not show a key.
async function* events_of(reply) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    let rest = "", name = "message", data = [];
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines.map(text => text.replace(/\r$/, ""))) {
        if (line.startsWith("event:")) name = line.slice(6).trim();
        if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
        if (line !== "") continue;
        if (data.length > 0) yield { name, data: data.join("\n") };
        name = "message";
        data = [];
      }
    }
  } finally { reader.cancel().catch(() => {}); }
}
async function refusal(reply) {
  const told = await reply.json().catch(() => null);
  const after = reply.headers.get("Retry-After");
  return (told?.error?.message ?? "the server refused with status " + reply.status) +
    (after ? " (ask again in " + after + " s)" : "");
}
function ask_for_key() {
  say_status(key === "" ? "the server wants a key" : "the server does not know this key", true);
  at("unlock").hidden = false;
  return new Promise(done => { use_key = done; });
}
at("unlock").addEventListener("submit", event => {
  event.preventDefault();
  key = at("key").value.trim();
  at("key").value = "";
  at("unlock").hidden = true;
  use_key?.();
});
/// Shows states until the stream ends; false: the server wants a key.
async function watch(silence) {
  const options = () => ({ headers: headers(), signal: silence.controller.signal });
  const first = await fetch("/api/state", options());
  if (first.status === 401) return false;
  if (!first.ok) throw new Error(await refusal(first));
  show(await first.json());
  const reply = await fetch("/events", options());
  if (!reply.ok) return true;  // too many watch: the next try asks for the state again
  for await (const event of events_of(reply)) {
    silence.restart();
    if (event.name === "state") show(JSON.parse(event.data));
  }
  throw new Error("the server ended the connection");
}
async function watch_always() {
  for (;;) {
    const silence = { controller: new AbortController(), timer: 0, restart() {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.controller.abort(), kSilentMs);
    } };
    silence.restart();
    let may_see = true;
    try { may_see = await watch(silence); }
    catch (error) { say_status(trouble(error), true); }
    clearTimeout(silence.timer);
    if (may_see) await new Promise(done => setTimeout(done, kAgainMs)); else await ask_for_key();
  }
}

// The conversation consists of turns: each has a question and what came as its answer.
const turns = [];
let under_way = null;  // the controller of the answer that streams
function show_controls() {
  const is_busy = under_way !== null;
  at("log").setAttribute("aria-busy", String(is_busy));
  at("send").disabled = is_busy;
  at("stop").disabled = !is_busy;
  at("again").disabled = is_busy || turns.length === 0;
  at("clear").disabled = turns.length === 0;
}
/// Does the change, and keeps the end of the conversation in view when it was.
function write(change) {
  const log = at("log");
  const is_at_end = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  change();
  if (is_at_end) log.scrollTop = log.scrollHeight;
}
function add_turn(question) {
  const turn = { question, answer: "", text: document.createTextNode(""), note: made("p", "") };
  if (turns.length === 0) at("log").replaceChildren();
  turns.push(turn);
  const asked = made("div", made("span", "you", "by"), "question");
  asked.append(question);
  const answer = made("div", made("span", "the model", "by"), "answer");
  answer.append(turn.text);
  at("log").append(asked, answer, turn.note);
  at("log").scrollTop = at("log").scrollHeight;
  return turn;
}
function messages_of(turn) {
  const answered = turns.slice(0, turns.indexOf(turn)).filter(each => each.answer !== "");
  return [...answered.flatMap(each => [{ role: "user", content: each.question },
    { role: "assistant", content: each.answer }]), { role: "user", content: turn.question }];
}
/// Returns why the answer ended.
async function stream_answer(turn, signal) {
  const reply = await fetch("/v1/chat/completions", {
    method: "POST", signal, headers: { ...headers(), "Content-Type": "application/json" },
    body: JSON.stringify({ messages: messages_of(turn), stream: true,
      temperature: Number(at("temperature").value), max_tokens: Number(at("most").value) }) });
  if (!reply.ok) throw new Error(await refusal(reply));
  let reason = null;
  for await (const event of events_of(reply)) {
    if (event.data === "[DONE]") return reason;
    const piece = JSON.parse(event.data);
    if (piece.error) throw new Error(piece.error.message);
    const choice = piece.choices?.[0];
    reason = choice?.finish_reason ?? reason;
    const more = choice?.delta?.content ?? "";
    turn.answer += more;
    if (more !== "") write(() => turn.text.appendData(more));
  }
  throw new Error("the answer broke off");
}
async function ask(turn) {
  const controller = new AbortController();
  const note = (text, is_bad) => write(() => {
    turn.note.textContent = text;
    turn.note.className = is_bad ? "bad" : "soft";
  });
  under_way = controller;
  turn.answer = turn.text.data = "";
  note("", false);
  show_controls();
  try {
    const reason = await stream_answer(turn, controller.signal);
    if (reason === "length") note("the answer has as many tokens as it may", false);
  } catch (error) {
    if (controller.signal.aborted) note("stopped", false);
    else note(trouble(error), true);
  }
  if (under_way === controller) under_way = null;
  show_controls();
}
at("ask").addEventListener("submit", event => {
  event.preventDefault();
  const question = at("question").value.trim();
  at("question").focus();
  if (question === "" || under_way !== null) return;
  at("question").value = "";
  ask(add_turn(question));
});
at("question").addEventListener("keydown", event => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (under_way === null) at("ask").requestSubmit();
});
at("stop").addEventListener("click", () => {
  under_way?.abort();
  at("question").focus();
});
at("again").addEventListener("click", () => {
  if (!at("ask").reportValidity()) return;
  at("question").focus();
  ask(turns[turns.length - 1]);
});
at("clear").addEventListener("click", () => {
  under_way?.abort();
  under_way = null;
  turns.length = 0;
  at("log").replaceChildren(made("p", "no question yet", "soft"));
  show_controls();
  at("question").focus();
});
show_controls();
watch_always();
</script>
</body>
</html>
)page";

}  // namespace swarm::cli
