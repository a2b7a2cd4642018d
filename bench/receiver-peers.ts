/** What the benchmark of the receiver compares ours with: a plain immutable reducer, and the state of `useChat`. */
import { Chat } from "@ai-sdk/react";
import type { UIMessageChunk } from "ai";
import type { PartialJson } from "../src/protocol/partial-json.ts";
import type { AnyEvent, EventRecord } from "../src/protocol/index.ts";
import { streamOf } from "./records.ts";

interface PlainText {
  readonly type: "text";
  readonly text: string;
}

interface PlainCall {
  readonly type: "tool";
  readonly id: string;
  readonly name: string;
  readonly text: string;
  /** The arguments so far, if they are parsed while they stream. */
  readonly value?: unknown;
}

interface PlainMessage {
  readonly role: string;
  readonly content: string;
  readonly parts: readonly (PlainText | PlainCall)[];
}

interface PlainState {
  readonly sessions: readonly {
    readonly id: string;
    readonly turns: readonly { readonly id: string; readonly messages: readonly PlainMessage[] }[];
  }[];
}

/** Sessions, turns, messages and parts as in the view, found by ID. Does not order or check records. */
function reducePlainly(state: PlainState, { envelope, event }: EventRecord, reader?: PartialJson): PlainState {
  if (event.type === "run_start") {
    const turn = {
      id: envelope.run_id as string,
      messages: [
        { role: "user", content: fieldOf(event, "message"), parts: [] },
        { role: "assistant", content: "", parts: [] },
      ],
    };
    const known = state.sessions.some(({ id }) => id === envelope.session_id);
    if (!known)
      return { ...state, sessions: [...state.sessions, { id: envelope.session_id as string, turns: [turn] }] };
    return {
      ...state,
      sessions: state.sessions.map((session) =>
        session.id === envelope.session_id ? { ...session, turns: [...session.turns, turn] } : session,
      ),
    };
  }
  const change = event.type === "message_chunk" ? addText : event.type === "tool_call_chunk" ? addArguments : undefined;
  if (change === undefined) return state;
  return {
    ...state,
    sessions: state.sessions.map((session) =>
      session.id === envelope.session_id
        ? {
            ...session,
            turns: session.turns.map((turn) =>
              turn.id === envelope.run_id
                ? {
                    ...turn,
                    messages: turn.messages.map((message) =>
                      message.role === "assistant" ? change(message, event, reader) : message,
                    ),
                  }
                : turn,
            ),
          }
        : session,
    ),
  };
}

function addText(message: PlainMessage, event: AnyEvent): PlainMessage {
  const delta = fieldOf(event, "content");
  const last = message.parts.at(-1);
  const parts: PlainMessage["parts"] =
    last?.type === "text"
      ? [...message.parts.slice(0, -1), { ...last, text: last.text + delta }]
      : [...message.parts, { type: "text", text: delta }];
  return { ...message, content: message.content + delta, parts };
}

function addArguments(message: PlainMessage, event: AnyEvent, reader?: PartialJson): PlainMessage {
  const id = fieldOf(event, "call_id");
  const delta = fieldOf(event, "arguments_delta");
  reader?.push(delta);
  const value = reader?.value;
  const isKnown = message.parts.some((part) => part.type === "tool" && part.id === id);
  const parts: PlainMessage["parts"] = isKnown
    ? message.parts.map((part) =>
        part.type === "tool" && part.id === id ? { ...part, text: part.text + delta, value } : part,
      )
    : [...message.parts, { type: "tool", id, name: fieldOf(event, "name"), text: delta, value }];
  return { ...message, parts };
}

function fieldOf(event: AnyEvent, name: string): string {
  return (event as { readonly [field: string]: unknown })[name] as string;
}

/** Keeps the last result, so that no work is optimised away. */
export const sink: { last?: unknown } = {};

export function runPlainly(records: readonly EventRecord[], reader?: PartialJson): void {
  let state: PlainState = { sessions: [] };
  for (const record of records) state = reducePlainly(state, record, reader);
  sink.last = state;
}

/** The state of the hook `useChat`, without a page: the hook gives it to React. */
export async function runUseChat(chunks: readonly UIMessageChunk[]): Promise<void> {
  const conversation = new Chat({
    transport: {
      sendMessages: async () => streamOf(chunks),
      reconnectToStream: async () => null,
    },
  });
  await conversation.sendMessage({ text: "Hello" });
  sink.last = conversation.messages;
  if (conversation.status !== "ready" || conversation.messages.length < 2)
    throw new Error(`useChat failed: ${conversation.error?.message}`);
}
