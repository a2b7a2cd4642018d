/** Sessions in which every field that a model or a tool fills is hostile. */
import type { Log } from "../../src/log/index.ts";
import type { JsonObject, LoomEvent } from "../../src/protocol/index.ts";
import { LogWriter } from "./log-writer.ts";

const RUN = "window.__ran=1";
const EVIL = "https://evil.example";

/** Everything, field by field, for each text; then texts in every format; then charts. It ends in an error. */
export async function writeHostileSession(log: Log, session: string, texts: readonly string[]): Promise<void> {
  const [some = ""] = texts;
  const writer = await new LogWriter(log, session, `node-${some}`).open();
  writer.begin(`run-${some}`, {
    message: texts.join("\n"),
    agent: some,
    request_id: some,
    attachments: texts.flatMap((text) => [
      { blob_id: "0".repeat(64), name: text, media_type: "text/plain", bytes: 5 },
      { blob_id: text, name: `${text}.png`, media_type: "image/png", bytes: 5 },
      { blob_id: "f".repeat(64), name: text, media_type: text, bytes: 5 },
    ]),
  });
  for (const [index, text] of texts.entries()) writer.put(...fillFields(text, index));
  for (const spec of SPECIFICATIONS) writer.put({ type: "data", data_type: "chart", data: spec, metadata: spec });
  writer.end({ status: "error", reason: texts.join("\n"), code: some });
  await writer.flush();
}

/** An answer in each format, in pieces that break anywhere. */
export async function writeHostileAnswers(log: Log, session: string, texts: readonly string[]): Promise<void> {
  const writer = await new LogWriter(log, session).open();
  for (const format of ["markdown", "html", "text", "application/x-unknown"]) {
    writer.begin(`run-${format}`, { message: format });
    writer.put({ type: "node_enter", id: "think" });
    for (const piece of texts.join("\n\n").match(/[^]{1,700}/g) ?? [])
      writer.put({ type: "message_chunk", id: "think", content: piece, format });
    writer.put({ type: "node_exit", id: "think", result: "Ok" });
    writer.end({}, texts.join("\n\n"));
  }
  await writer.flush();
}

/** Trees and graphs of thoughts. What is too long for an id is none. */
export async function writeHostileThoughts(log: Log, session: string, texts: readonly string[]): Promise<void> {
  const [some = "", other = ""] = texts;
  const ids = texts.map((text, index) => `${index} ${text}`.slice(0, 80));
  const [root = ""] = ids;
  const writer = await new LogWriter(log, session).open();
  writer.begin("run-tree", { message: some, agent: "tot" });
  writer.put(
    { type: "node_enter", id: some },
    { type: "tot_expand", candidates: [...texts], ids, depth: 1 },
    { type: "tot_evaluate", chosen: 0, scores: ids.map((_, index) => index), ids, kept: [root], depth: 1 },
    { type: "tot_expand", candidates: [...texts], ids: ids.map((id) => `${id}2`), parent: root, depth: 2 },
    ...texts.map((reason, index): LoomEvent => ({
      type: "tot_backtrack",
      reason,
      to_depth: 0,
      from: ids[index] ?? "",
      to: root,
    })),
    { type: "message_chunk", id: "x", content: some, channel: "thought" },
    { type: "node_exit", id: some, result: { Err: texts.join("\n") } },
  );
  writer.end({}, some);
  writer.begin("run-graph", { message: other, agent: "got" });
  const edges = ids.slice(1).map((id) => [root, id]);
  const added = ids.map((id) => `${id}+`);
  writer.put(
    {
      type: "got_plan",
      node_count: ids.length,
      edge_count: edges.length,
      node_ids: ids,
      edges,
      labels: [...texts],
      operations: [...texts],
    },
    ...texts.flatMap((text, index): LoomEvent[] => [
      { type: "got_node_start", id: ids[index] ?? "" },
      index % 2 === 0
        ? { type: "got_node_complete", id: ids[index] ?? "", result_summary: text, scored: [root], scores: [index] }
        : { type: "got_node_failed", id: ids[index] ?? "", error: text },
    ]),
    { type: "got_expand", node_id: root, nodes_added: added.length, edges_added: 0, nodes: added, labels: [...texts] },
  );
  writer.end({}, other);
  await writer.flush();
}

/** A run that waits for consent, and so goes on. */
export async function writeHostileQuestion(log: Log, session: string, texts: readonly string[]): Promise<void> {
  const [some = ""] = texts;
  const asked = Object.fromEntries(texts.map((text) => [text, text]));
  const writer = await new LogWriter(log, session).open();
  writer.begin("run-question", { message: some });
  writer.put(
    { type: "node_enter", id: some },
    { type: "reasoning_chunk", content: some, stage: some },
    { type: "tool_call_chunk", call_id: "a", name: some, arguments_delta: JSON.stringify(asked).slice(0, -9) },
    { type: "tool_call", call_id: "b", name: some, description: some, arguments: asked },
    { type: "tool_approval", call_id: "b", name: some, arguments: { ...asked, nested: asked, list: [...texts] } },
    { type: "tool_start", call_id: "c", name: some },
    { type: "tool_progress", call_id: "c", name: some, progress: 40, message: texts.join("\n") },
  );
  await writer.flush();
}

