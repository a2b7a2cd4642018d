/**
 * Feeds endless streams, in which nothing ever ends, through a decoder, the checker and every encoder. The process runs
 * with a small heap and fails if state grows with the stream.
 */
import { createStamper, createStreamCheck, DIALECT_NAMES, type DialectName, DIALECTS } from "../src/dialects/index.ts";
import { sampleCases } from "./sampling.ts";

const count = Number(process.argv[2]);
const envelope = (i: number) => ({ session_id: `session-${i}-${"x".repeat(40)}`, event_id: 1 });

/** Each stream leaves another kind of thing open. */
const STREAMS: { readonly [name: string]: (i: number) => object } = {
  sessions: (i) => ({ ...envelope(i), type: "run_start", run_id: `run-${i}`, message: "Hi" }),
  both: (i) => ({ session_id: `s-${i % 5000}`, event_id: i + 1, type: "run_start", run_id: `run-${i}` }),
  runs: (i) => ({ session_id: "s", event_id: i + 1, type: "run_start", run_id: `run-${i}` }),
  spans: (i) => ({
    session_id: "s",
    run_id: "r",
    event_id: i + 1,
    node_id: `run-think-${i}`,
    type: "node_enter",
    id: "think",
  }),
  tools: (i) => ({
    session_id: "s",
    run_id: "r",
    event_id: i + 1,
    type: "tool_call",
    call_id: `call-${i}`,
    name: "t",
    arguments: { text: "y".repeat(100) },
  }),
  nameless: (i) => ({
    session_id: "s",
    run_id: "r",
    event_id: i + 1,
    type: "tool_call",
    name: "t",
    arguments: { text: "y".repeat(100) },
  }),
  names: (i) => ({ type: "node_enter", id: `node-${i}-${"x".repeat(100)}` }),
  toolNames: (i) => ({ type: "tool_start", name: `tool-${i}-${"x".repeat(100)}` }),
  arguments: (i) => ({
    session_id: "s",
    run_id: "r",
    event_id: i + 1,
    type: "tool_call_chunk",
    call_id: "c",
    name: "t",
    arguments_delta: "z".repeat(100),
  }),
  answers: (i) => ({
    session_id: "s",
    run_id: "r",
    event_id: i + 1,
    node_id: `n-${i}`,
    type: "message_chunk",
    content: "word ",
    id: "think",
  }),
  lists: (i) => ({
    session_id: "s",
    event_id: i + 1,
    type: "todo_list",
    list_id: `l-${i}`,
    items: [{ id: "a", text: "b".repeat(100), completed: false }],
  }),
  models: (i) => ({
    session_id: "s",
    run_id: "r",
    event_id: i + 1,
    type: "llm_start",
    llm_call_id: `llm-${i}-${"x".repeat(40)}`,
  }),
};

for (const make of sampleCases(Object.values(STREAMS), { perKind: 2 })) {
  const checker = createStreamCheck(DIALECTS.loom);
  const encoders = DIALECT_NAMES.map((name) => DIALECTS[name].createEncoder());
  const stamp = createStamper();
  const decoder = DIALECTS.loom.createDecoder();
  for (let i = 0; i < count; i++) {
    const text = JSON.stringify(make(i));
    checker.check(text);
    for (const record of decoder.decode(text).records) {
      const stamped = stamp(record);
      for (const encoder of encoders) encoder.encode(stamped);
    }
  }
}

const FOREIGN: { readonly [N in Exclude<DialectName, "loom">]: (i: number) => object } = {
  engine: (i) => ({
    type: "tool_call_start",
    data: { tool_id: `t-${i}`, tool_name: "t", arguments: {} },
    metadata: { request_id: `req-${i}-${"x".repeat(40)}`, timestamp: 1, sequence: 0 },
  }),
  lumine: (i) => ({
    type: "tool_use",
    id: "i",
    role: "assistant",
    session_id: "s",
    conversation_id: null,
    tool_use_id: `t-${i}`,
    content: null,
    toolName: "t",
    args: { text: "y".repeat(100) },
    result: null,
    status: "awaiting_approval",
    error: null,
  }),
  "ai-sdk": (i) => ({
    type: "tool-input-available",
    toolCallId: `t-${i}`,
    toolName: "t",
    input: { text: "y".repeat(100) },
  }),
  "ag-ui": (i) => ({ type: "TOOL_CALL_START", toolCallId: `t-${i}-${"x".repeat(40)}`, toolCallName: "t" }),
  "openai-responses": (i) => ({
    type: "response.output_item.added",
    output_index: i,
    item: { id: `t-${i}`, type: "function_call", call_id: `c-${i}`, name: "y".repeat(100) },
  }),
  "openai-chat": (i) => ({
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: { tool_calls: [{ index: i, id: `c-${i}`, function: { name: "y".repeat(100) } }] } }],
  }),
  "stream-event": (i) => ({
    type: "tool_calls_start",
    ts: 1,
    source: "stream",
    tool_calls: [
      { id: `t-${i}-${"x".repeat(40)}`, name: "t" },
      { id: "", name: "u" },
    ],
  }),
  export: (i) => ({ ToolCall: { call_id: `t-${i}`, name: "t", arguments: { text: "y".repeat(100) } } }),
};

for (const [name, make] of Object.entries(FOREIGN)) {
  const checker = createStreamCheck(DIALECTS[name as keyof typeof DIALECTS]);
  for (let i = 0; i < count; i++) checker.check(JSON.stringify(make(i)));
}
// Only the IDs of ended requests are kept.
const checker = createStreamCheck(DIALECTS.engine);
for (let i = 0; i < Math.max(count / 10, 800); i++) {
  const frames = [
    { type: "session_start", data: { session_id: "s", request_id: `r-${i}` } },
    { type: "content", data: { content: "w".repeat(100_000) } },
    { type: "session_end", data: { status: "completed" } },
  ];
  for (const [sequence, frame] of frames.entries())
    checker.check(JSON.stringify({ ...frame, metadata: { request_id: `r-${i}`, timestamp: 1, sequence } }));
}
process.stdout.write("done\n");
