/**
 * What the start page does, as the browser is sent it: plain JavaScript in a text, so that its hash can be named in the
 * policy of the page. A message is posted once under a key of its own; where the stream is cut, the rest is asked for.
 */
export const PAGE_SCRIPT = `"use strict";
const WORDS = {
  en: { language: "中文", about: "Model: ", agent: "Agent", text: "Message", send: "Send", stop: "Stop", fresh: "New chat",
    you: "You", loom: "Agent", thinking: "Thinking", done: "done", failed: "failed", working: "Working…",
    again: "Connection lost; trying again…", stopping: "Stopping…", ended: "Done.", cancelled: "Stopped.", error: "Error",
    ask: "May this tool run?", yes: "Allow", no: "Refuse", hint: "The same from a terminal:", data: "Data",
    place: "Ask something, as: What is 6*7?" },
  zh: { language: "English", about: "模型：", agent: "智能体", text: "消息", send: "发送", stop: "停止", fresh: "新对话",
    you: "你", loom: "智能体", thinking: "思考", done: "完成", failed: "失败", working: "处理中…",
    again: "连接中断，正在重试…", stopping: "正在停止…", ended: "已完成。", cancelled: "已停止。", error: "错误",
    ask: "允许运行此工具吗？", yes: "允许", no: "拒绝", hint: "在终端中同样可以：", data: "数据",
    place: "问点什么，例如：6*7 等于多少？" },
};
const at = (id) => document.getElementById(id);
const base = location.pathname.replace(/\\/*$/, "/");
const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (one) => one.toString(16).padStart(2, "0")).join("");
let words = WORDS[document.documentElement.lang] || WORDS.en;
let session = newId();
let live = null;

function speak(language) {
  document.documentElement.lang = language;
  words = WORDS[language];
  at("about").textContent = words.about + at("about").dataset.model;
  for (const id of ["language", "send", "stop", "fresh", "hint"]) at(id).textContent = words[id];
  at("agent-label").textContent = words.agent;
  at("text-label").textContent = words.text;
  at("text").placeholder = words.place;
  at("curl").textContent = "curl -N " + location.origin + base + "api/chat -H 'content-type: application/json' -d '" +
    JSON.stringify({ session_id: session, content: "What is 6*7?" }) + "'";
}
function add(parent, tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}
function addTurn(who, className) {
  const turn = add(at("talk"), "article", className);
  add(turn, "h2", "", who);
  return turn;
}
function fold(turn, title) {
  const details = add(turn, "details");
  return { title: add(details, "summary", "", title), body: add(details, "pre", "", "") };
}
const show = (value) => typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** Whoever reads at the end goes on reading there. */
function keepEnd(change) {
  const page = document.documentElement;
  const isAtEnd = innerHeight + scrollY >= page.scrollHeight - 200;
  change();
  if (isAtEnd) scrollTo(0, page.scrollHeight);
}

/** One message of 003. What follows other things begins a new piece. */
function take(run, { type, data }) {
  const { turn } = run;
  if (type !== "thinking") run.thinking = null;
  if (type !== "content") run.answer = null;
  if (type === "thinking") {
    run.thinking = run.thinking || fold(turn, words.thinking);
    run.thinking.body.append(data.content);
  } else if (type === "content") {
    run.answer = run.answer || add(turn, "div", "text");
    run.answer.append(data.content);
  } else if (type === "tool_call_start") {
    const tool = fold(turn, data.tool_name);
    tool.name = data.tool_name;
    tool.body.textContent = show(data.arguments);
    run.tools.set(data.tool_id, tool);
  } else if (type === "tool_call_progress" || type === "tool_call_end") {
    const tool = run.tools.get(data.tool_id);
    if (!tool) return;
    if (type === "tool_call_progress") tool.title.textContent = tool.name + " " + Math.round(data.progress) + " %";
    else {
      tool.title.textContent = tool.name + ": " + (data.status === "success" ? words.done : words.failed);
      tool.body.append("\\n" + show(data.status === "success" ? data.result ?? "" : data.error && data.error.message || ""));
    }
  } else if (type === "data") {
    fold(turn, words.data + ": " + data.data_type).body.textContent = show(data.data);
  } else if (type === "error") {
    add(turn, "p", "bad", words.error + ": " + data.message);
  } else if (type === "session_end") {
    run.isOver = true;
    for (const box of turn.querySelectorAll(".question")) box.remove();
    at("status").textContent = data.status === "cancelled" ? words.cancelled : data.status === "completed" ? words.ended : "";
  }
}

/** Reads one answer to its end, cut or not; the place it came to is kept. */
async function read(run, response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split(/\\r?\\n\\r?\\n/);
    rest = events.pop();
    for (const event of events) {
      const lines = event.split(/\\r?\\n/);
      const body = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\\n");
      if (body) keepEnd(() => take(run, JSON.parse(body)));
      const id = lines.find((line) => line.startsWith("id:"));
      if (id) run.place = id.slice(3).trim();
      run.heardAt = Date.now();
    }
  }
}
async function refuse(run, response) {
  const refusal = await response.json().catch(() => ({}));
  add(run.turn, "p", "bad", words.error + ": " + (refusal.message || response.status));
  run.isOver = true;
}
async function follow(run, message, agent) {
  for (let tries = 0; !run.isOver && !run.isLeft; tries++) {
    if (tries > 0) await new Promise((resolve) => setTimeout(resolve, Math.min(500 * 2 ** Math.min(tries, 5), 10000)));
    try {
      const headers = { "content-type": "application/json", "idempotency-key": run.key };
      if (run.place) headers["last-event-id"] = run.place;
      const content = run.place ? undefined : message;
      const response = await fetch(base + "api/chat", { method: "POST", headers,
        body: JSON.stringify({ session_id: run.session, content, agent }) });
      if (response.status >= 500) throw new Error("busy");
      if (!response.ok) { await refuse(run, response); break; }
      run.id = response.headers.get("loom-run") || run.id;
      if (response.status === 204) break;
      at("status").textContent = words.working;
      const place = run.place;
      await read(run, response);
      if (run.place !== place) tries = 0;
    } catch {
      if (!run.isOver) at("status").textContent = words.again;
    }
  }
}

/** A run that is silent may wait for somebody to allow a tool. */
async function lookForQuestions(run) {
  if (run.isOver || Date.now() - run.heardAt < 1500) return;
  const response = await fetch(base + "v1/sessions/" + encodeURIComponent(run.session) + "/approvals").catch(() => null);
  if (!response || !response.ok) return;
  for (const { call_id: call, name, arguments: given } of (await response.json()).approvals) {
    if (run.asked.has(call)) continue;
    run.asked.add(call);
    const box = add(run.turn, "p", "question", words.ask + " " + name + " " + show(given) + " ");
    for (const approved of [true, false])
      add(box, "button", "", approved ? words.yes : words.no).onclick = () => {
        box.remove();
        fetch(base + "v1/sessions/" + encodeURIComponent(run.session) + "/approvals/" + encodeURIComponent(call), { method: "POST",
          headers: { "content-type": "application/json" }, body: JSON.stringify({ decision: approved ? "approved" : "rejected" }) })
          .catch(() => run.asked.delete(call));
      };
  }
}

async function send(event) {
  event.preventDefault();
  const message = at("text").value.trim();
  if (live || !message) return;
  addTurn(words.you, "user");
  add(at("talk").lastChild, "div", "text", message);
  const run = { session, key: newId(), turn: addTurn(words.loom, "agent"), tools: new Map(), asked: new Set(), heardAt: Date.now() };
  live = run;
  at("text").value = "";
  at("send").hidden = true;
  at("stop").hidden = false;
  at("status").textContent = words.working;
  const looking = setInterval(() => lookForQuestions(run), 1000);
  await follow(run, message, at("agent").value || undefined);
  clearInterval(looking);
  if (live !== run) return;
  live = null;
  at("send").hidden = false;
  at("stop").hidden = true;
  at("text").focus();
}
async function stop() {
  if (!live || !live.id) return;
  at("status").textContent = words.stopping;
  await fetch(base + "v1/sessions/" + encodeURIComponent(live.session) + "/runs/" + live.id + "/cancel", { method: "POST" }).catch(() => null);
}
function start() {
  if (live) { live.isLeft = true; live = null; at("send").hidden = false; at("stop").hidden = true; }
  session = newId();
  at("talk").replaceChildren();
  at("status").textContent = "";
  speak(document.documentElement.lang);
  at("text").focus();
}
at("form").onsubmit = send;
at("stop").onclick = stop;
at("fresh").onclick = start;
at("language").onclick = () => speak(document.documentElement.lang === "zh" ? "en" : "zh");
at("text").onkeydown = (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event); };
fetch(base + "v1/agents").then((response) => response.json()).then(({ agents }) => {
  for (const { name, is_default: isDefault } of agents) add(at("agent"), "option", "", name).selected = isDefault === true;
}).catch(() => { at("agent").hidden = true; at("agent-label").hidden = true; });
speak(document.documentElement.lang);
`;
