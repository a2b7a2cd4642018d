/**
 * Random valid sessions for property tests: runs as our sender writes them, with spans, tools, thoughts, data and every
 * end status.
 */
import fc from "fast-check";
import type { AnyEvent, EventOf, Json, StampedRecord } from "../src/protocol/index.ts";
import { isAnswerChannel } from "../src/protocol/record.ts";

const clean = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const text = fc.oneof(
  fc.string({ maxLength: 12, unit: "grapheme" }),
  fc.constantFrom("[DONE]", "你好", "\n", '"', "\u2028", "a\tb"),
);
const word = fc.stringMatching(/^[a-z]{1,6}$/);
const json = fc.jsonValue({ maxDepth: 3 }).map((value) => clean(value) as Json);
const map = fc
  .dictionary(fc.oneof(word, fc.constantFrom("__proto__", "constructor", "$loom", "type")), json, { maxKeys: 3 })
  .map(clean);
const count = fc.nat({ max: 1000 });

/** A record in which each field is optional. */
function maybe<T extends object>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Partial<T>> {
  return fc.record(fields, { requiredKeys: [] }).map((value) => clean(value) as Partial<T>);
}

function event(
  type: string,
  required: { readonly [name: string]: fc.Arbitrary<unknown> },
  optional: { readonly [name: string]: fc.Arbitrary<unknown> } = {},
): fc.Arbitrary<AnyEvent> {
  return fc
    .tuple(fc.record(required), maybe(optional))
    .map(([a, b]) => clean({ type, ...a, ...b }) as unknown as AnyEvent);
}

/** Events of a node run that belong together, in order. `n` makes IDs unique. */
type NodeRunPart = (n: number, node: string) => AnyEvent[];

const always = (arbitrary: fc.Arbitrary<AnyEvent>): fc.Arbitrary<NodeRunPart> => arbitrary.map((made) => () => [made]);

const answer = event(
  "message_chunk",
  { content: text },
  { channel: fc.constant("answer"), format: fc.constantFrom("markdown", "text"), is_complete: fc.boolean() },
);
const chunkPart: fc.Arbitrary<NodeRunPart> = answer.map((made) => (_n, node) => [{ ...made, id: node }]);
const thoughtPart: fc.Arbitrary<NodeRunPart> = text.map((content) => (_n, node) => [
  { type: "message_chunk", content, id: node, channel: content.length % 3 === 2 ? "judgement" : "thought" },
]);
const reasoningPart: fc.Arbitrary<NodeRunPart> = fc
  .tuple(
    fc.array(text, { minLength: 1, maxLength: 3 }),
    maybe({ stage: fc.constantFrom("reasoning", "planning") }),
    maybe({ duration_ms: count }),
  )
  .map(([pieces, stage, end]) => () => [
    ...pieces.map((content): AnyEvent => ({ type: "reasoning_chunk", content, ...stage })),
    { type: "reasoning_end", ...end },
  ]);

const toolPart: fc.Arbitrary<NodeRunPart> = fc
  .record({
    name: word,
    args: map,
    description: maybe({ description: text }),
    streamed: fc.boolean(),
    approval: fc.constantFrom("none", "none", "approved", "rejected"),
    runs: fc.boolean(),
    progress: fc.array(fc.nat({ max: 100 }), { maxLength: 2 }),
    output: fc.array(text, { maxLength: 2 }),
    end: fc.tuple(text, maybe({ output: json.filter((value) => value !== null), duration_ms: count })),
    fails: fc.boolean(),
  })
  .map((made) => (n) => {
    const call_id = `call_${n}`;
    const { name, args } = made;
    const refused = made.approval === "rejected";
    const starts = !refused && (made.runs || !made.fails);
    const whole = JSON.stringify(args);
    const events: AnyEvent[] = [];
    if (made.streamed) {
      events.push({ type: "tool_call_chunk", call_id, name, arguments_delta: whole.slice(0, 2) });
      events.push({ type: "tool_call_chunk", call_id, arguments_delta: whole.slice(2) });
    }
    events.push({ type: "tool_call", call_id, name, arguments: args, ...made.description });
    if (made.approval !== "none") {
      events.push({ type: "tool_approval", call_id, name, arguments: args });
      events.push({ type: "tool_approval_result", call_id, name, decision: refused ? "rejected" : "approved" });
    }
    if (starts) {
      events.push({ type: "tool_start", call_id, name });
      for (const progress of made.progress) events.push({ type: "tool_progress", call_id, name, progress });
      for (const content of made.output) events.push({ type: "tool_output", call_id, name, content });
    }
    const [result, more] = made.end;
    const code = refused ? { error_code: "tool_rejected" } : {};
    events.push({ type: "tool_end", call_id, name, result, is_error: refused || made.fails, ...code, ...more });
    return events;
  });

const todoPart: fc.Arbitrary<NodeRunPart> = fc
  .tuple(
    fc.array(fc.tuple(text, fc.boolean()), { minLength: 1, maxLength: 3 }),
    maybe({ title: text }),
    maybe({ completed: fc.boolean(), text }),
  )
  .map(([items, title, update]) => (n) => [
    {
      type: "todo_list",
      list_id: `list_${n}`,
      items: items.map(([words, completed], i) => ({ id: `i${i}`, text: words, completed })),
      ...title,
    },
    { type: "todo_update", list_id: `list_${n}`, item_id: "i0", ...update },
  ]);

