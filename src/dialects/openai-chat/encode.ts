/**
 * Encodes records as chunks of the Chat Completions API: one message with one choice. What has no field is a chunk
 * without content that has the event in the field `loom`. Such chunks have a choice, because many clients read
 * `choices[0]` of every chunk.
 */
import type { EventOf, EventType, JsonObject, LoomEvent, StampedRecord } from "../../protocol/index.ts";
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
import { dropUndefined } from "../drop-undefined.ts";
import { createFoldEncoder } from "../fold-encoder.ts";
import { carried, converted, type LedgerRow, type LedgerTable, omitted } from "../ledger.ts";
import { addAnswerText, createStreamedAnswer, findUnsentText, type StreamedAnswer } from "../reply-text.ts";
import { DEFAULT_NODE_NAME } from "../tool-values.ts";
import { CHUNK } from "./decode.ts";

const FAILED = "The run failed";
const CANCELLED = "The run was cancelled";
const GRAPH_STATE = "clients of the Chat Completions API do not show graph state";
const FINISH_REASONS: { readonly [reason: string]: string } = {
  stop: "stop",
  length: "length",
  content_filter: "content_filter",
};

/** The state of one message. Plain data, because encoders are saved. */
interface SentCompletion {
  /** The fields that every chunk has, as JSON without the closing brace. */
  head: string;
  readonly id: string;
  readonly created: number;
  isOpen: boolean;
  finishReason: string | undefined;
  usage: { prompt: number; completion: number; total: number } | undefined;
  /** True if the message has text of an attempt that was repeated. */
  isRepeated: boolean;
  readonly answered: StreamedAnswer;
}

export function createOpenaiChatEncoder(_options?: EncoderOptions, saved?: unknown): Encoder {
  return createFoldEncoder<SentCompletion>(
    {
      table: OPENAI_CHAT_TABLE,
      create: createSentCompletion,
      before(fold, { event }) {
        if (fold.isOpen) return NO_FRAMES;
        fold.isOpen = true;
        const { agent: model = "loom" } = event as Partial<EventOf<"run_start">>;
        const { id, created } = fold;
        fold.head = JSON.stringify({ id, object: CHUNK, created, model }).slice(0, -1);
        return [writeDelta(fold, '"role":"assistant","content":""')];
      },
    },
    saved,
  );
}

function createSentCompletion({ envelope, event }: StampedRecord): SentCompletion {
  const { run_id } = event as Partial<EventOf<"run_start">>;
  const { event_id, ts = 0 } = envelope;
  return {
    head: "",
    id: envelope.run_id ?? run_id ?? `chatcmpl_${event_id}`,
    created: Math.max(0, Math.floor(ts / 1000)),
    isOpen: false,
    finishReason: undefined,
    usage: undefined,
    isRepeated: false,
    answered: createStreamedAnswer(),
  };
}

/** Written by hand: it is the chunk of each token. `delta` has the fields of the delta as JSON. */
function writeDelta({ head }: SentCompletion, delta: string, more = ""): string {
  return `${head},"choices":[{"index":0,"delta":{${delta}},"finish_reason":null}]${more}}`;
}

function writeExtension(fold: SentCompletion, event: JsonObject): string {
  return writeDelta(fold, "", `,"loom":${JSON.stringify(event)}`);
}

/** A row for an event that only clients of Loom read. It has all its fields. */
function extension<T extends EventType>(note?: string): LedgerRow<SentCompletion, T> {
  return carried(
    "loom",
    (fold, event) => [writeExtension(fold, event as unknown as JsonObject)],
    note === undefined ? {} : { note },
  );
}

