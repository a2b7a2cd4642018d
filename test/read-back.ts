/**
 * How each dialect reads back an event that it has sent: what the ledger states as lost is absent, and a few events change.
 * Effects of several events on each other are in `dialect-pairs.test.ts`.
 */
import { AI_SDK, ANY_IMAGE, DENIED } from "../src/dialects/ai-sdk/chunk-reader.ts";
import type { DialectName } from "../src/dialects/dialect.ts";
import { dropUndefined } from "../src/protocol/drop-undefined.ts";
import { readText } from "../src/dialects/frame-traits.ts";
import { DIALECTS } from "../src/dialects/index.ts";
import { titleOf } from "../src/dialects/lumine/error-texts.ts";
import { imageOf } from "../src/dialects/lumine/encode.ts";
import { writeMarkdownTable } from "../src/dialects/lumine/write-markdown-table.ts";
import { readErrorCode } from "../src/dialects/openai-responses/output-items.ts";
import {
  DEFAULT_NODE_NAME,
  readArguments,
  resultObject,
  resultValue,
  splitResult,
  splitResultObject,
  splitWholeResult,
  wholeResultObject,
} from "../src/dialects/tool-values.ts";
import { errorTypeOf } from "../src/protocol/error-codes.ts";
import type { EventOf, EventType, LoomEvent } from "../src/protocol/index.ts";
import { isNextAttempt } from "../src/protocol/record.ts";

type Readers = { readonly [T in EventType]?: (event: EventOf<T>) => object | undefined };

const FAILED = "The run failed";

function readPiece({ content, channel }: EventOf<"message_chunk">): LoomEvent {
  if (channel === "thought") return { type: "reasoning_chunk", content };
  return { type: "message_chunk", content, id: DEFAULT_NODE_NAME };
}

/** Only a run that did not complete has a reason. */
function readEnd(status: EventOf<"run_end">["status"], reason?: string, code?: string): object {
  return status === "completed" ? { type: "run_end", status } : { type: "run_end", status, reason, code };
}

