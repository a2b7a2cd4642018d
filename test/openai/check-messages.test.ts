// What `loom check` says about broken streams of the OpenAI APIs: what is wrong, and what to do.
import { expect, it } from "vitest";
import type { Decoding } from "../../src/dialects/dialect.ts";
import { OPENAI_CHAT_DECODING } from "../../src/dialects/openai-chat/decode.ts";
import { OPENAI_RESPONSES_DECODING } from "../../src/dialects/openai-responses/decode.ts";
import type { JsonObject } from "../../src/protocol/index.ts";

function chunk(delta: JsonObject, finish_reason: string | null = null, index = 0): JsonObject {
  return {
    id: "m",
    object: "chat.completion.chunk",
    created: 1,
    model: "x",
    choices: [{ index, delta, finish_reason }],
  };
}
const ROLE = chunk({ role: "assistant", content: "" });
const TEXT = chunk({ content: "Hi" });
const END = chunk({}, "stop");
const response = { id: "r", object: "response", created_at: 1, status: "in_progress", model: "x", output: [] };
const CREATED = { type: "response.created", sequence_number: 0, response };
const delta = { type: "response.output_text.delta", item_id: "i", output_index: 0, content_index: 0 };
const COMPLETED = { type: "response.completed", sequence_number: 1, response: { ...response, status: "completed" } };

const messagesOf = (decoding: Decoding, frames: readonly (JsonObject | string)[]): readonly string[] => {
  const decoder = decoding.createDecoder();
  return frames.flatMap((frame) =>
    decoder.decode(typeof frame === "string" ? frame : JSON.stringify(frame)).issues.map(({ message }) => message),
  );
};

it.each([
  [[ROLE, TEXT, "[DONE]"], ["[DONE] comes before `finish_reason`; end the message with a chunk that has one"]],
  [[ROLE, END, END], ["the message has two chunks with `finish_reason`; send it once, in the last chunk"]],
  [[ROLE, END, TEXT], ["content follows the end of its message; send `finish_reason` after the last content"]],
  [[TEXT, END], ["the message has no `role`; send `assistant` in its first delta"]],
  [[ROLE, { ...TEXT, id: "n" }, { ...END, id: "n" }], ["the message m continues as n; use one `id` for all chunks"]],
  [[ROLE, chunk({ content: "Hi" }, null, 200), END], ["the choice has the index 200; count choices from 0"]],
])("says once what is wrong with a chat stream, and what to do: %#", (frames, expected) => {
  expect(messagesOf(OPENAI_CHAT_DECODING, frames)).toEqual(expected);
});

it.each([
  [[{ ...delta, delta: "x" }], /^the response starts with .*; send `response.created` first$/],
  [[CREATED, { ...delta, delta: "x" }], /^there is no item at position 0; send `response.output_item.added` first$/],
  // The number of a frame that is not read is not missing.
  [[CREATED, { ...delta, sequence_number: 1 }, { ...COMPLETED, sequence_number: 2 }], /^`delta` is missing/],
  [[CREATED, { ...COMPLETED, sequence_number: 4 }], /^`sequence_number` 4 follows 0; number the events/],
  [[CREATED, COMPLETED, { ...COMPLETED, sequence_number: 2 }], /follows the end of its response; send one end/],
  [[CREATED, "[DONE]"], /^\[DONE\] comes before the end of a response; send `response.completed`/],
] as const)("says what is wrong with a response, and what to do: %#", (frames, expected) => {
  const [first = "", ...others] = messagesOf(OPENAI_RESPONSES_DECODING, frames);
  expect(first).toMatch(expected);
  expect(others.filter((message) => message.includes("follows"))).toEqual([]);
});
