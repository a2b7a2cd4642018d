/**
 * What the start page does, as the browser is sent it: plain JavaScript in a text, so that its hash can be named in the
 * policy of the page. A message is posted once under a key of its own; where the stream is cut, the rest is asked for.
 */
export const PAGE_SCRIPT = `"use strict";
const WORDS = {
  en: { language: "中文", about: "Model: ", agent: "Agent", text: "Message", send: "Send", stop: "Stop", fresh: "New chat",
    you: "You", loom: "Agent", thinking: "Thinking", done: "done", failed: "failed", working: "Working…",
    again: "Connection lost; trying again…", stopping: "Stopping…", ended: "Done.", cancelled: "Stopped.", error: "Error",
    ask: "May this tool run?", yes: "Allow", no: "Refuse", hint: "The same from a terminal:", data: "Data", list: "List",
    offline: " (an embedded program, no language model)", place: "Ask something, as: What is 6*7?" },
  zh: { language: "English", about: "模型：", agent: "智能体", text: "消息", send: "发送", stop: "停止", fresh: "新对话",
    you: "你", loom: "智能体", thinking: "思考", done: "完成", failed: "失败", working: "处理中…",
    again: "连接中断，正在重试…", stopping: "正在停止…", ended: "已完成。", cancelled: "已停止。", error: "错误",
    ask: "允许运行此工具吗？", yes: "允许", no: "拒绝", hint: "在终端中同样可以：", data: "数据", list: "清单",
    offline: "（内置程序，不是语言模型）", place: "问点什么，例如：6*7 等于多少？" },
};
const at = (id) => document.getElementById(id);
const base = location.pathname.replace(/\\/*$/, "/");
const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (one) => one.toString(16).padStart(2, "0")).join("");
let words = WORDS[document.documentElement.lang] || WORDS.en;
let session = newId();
let live = null;
/** Items of the lists that are shown. */
const todos = new Map();

function speak(language) {
  document.documentElement.lang = language;
  words = WORDS[language];
  const { model } = at("about").dataset;
  at("about").textContent = words.about + model + (/^offline(\\/|$)/.test(model) ? words.offline : "");
  at("language").lang = language === "zh" ? "en" : "zh";
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
/** Of the run that is shown; one that was left has nothing to say. */
const tell = (run, text) => { if (live === run) at("status").textContent = text; };
const pathOf = (run, rest) => base + "v1/sessions/" + encodeURIComponent(run.session) + rest;
const post = (path, body, method = "POST") => fetch(path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** Whoever reads at the end goes on reading there. */
function keepEnd(change, room = 200) {
  const page = document.documentElement;
  const isAtEnd = innerHeight + scrollY >= page.scrollHeight - room;
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
    const own = data.data_type === "custom" && data.data && data.data.$loom;
    if (own === "tool_approval") ask(run, data.data);
    else if (own === "tool_approval_result") settle(run, data.data.call_id);
    else if (!showData(run, own || data.data_type, data.data))
      fold(turn, words.data + ": " + (own || data.data_type)).body.textContent = show(data.data);
  } else if (type === "error") {
    add(turn, "p", "bad", words.error + ": " + data.message);
  } else if (type === "session_end") {
    run.isOver = true;
    for (const call of run.questions.keys()) settle(run, call);
    tell(run, data.status === "cancelled" ? words.cancelled : data.status === "completed" ? words.ended : "");
  }
}

/** Pictures, tables and lists are shown as what they are. False: it is none of these. */
function showData(run, kind, data) {
  if (typeof data !== "object" || data === null) return false;
  if (kind === "image" && typeof data.url === "string") {
    const image = add(run.turn, "img");
    image.alt = data.alt || "";
    image.onload = () => keepEnd(() => {}, 200 + image.height);
    // What lies elsewhere is fetched by the server.
    image.src = /^https?:/i.test(data.url) ? base + "v1/images?url=" + encodeURIComponent(data.url) : data.url;
  } else if ((kind === "dataframe" || kind === "chart") && Array.isArray(data.columns) && Array.isArray(data.rows)) {
    const table = add(add(run.turn, "div", "wide"), "table");
    const head = add(table, "tr");
    for (const name of data.columns) add(head, "th", "", show(name)).scope = "col";
    for (const row of data.rows) {
      const line = add(table, "tr");
      for (const [index, name] of data.columns.entries()) add(line, "td", "", show((Array.isArray(row) ? row[index] : row && row[name]) ?? ""));
    }
  } else if (kind === "todo_list" && Array.isArray(data.items)) showList(run, data);
  else if (kind === "todo_update") {
    const item = todos.get(data.list_id + " " + data.item_id);
    if (!item) return false;
    item.box.checked = data.completed ?? item.box.checked;
    item.text.textContent = data.text ?? item.text.textContent;
  } else return false;
  return true;
}
function showList(run, { list_id: list, title, items }) {
  const field = add(run.turn, "fieldset");
  add(field, "legend", "", title || words.list);
  for (const { id, text, completed } of items) {
    const label = add(field, "label");
    const box = add(label, "input");
    box.type = "checkbox";
    box.checked = completed === true;
    todos.set(list + " " + id, { box, text: add(label, "span", "", text) });
    box.onchange = async () => {
      const path = pathOf(run, "/todos/" + encodeURIComponent(list) + "/" + encodeURIComponent(id));
      const response = await post(path, { completed: box.checked }, "PATCH").catch(() => null);
      if (!response || !response.ok) box.checked = !box.checked;
    };
  }
}

/** Somebody has to allow a tool: here, or wherever else the session is shown. */
function ask(run, { call_id: call, name, arguments: given }) {
  const box = add(run.turn, "div", "question", words.ask + " " + name);
  add(box, "pre", "", show(given));
  run.questions.set(call, box);
  tell(run, words.ask + " " + name);
  for (const decision of ["approved", "rejected"])
    add(box, "button", "", decision === "approved" ? words.yes : words.no).onclick = async () => {
      const buttons = box.querySelectorAll("button");
      for (const button of buttons) button.disabled = true;
      const response = await post(pathOf(run, "/approvals/" + encodeURIComponent(call)), { decision }).catch(() => null);
      // One that is answered already, or over, is no question any more.
      if (response && response.status < 500) settle(run, call);
      else for (const button of buttons) button.disabled = false;
    };
}
function settle(run, call) {
  const box = run.questions.get(call);
  if (!box) return;
  const hadFocus = box.contains(document.activeElement) || document.activeElement === document.body;
  box.remove();
  run.questions.delete(call);
  if (live !== run) return;
  tell(run, words.working);
  if (hadFocus) at("text").focus();
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
    }
  }
}
async function refuse(run, response) {
  const refusal = await response.json().catch(() => ({}));
  add(run.turn, "p", "bad", words.error + ": " + (refusal.message || response.status));
  run.isOver = run.isRefused = true;
}
async function follow(run, message, agent) {
  const { signal } = run.leaving;
  for (let tries = 0; !run.isOver && !signal.aborted; tries++) {
    if (tries > 0) await new Promise((resolve) => setTimeout(resolve, Math.min(500 * 2 ** Math.min(tries, 5), 10000)));
    try {
      const headers = { "content-type": "application/json", "idempotency-key": run.key };
      if (run.place) headers["last-event-id"] = run.place;
      const content = run.place ? undefined : message;
      const response = await fetch(base + "api/chat", { method: "POST", headers,
        signal, body: JSON.stringify({ session_id: run.session, content, agent }) });
      if (response.status >= 500) throw new Error("busy");
      if (!response.ok) { await refuse(run, response); break; }
      run.id = response.headers.get("loom-run") || run.id;
      if (response.status === 204) break;
      if (run.isStopped) await cancel(run);
      else if (run.questions.size === 0) tell(run, words.working);
      const place = run.place;
      await read(run, response);
      if (run.place !== place) tries = 0;
    } catch {
      if (!run.isOver) tell(run, words.again);
    }
  }
}

async function send(event) {
  event.preventDefault();
  const message = at("text").value.trim();
  if (live || !message) return;
  addTurn(words.you, "user");
  add(at("talk").lastChild, "div", "text", message);
  const run = { session, key: newId(), turn: addTurn(words.loom, "agent"), tools: new Map(), questions: new Map(), leaving: new AbortController() };
  // What comes in pieces is read out when it is whole.
  run.turn.setAttribute("aria-busy", "true");
  live = run;
  at("text").value = "";
  scrollTo(0, document.documentElement.scrollHeight);
  at("send").hidden = true;
  at("stop").hidden = false;
  tell(run, words.working);
  await follow(run, message, at("agent").value || undefined);
  run.turn.removeAttribute("aria-busy");
  if (live !== run) return;
  if (!run.isOver || run.isRefused) tell(run, "");
  leave();
}
/** The page is free for the next message; a run that goes on goes on without it. */
function leave() {
  // Whoever has gone elsewhere on the page stays there.
  const isFree = [document.body, at("stop")].includes(document.activeElement);
  live.leaving.abort();
  live = null;
  at("send").hidden = false;
  at("stop").hidden = true;
  if (isFree) at("text").focus();
}
const cancel = (run) => fetch(pathOf(run, "/runs/" + encodeURIComponent(run.id) + "/cancel"), { method: "POST" }).catch(() => null);
async function stop() {
  const run = live;
  if (!run) return;
  // Where nobody answers, the second time gives up waiting for it.
  if (run.isStopped) { tell(run, ""); leave(); return; }
  run.isStopped = true;
  tell(run, words.stopping);
  if (run.id) await cancel(run);
}
function start() {
  at("status").textContent = "";
  if (live) leave();
  session = newId();
  at("talk").replaceChildren();
  todos.clear();
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