const modelPart: fc.Arbitrary<NodeRunPart> = maybe({
  finish_reason: fc.constantFrom("stop", "tool_calls"),
  duration_ms: count,
}).map((end) => (n) => [
  { type: "llm_start", llm_call_id: `llm_${n}`, model: "m" },
  { type: "usage", prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
  { type: "llm_end", llm_call_id: `llm_${n}`, ...end },
]);

const graphPart: fc.Arbitrary<NodeRunPart> = fc.tuple(text, fc.boolean()).map(([words, fails]) => (n) => {
  const [a, b] = [`g${n}a`, `g${n}b`];
  return [
    { type: "got_plan", node_count: 2, edge_count: 1, node_ids: [a, b], edges: [[a, b]], labels: [words, words] },
    { type: "got_node_start", id: a },
    fails
      ? { type: "got_node_failed", id: a, error: words }
      : { type: "got_node_complete", id: a, result_summary: words },
    { type: "got_expand", node_id: b, nodes_added: 1, edges_added: 1, nodes: [`g${n}c`], edges: [[b, `g${n}c`]] },
  ];
});

const treePart: fc.Arbitrary<NodeRunPart> = fc.array(text, { minLength: 1, maxLength: 3 }).map((candidates) => () => [
  { type: "tot_expand", candidates, depth: 1 },
  { type: "tot_evaluate", chosen: 0, scores: candidates.map((_, i) => i / 2) },
  { type: "tot_backtrack", reason: "dead end", to_depth: 0 },
]);

const errorEvent = event(
  "error",
  { message: text },
  {
    code: word,
    stage: fc.constantFrom("llm_stream", "tool_execute"),
    error_type: fc.constantFrom("timeout", "system"),
    recoverable: fc.boolean(),
    details: map,
  },
);

const part: fc.Arbitrary<NodeRunPart> = fc.oneof(
  { arbitrary: chunkPart, weight: 4 },
  { arbitrary: toolPart, weight: 3 },
  thoughtPart,
  reasoningPart,
  todoPart,
  modelPart,
  graphPart,
  treePart,
  always(
    event(
      "data",
      { data_type: fc.constantFrom("dataframe", "chart", "image", "custom"), data: map },
      { metadata: map },
    ),
  ),
  always(event("image", { url: word }, { media_type: word, alt: text })),
  always(errorEvent),
  always(event("retrieval_complete", { doc_count: count }, { query: text })),
  always(event("compression_applied", { before_tokens: count, after_tokens: count })),
  always(event("custom", { value: json })),
  always(event("custom", { value: map })),
  always(event("values", { state: json })),
  json.map((state) => (_n: number, node: string): AnyEvent[] => [{ type: "updates", id: node, state }]),
  always(event("x_unknown", { anything: json })),
);

interface Turn {
  readonly nodes: readonly { readonly name: string; readonly parts: readonly NodeRunPart[] }[];
  readonly status: "completed" | "error" | "cancelled";
  readonly reply: string;
  readonly start: { readonly request_id?: string };
  readonly end: object;
}

const turn: fc.Arbitrary<Turn> = fc.record({
  nodes: fc.array(
    fc.record({ name: fc.constantFrom("think", "act", "answer"), parts: fc.array(part, { maxLength: 4 }) }),
    { minLength: 1, maxLength: 3 },
  ),
  status: fc.constantFrom("completed", "completed", "error", "cancelled"),
  reply: text,
  start: maybe({ message: text, agent: word, source: fc.constantFrom("execute", "stream"), request_id: word }),
  end: maybe({ summary: fc.record({ total_tokens: count, tool_calls: count }), reason: text, code: word }),
});

/** A session of one to three turns. */
export const sessionArbitrary: fc.Arbitrary<StampedRecord[]> = fc
  .array(turn, { minLength: 1, maxLength: 3 })
  .map((turns) => {
    const records: StampedRecord[] = [];
    let n = 0;
    for (const [index, { nodes, status, reply, start, end }] of turns.entries()) {
      const run_id = `run-${index + 1}`;
      // A request ID names one run of a session.
      const { request_id } = start;
      const named = request_id === undefined ? start : { ...start, request_id: `${request_id}-${index + 1}` };
      const first = records.length + 1;
      const put = (event: AnyEvent, node_id?: string) => {
        const event_id = records.length + 1;
        records.push({
          envelope: {
            session_id: "s",
            run_id,
            ...(node_id === undefined ? {} : { node_id }),
            event_id,
            ts: 1_700_000_000_000 + event_id * 7,
          },
          event,
        });
      };
      put({ type: "run_start", run_id, contiguous: true, ...named });
      let written = "";
      let last = "";
      for (const [k, { name, parts }] of nodes.entries()) {
        const node = `run-${name}-${k + 1}`;
        put({ type: "node_enter", id: name }, node);
        written = "";
        last = node;
        for (const make of parts) {
          for (const made of make(++n, name)) {
            put(made, node);
            if (made.type === "message_chunk" && isAnswerChannel((made as EventOf<"message_chunk">).channel))
              written += (made as { content: string }).content;
          }
        }
        put({ type: "node_exit", id: name, result: "Ok" }, node);
      }
      const frames = records.length - first + (status === "completed" ? 3 : 2);
      const proof = { first_event_id: first, last_event_id: first + frames - 1, frame_count: frames };
      put({ type: "run_end", status, ...end, ...proof });
      const hasText = records.some(
        (r) =>
          r.envelope.run_id === run_id &&
          r.envelope.node_id === last &&
          r.event.type === "message_chunk" &&
          (r.event as { channel?: string }).channel !== "thought",
      );
      if (status === "completed") put({ type: "reply", reply: hasText ? written : reply }, last);
    }
    return records;
  });