export const OPENAI_CHAT_TABLE: LedgerTable<SentCompletion> = {
  run_start: carried("delta.role", () => NO_FRAMES, {
    lostFields: [
      "message",
      "agent",
      "contiguous",
      "source",
      "request_id",
      "context",
      "attachments",
      "reasoning",
      "actor",
      "tool_rules",
      "on_interruption",
      "capabilities",
    ],
    note: "the ID of the message is the ID of the run, its model is the agent",
  }),
  llm_start: omitted("a message has no steps"),
  llm_end: omitted("the reason of the last model call is the `finish_reason`", (fold, event) => {
    const { purpose = "answer", finish_reason = "" } = event;
    if (purpose === "answer") fold.finishReason = FINISH_REASONS[finish_reason] ?? fold.finishReason;
  }),
  node_enter: converted(
    "loom",
    (fold, { id, supersedes }) => {
      if (supersedes === undefined) return NO_FRAMES;
      const hasText = fold.answered.nodes.has(supersedes);
      fold.isRepeated ||= hasText;
      const mark = writeExtension(fold, { type: "superseded", id, node_id: supersedes });
      return hasText ? [mark, writeDelta(fold, '"content":"\\n\\n"')] : [mark];
    },
    {
      note: "only if the node run repeats an interrupted one: the mark `superseded`, and a blank line if that one had sent text, which a client cannot take back. The last chunk then has the reply. It is not read back",
      roundTrip: () => undefined,
    },
  ),
  node_exit: omitted("a message has no node runs"),
  message_chunk: carried(
    "delta.content",
    (fold, { content, channel }, { envelope }) => {
      if (content === "") return NO_FRAMES;
      if (channel === "thought") return [writeDelta(fold, `"reasoning_content":${JSON.stringify(content)}`)];
      addAnswerText(fold.answered, envelope.node_id, content);
      return [writeDelta(fold, `"content":${JSON.stringify(content)}`)];
    },
    {
      lostFields: ["id", "channel", "format", "is_complete"],
      note: "text of thoughts is sent as reasoning; texts of node runs that run in parallel are mixed",
      roundTrip: ({ content, channel }) =>
        channel === "thought"
          ? { type: "reasoning_chunk", content }
          : { type: "message_chunk", content, id: DEFAULT_NODE_NAME },
    },
  ),
  reasoning_chunk: carried(
    "delta.reasoning_content",
    (fold, { content }) =>
      content === "" ? NO_FRAMES : [writeDelta(fold, `"reasoning_content":${JSON.stringify(content)}`)],
    { lostFields: ["id", "stage"], note: "not part of the API, but clients of other models read it" },
  ),
  reasoning_end: extension(),
  tool_call_chunk: extension(),
  tool_call: extension("the server runs the tool; `tool_calls` would ask the client to run it"),
  tool_start: extension(),
  tool_output: extension(),
  tool_progress: extension(),
  tool_end: extension(),
  tool_approval: extension("the API has no approvals"),
  tool_approval_result: extension(),
  todo_list: extension(),
  todo_update: extension(),
  image: extension(),
  retrieval_complete: extension(),
  error: extension("clients stop at the field `error`, so it is sent only if the run does not complete"),
  custom: extension(),
  foreign: extension(),
  usage: carried(
    "usage",
    (fold, event) => {
      const { prompt, completion, total } = fold.usage ?? { prompt: 0, completion: 0, total: 0 };
      fold.usage = {
        prompt: prompt + event.prompt_tokens,
        completion: completion + event.completion_tokens,
        total: total + event.total_tokens,
      };
      return [writeExtension(fold, event as unknown as JsonObject)];
    },
    { note: "in `loom`; a last chunk without choices has the sum as `usage`" },
  ),
  data: extension(),
  compression_applied: extension(),
  tot_expand: extension(),
  tot_evaluate: extension(),
  tot_backtrack: extension(),
  got_plan: extension(),
  got_node_start: extension(),
  got_node_complete: extension(),
  got_node_failed: extension(),
  got_expand: extension(),
  values: omitted(GRAPH_STATE),
  updates: omitted(GRAPH_STATE),
  checkpoint: omitted(GRAPH_STATE),
  run_end: carried(
    "error",
    (fold, { status, reason, code }) => {
      if (status === "completed") return NO_FRAMES;
      const isFailed = status === "error";
      const error = {
        message: reason ?? (isFailed ? FAILED : CANCELLED),
        type: isFailed ? "server_error" : "cancelled",
        param: null,
        code: code ?? null,
      };
      const loom = dropUndefined({ type: "run_end", status, reason, code });
      return [`${fold.head},"choices":[],"error":${JSON.stringify(error)},"loom":${JSON.stringify(loom)}}`];
    },
    {
      lostFields: ["summary", "first_event_id", "last_event_id", "frame_count"],
      note: "also if the run was cancelled: a `finish_reason` would show the text as complete",
      roundTrip: ({ status, reason, code }) =>
        dropUndefined({
          type: "run_end",
          status,
          ...(status === "completed" ? {} : { reason, code }),
        }) as unknown as LoomEvent,
    },
  ),
  reply: carried(
    "finish_reason",
    (fold, { reply }, { envelope }) => {
      const { head, finishReason = "stop", usage, isRepeated } = fold;
      const rest = findUnsentText(fold.answered, envelope.node_id, reply);
      const frames = rest === "" ? [] : [writeDelta(fold, `"content":${JSON.stringify(rest)}`)];
      // `null` says that the usage follows.
      const more = `${usage === undefined ? "" : ',"usage":null'}${isRepeated ? `,"loom":${JSON.stringify({ type: "reply", reply })}` : ""}`;
      frames.push(`${head},"choices":[{"index":0,"delta":{},"finish_reason":"${finishReason}"}]${more}}`);
      if (usage === undefined) return frames;
      const { prompt: prompt_tokens, completion: completion_tokens, total: total_tokens } = usage;
      return [
        ...frames,
        `${head},"choices":[],"usage":${JSON.stringify({ prompt_tokens, completion_tokens, total_tokens })}}`,
      ];
    },
    { note: "text that was not streamed is sent before it; read back as all text of the message" },
  ),
};