/** By dialect, the events that are read back with other fields. */
const READERS: { readonly [D in DialectName]?: Readers } = {
  "ai-sdk": {
    message_chunk: readPiece,
    tool_call: ({ raw_arguments, description, index: _index, server: _server, ...call }) => ({
      ...call,
      arguments: raw_arguments === undefined ? call.arguments : {},
      description: description === "" ? undefined : description,
      raw_arguments,
    }),
    tool_end(event) {
      const { type, call_id, name, result, is_error, error_code } = event;
      if (!is_error) return { type, call_id, name, is_error, ...splitResult(resultValue(event)) };
      const isDenied = error_code === "tool_rejected";
      return { type, call_id, name, is_error, ...(isDenied ? { result: DENIED, error_code } : { result }) };
    },
    tool_approval_result: ({ type, call_id, name, decision, arguments: edited }) =>
      decision === "expired" ? undefined : { type, call_id, name, decision, arguments: edited },
    image: ({ type, url, media_type }) =>
      media_type === undefined || media_type.startsWith("image/")
        ? { type, url, media_type: media_type === ANY_IMAGE ? undefined : media_type }
        : { type: "foreign", dialect: AI_SDK, frame: { type: "file", url, mediaType: media_type } },
    run_end: ({ status, reason = status === "error" ? FAILED : "" }) =>
      readEnd(status, reason === "" ? undefined : reason),
  },
  "ag-ui": {
    message_chunk: readPiece,
    tool_call: ({ type, call_id, name, arguments: args, description, raw_arguments }) => ({
      type,
      call_id,
      name,
      ...readArguments(raw_arguments ?? JSON.stringify(args)),
      description,
    }),
    values: (event) =>
      (event.checkpoint_ns ?? "") === "" && event.delta !== true ? { type: "values", state: event.state } : event,
    run_end: ({ status, reason = status === "error" ? FAILED : undefined, code }) => readEnd(status, reason, code),
  },
  "openai-responses": {
    message_chunk: readPiece,
    tool_call: ({ type, call_id, name, arguments: args, description, raw_arguments }) => ({
      type,
      call_id,
      name,
      ...readArguments(raw_arguments ?? JSON.stringify(args)),
      description: description === "" ? undefined : description,
    }),
    run_end({ status, reason, code }) {
      const shown = readText(reason) ?? (status === "error" ? FAILED : undefined);
      const named = readText(code);
      return readEnd(status, shown, status === "error" ? readErrorCode(named) : named);
    },
  },
  "openai-chat": {
    message_chunk: readPiece,
    run_end: ({ status, reason, code }) => readEnd(status, reason, code),
  },
  engine: {
    run_start({ type, request_id, run_id }) {
      const id = request_id ?? run_id;
      return { type, run_id: id, request_id: id };
    },
    message_chunk: ({ format, is_complete, ...event }) =>
      event.channel === "thought" ? readPiece(event) : { ...readPiece(event), format, is_complete },
    reasoning_chunk: ({ id: _id, channel: _channel, ...event }) => event,
    tool_progress: ({ message, ...event }) => ({ ...event, message: message === "" ? undefined : message }),
    tool_end({ summary: _summary, ...event }) {
      if (event.is_error) return { ...event, error_code: event.error_code ?? "tool_failed" };
      const { result: _result, output: _output, error_code: _code, ...rest } = event;
      return { ...rest, ...splitResultObject(resultObject(event)) };
    },
    image: ({ url, media_type, alt }) => ({
      type: "data",
      data_type: "image",
      data: dropUndefined({ url, media_type, alt }),
    }),
    error({ call_id: _call, attempt, ...rest }) {
      const restart = { code: rest.code, attempt };
      const event = isNextAttempt(restart) ? { ...rest, attempt: restart.attempt } : rest;
      const { stack_trace: _stack, ...shown } = event.details ?? {};
      const details = event.details === undefined ? undefined : shown;
      return { ...event, details, error_type: errorTypeOf(event), recoverable: event.recoverable ?? false };
    },
  },
  lumine: {
    message_chunk: readPiece,
    // The next frame shows it.
    tool_approval_result: () => undefined,
    tool_end({ duration_ms: _duration, actor: _actor, summary: _summary, ...event }) {
      if (event.is_error) return event;
      const { error_code: _code, output: _output, result: _result, ...rest } = event;
      return { ...rest, ...splitWholeResult(wholeResultObject(event)) };
    },
    todo_list: ({ title = "", ...event }) => ({ ...event, title: titleOf(title, "en") }),
    data(event) {
      const content = writeMarkdownTable(event);
      return content === undefined ? imageOf(event) : { type: "message_chunk", content, id: DEFAULT_NODE_NAME };
    },
    error: ({ type, message, code, attempt }) =>
      isNextAttempt({ code, attempt }) ? { type, message, code, recoverable: true, attempt } : { type, message, code },
  },
  "stream-event": {
    run_start({ type, request_id, run_id, message = "", source = "stream" }) {
      const id = request_id ?? run_id;
      return { type, message, source, run_id: id, request_id: id };
    },
    message_chunk: readPiece,
    tool_call: ({ type, call_id, name }) => ({ type, call_id, name, arguments: {} }),
    tool_end: ({ type, call_id, name, result }) => ({ type, call_id, name, result, is_error: false }),
    error({ type, message, stage = "unknown", code, attempt }) {
      if (!isNextAttempt({ code, attempt })) return { type, message, stage };
      return { type, message, stage: "interrupted", code, recoverable: true, attempt };
    },
  },
};

/** Returns the event that the decoder of the dialect gives for a sent one; undefined if there is none. */
export function readBack(dialect: DialectName, event: LoomEvent): LoomEvent | undefined {
  const row = DIALECTS[dialect].ledger[event.type];
  if (row.support === "omitted" || row.isLost?.(event) === true) return undefined;
  const read = READERS[dialect]?.[event.type] as ((event: LoomEvent) => object | undefined) | undefined;
  const back = read === undefined ? withoutFields(event, row.lostFields) : read(event);
  return back === undefined ? undefined : (dropUndefined(back) as LoomEvent);
}

function withoutFields(event: LoomEvent, fields: readonly string[]): object {
  return Object.fromEntries(Object.entries(event).filter(([name]) => !fields.includes(name)));
}
