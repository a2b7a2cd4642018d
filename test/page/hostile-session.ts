/** Sessions in which every field that a model or a tool fills is hostile. */
import type { Log } from "../../src/log/index.ts";
import type { JsonObject, LoomEvent } from "../../src/protocol/index.ts";
import { LogWriter } from "./log-writer.ts";

const RUN = "window.__ran=1";
const EVIL = "https://evil.example";

/** Rounds through all fields if each field gets another text. */
const MIXED_ROUNDS = 3;

/**
 * Writes a session with hostile texts in every field, then hostile charts, and ends it with an error. With `isMixed`,
 * each text is in some fields, and is the URL of a source and of an image. Returns the number of fields per text.
 */
export async function writeHostileSession(
  log: Log,
  session: string,
  texts: readonly string[],
  { isMixed = false }: { readonly isMixed?: boolean } = {},
): Promise<ReadonlyMap<string, number>> {
  const given = new Map<string, number>();
  const give = (text: string): string => {
    given.set(text, (given.get(text) ?? 0) + 1);
    return text;
  };
  const [some = ""] = texts;
  // Names have a maximum length and no null characters.
  const name = some.replaceAll("\0", "").slice(0, 80);
  const writer = await new LogWriter(log, session, `node-${name}`).open();
  writer.begin(`run-${name}`, {
    message: texts.join("\n"),
    agent: some,
    request_id: some,
    attachments: texts.flatMap((text, index) => {
      const kinds = attach(text);
      return isMixed ? kinds.slice(index % 3, (index % 3) + 1) : kinds;
    }),
  });
  if (isMixed) {
    for (let round = 0, at = 0; round < MIXED_ROUNDS; round++)
      writer.put(...fillFields(() => give(texts[at++ % texts.length] ?? ""), round));
    writer.put(
      { type: "retrieval_complete", doc_count: texts.length, sources: texts.map((uri) => ({ title: "", uri })) },
      ...texts.map((url, index): LoomEvent =>
        index % 2 === 0 ? { type: "image", url } : { type: "data", data_type: "image", data: { url } },
      ),
    );
  } else for (const [index, text] of texts.entries()) writer.put(...fillFields(() => give(text), index));
  for (const spec of SPECIFICATIONS) writer.put({ type: "data", data_type: "chart", data: spec, metadata: spec });
  writer.end({ status: "error", reason: texts.join("\n"), code: some });
  await writer.flush();
  return given;
}

/** Diagrams that try to run a script, to load something and to change the limits. The last one is invalid. */
const DIAGRAMS = [
  `flowchart LR\n  A["<img src=x onerror=${RUN}><script>${RUN}</script>"] --> B\n  click B href "javascript:${RUN}"`,
  `%%{init: {"securityLevel": "loose", "themeCSS": "@import url(${EVIL}/x.css);", "htmlLabels": true}}%%
flowchart LR\n  A["<a href='javascript:${RUN}'>x</a><img src='${EVIL}/x.png'>"] --> B\n  click B call alert()`,
  `sequenceDiagram\n  accTitle: <svg onload=${RUN}>\n  A->>B: <iframe srcdoc="<script>parent.${RUN}</script>">
  link A: x @ javascript:${RUN}`,
  `flowchart LR\n  A[ <script>${RUN}</script>`,
];
export const DRAWN_DIAGRAMS = DIAGRAMS.length - 1;

/** Writes an answer in each format, split at arbitrary positions. All begin with diagrams, which only Markdown has. */
export async function writeHostileAnswers(log: Log, session: string, texts: readonly string[]): Promise<void> {
  const writer = await new LogWriter(log, session).open();
  const answer = [...DIAGRAMS.map((source) => `\`\`\`mermaid\n${source}\n\`\`\``), ...texts].join("\n\n");
  for (const format of ["markdown", "html", "text", "application/x-unknown"]) {
    writer.begin(`run-${format}`, { message: format });
    writer.put({ type: "node_enter", id: "think" });
    for (const piece of answer.match(/[^]{1,700}/g) ?? [])
      writer.put({ type: "message_chunk", id: "think", content: piece, format });
    writer.put({ type: "node_exit", id: "think", result: "Ok" });
    writer.end({}, answer);
  }
  await writer.flush();
}

/** Writes trees and graphs of thoughts. IDs have a maximum length. */
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