function fillFields(text: string, index: number): LoomEvent[] {
  // What is too long for an id is none.
  const call_id = `call-${index}-${text}`.slice(0, 80);
  const list_id = `list-${index}-${text}`.slice(0, 80);
  const tree: JsonObject = { [text]: text, list: [text, { [text]: text }] };
  const name = text;
  return [
    { type: "node_enter", id: text, parent: text },
    { type: "llm_start", llm_call_id: call_id, model: text, purpose: text },
    { type: "reasoning_chunk", id: text, content: text, stage: text },
    { type: "reasoning_end", id: text, duration_ms: 5 },
    { type: "message_chunk", id: text, content: text, is_complete: true },
    { type: "tool_call_chunk", call_id, name, arguments_delta: text },
    { type: "tool_call", call_id, name, description: text, arguments: tree, raw_arguments: text },
    { type: "tool_approval", call_id, name, arguments: tree },
    { type: "tool_approval_result", call_id, name, decision: "rejected", reason: text, actor: text, arguments: tree },
    { type: "tool_start", call_id, name },
    { type: "tool_output", call_id, name, content: text },
    { type: "tool_progress", call_id, name, progress: 50, message: text },
    { type: "tool_end", call_id, name, result: text, is_error: index % 2 === 1, output: tree, error_code: text },
    { type: "llm_end", llm_call_id: call_id, model: text, finish_reason: text, error: text, error_code: text },
    { type: "image", url: text, alt: text, media_type: text },
    { type: "todo_list", list_id, title: text, items: [{ id: call_id, text, completed: false }] },
    { type: "todo_update", list_id, item_id: call_id, text: `${text} ` },
    { type: "data", data_type: "dataframe", data: { name: text, columns: [text, "n"], rows: [[text, 1]] } },
    {
      type: "data",
      data_type: "dataframe",
      data: { rows: [{ [text]: text }] },
      metadata: { description: text, [text]: text },
    },
    { type: "data", data_type: "chart", data: { title: text, mark: "bar", columns: [text, text], rows: [[text, 3]] } },
    { type: "data", data_type: "image", data: { url: text, alt: text, caption: text } },
    { type: "data", data_type: "image", data: { base64: text, media_type: text } },
    { type: "data", data_type: "custom", data: tree, metadata: tree },
    {
      type: "error",
      message: text,
      code: text,
      stage: text,
      error_type: "system",
      recoverable: true,
      details: { stack_trace: text, ...tree },
    },
    {
      type: "retrieval_complete",
      doc_count: 1,
      query: text,
      sources: [
        { title: text, uri: text, snippet: text, ref: index },
        { title: "", uri: text },
      ],
    },
    { type: "compression_applied", before_tokens: 2, after_tokens: 1, method: text, summary: text },
    { type: "custom", value: tree },
    { type: "foreign", dialect: text, frame: tree },
    { type: "checkpoint", checkpoint_id: text, timestamp: text, step: index, state: tree, checkpoint_ns: text },
    { type: "values", state: tree },
    { type: "node_exit", id: text, result: index % 2 === 0 ? "Ok" : { Err: text } },
  ];
}

const VALUES = { values: [{ a: `<img src=x onerror=${RUN}>`, b: 3, u: `javascript:${RUN}`, i: `${EVIL}/i.png` }] };
const SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json";
const XY = { x: { field: "a", type: "nominal" }, y: { field: "b", type: "quantitative" } };

/** Charts that fetch, link, run expressions, or are too much. */
const SPECIFICATIONS: readonly JsonObject[] = [
  { $schema: SCHEMA, data: { url: `${EVIL}/data.json` }, mark: "bar", encoding: XY },
  { $schema: SCHEMA, data: VALUES, mark: "bar", encoding: { ...XY, href: { field: "u", type: "nominal" } } },
  {
    $schema: SCHEMA,
    data: VALUES,
    mark: { type: "bar", href: `javascript:${RUN}`, cursor: `url(${EVIL}/c.cur)` },
    encoding: XY,
  },
  { $schema: SCHEMA, data: VALUES, mark: "image", encoding: { ...XY, url: { field: "i", type: "nominal" } } },
  {
    $schema: SCHEMA,
    data: VALUES,
    mark: { type: "bar", fill: `url(${EVIL}/f.svg#x)` },
    encoding: { ...XY, tooltip: { field: "a" } },
  },
  {
    $schema: SCHEMA,
    data: VALUES,
    transform: [
      { calculate: `constructor.constructor('${RUN}')()`, as: "z" },
      { calculate: "window.open('https://evil.example')", as: "w" },
      { filter: `datum.constructor.constructor('${RUN}')()` },
    ],
    mark: "point",
    encoding: XY,
  },
  {
    $schema: SCHEMA,
    title: { text: `<script>${RUN}</script>`, href: `javascript:${RUN}` },
    data: VALUES,
    params: [{ name: "p", expr: `globalThis.__ran=1`, bind: { input: "range", element: "body" } }],
    mark: "bar",
    encoding: XY,
    config: { font: `x"; background: url(${EVIL}/x)`, background: `url(${EVIL}/b.png)` },
  },
  { $schema: SCHEMA, data: { sequence: { start: 0, stop: 1e12, as: "a" } }, mark: "point", encoding: XY },
  { $schema: SCHEMA, data: { url: `${EVIL}/map.json`, format: { type: "topojson", feature: "x" } }, mark: "geoshape" },
  { $schema: "https://vega.github.io/schema/vega/v6.json", data: [{ name: "t", url: `${EVIL}/v.json` }], marks: [] },
  { $schema: `javascript:${RUN}`, mark: `<img src=x onerror=${RUN}>`, encoding: XY, data: VALUES },
  {
    $schema: SCHEMA,
    data: VALUES,
    mark: "bar",
    encoding: { ["__proto__"]: { field: "a" }, ...XY },
    usermeta: { embedOptions: { loader: EVIL } },
  },
];