/** Writes a run that waits for approval. */
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
    {
      type: "tool_approval",
      call_id: "b",
      name: some,
      arguments: { ...asked, nested: asked, list: [...texts] },
      preview: texts.join("\n"),
    },
    { type: "tool_start", call_id: "c", name: some },
    { type: "tool_progress", call_id: "c", name: some, progress: 40, message: texts.join("\n") },
  );
  await writer.flush();
}

/** At most fifty attachments of a message are shown. */
function attach(text: string) {
  return [
    { blob_id: "0".repeat(64), name: text, media_type: "text/plain", bytes: 5 },
    { blob_id: text, name: `${text}.png`, media_type: "image/png", bytes: 5 },
    { blob_id: "f".repeat(64), name: text, media_type: text, bytes: 5 },
  ];
}

/** `next` returns the text of the next field. */
function fillFields(next: () => string, index: number): LoomEvent[] {
  // IDs have a maximum length.
  const call_id = `call-${index}-${next()}`.slice(0, 80);
  const list_id = `list-${index}-${next()}`.slice(0, 80);
  const tree = (): JsonObject => ({ [next()]: next(), list: [next(), { [next()]: next() }] });
  const name = next();
  const id = next();
  return [
    { type: "node_enter", id, parent: next() },
    { type: "llm_start", llm_call_id: call_id, model: next(), purpose: next() },
    { type: "reasoning_chunk", id, content: next(), stage: next() },
    { type: "reasoning_end", id, duration_ms: 5 },
    { type: "message_chunk", id, content: next(), is_complete: true },
    { type: "tool_call_chunk", call_id, name, arguments_delta: next() },
    { type: "tool_call", call_id, name, description: next(), arguments: tree(), raw_arguments: next() },
    { type: "tool_approval", call_id, name, arguments: tree() },
    {
      type: "tool_approval_result",
      call_id,
      name,
      decision: "rejected",
      reason: next(),
      actor: next(),
      arguments: tree(),
    },
    { type: "tool_start", call_id, name },
    { type: "tool_output", call_id, name, content: next() },
    { type: "tool_progress", call_id, name, progress: 50, message: next() },
    { type: "tool_end", call_id, name, result: next(), is_error: index % 2 === 1, output: tree(), error_code: next() },
    { type: "llm_end", llm_call_id: call_id, model: next(), finish_reason: next(), error: next(), error_code: next() },
    { type: "image", url: next(), alt: next(), media_type: next() },
    { type: "todo_list", list_id, title: next(), items: [{ id: call_id, text: next(), completed: false }] },
    { type: "todo_update", list_id, item_id: call_id, text: `${next()} ` },
    { type: "data", data_type: "dataframe", data: { name: next(), columns: [next(), "n"], rows: [[next(), 1]] } },
    {
      type: "data",
      data_type: "dataframe",
      data: { rows: [{ [next()]: next() }] },
      metadata: { description: next(), [next()]: next() },
    },
    {
      type: "data",
      data_type: "chart",
      data: { title: next(), mark: "bar", columns: [next(), next()], rows: [[next(), 3]] },
    },
    { type: "data", data_type: "image", data: { url: next(), alt: next(), caption: next() } },
    { type: "data", data_type: "image", data: { base64: next(), media_type: next() } },
    { type: "data", data_type: "custom", data: tree(), metadata: tree() },
    {
      type: "error",
      message: next(),
      code: next(),
      stage: next(),
      error_type: "system",
      recoverable: true,
      details: { stack_trace: next(), ...tree() },
    },
    {
      type: "retrieval_complete",
      doc_count: 1,
      query: next(),
      sources: [
        { title: next(), uri: next(), snippet: next(), ref: index },
        { title: "", uri: next() },
      ],
    },
    { type: "compression_applied", before_tokens: 2, after_tokens: 1, method: next(), summary: next() },
    { type: "custom", value: tree() },
    { type: "foreign", dialect: next(), frame: tree() },
    { type: "checkpoint", checkpoint_id: next(), timestamp: next(), step: index, state: tree(), checkpoint_ns: next() },
    { type: "values", state: tree() },
    { type: "node_exit", id, result: index % 2 === 0 ? "Ok" : { Err: next() } },
  ];
}

const VALUES = { values: [{ a: `<img src=x onerror=${RUN}>`, b: 3, u: `javascript:${RUN}`, i: `${EVIL}/i.png` }] };
const SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json";
const XY = { x: { field: "a", type: "nominal" }, y: { field: "b", type: "quantitative" } };

/** Charts that load, link, run expressions or are too large. */
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
