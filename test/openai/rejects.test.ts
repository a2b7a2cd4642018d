// The reject corpus of the OpenAI dialects, read by the stream helpers of the real `openai` client.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ChatCompletionStream } from "openai/lib/ChatCompletionStream";
import { ResponseStream } from "openai/lib/responses/ResponseStream";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/protocol/index.ts";
import { VECTORS } from "../vectors.ts";

interface Reject {
  readonly name: string;
  readonly mode: "frame" | "stream";
  readonly frames: readonly (JsonObject | string)[];
  readonly fill?: JsonObject;
  readonly expect: readonly { readonly rule: string; readonly level: "error" | "warning" }[];
}

/** Rejects that the helper reads to the end all the same, and why `loom check` reports them. */
const ACCEPTED: { readonly [name: string]: string } = {
  "openai-chat-no-object":
    "the client does not look at `object`; without it, a chunk cannot be distinguished from other frames",
  "openai-chat-content-number": "the client appends the number to the text",
  "openai-chat-usage-no-prompt": "the client passes on any usage; programs that add up tokens get NaN",
  "openai-chat-finish-unknown": "a warning: the client passes on any reason",
  "openai-chat-after-finish":
    "the client appends the text to a message that has ended, and programs that stop there lose it",
  "openai-chat-goes-on": "the client appends the number to the text",
  "openai-responses-delta-number": "the client appends the number to the text",
  "openai-responses-sequence-negative": "the client does not look at the number; `starting_after` cannot name it",
  "openai-responses-status-unknown": "a warning: the client passes on any status",
  "openai-responses-sequence-gap":
    "a warning: the client does not look at the number; one that resumes by it loses events",
  "openai-responses-sequence-repeated": "a warning: the client does not look at the number",
  "openai-responses-goes-on": "the client ignores an event without an item",
};

const CHUNK = { id: "m", object: "chat.completion.chunk", created: 1, model: "m" };
const ROLE = { ...CHUNK, choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }] };
const FINISH = { ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
const CREATED = { type: "response.created", response: { id: "r", output: [] } };
const ITEM = { type: "message", id: "m", role: "assistant", status: "in_progress", content: [] };
const PART = { type: "output_text", text: "", annotations: [] };
const AT = { output_index: 0 };
const OPENING = [
  CREATED,
  { type: "response.output_item.added", ...AT, item: ITEM },
  { type: "response.content_part.added", ...AT, item_id: "m", content_index: 0, part: PART },
];
const COMPLETED = { type: "response.completed", response: { id: "r", output: [], status: "completed" } };
const CLOSING = [{ type: "response.output_item.done", ...AT, item: { ...ITEM, status: "completed" } }, COMPLETED];

/** The smallest stream with a frame, which the client accepts without it. */
function wrap(dialect: string, frame: JsonObject | string): readonly (JsonObject | string)[] {
  if (dialect === "openai-chat") return [ROLE, frame, FINISH];
  const type = typeof frame === "string" ? "" : frame["type"];
  if (type === "response.created") return [frame, COMPLETED];
  if (type === "response.completed") return [CREATED, frame];
  if (type === "response.output_item.added") return [CREATED, frame, COMPLETED];
  return [...OPENING, frame, ...CLOSING];
}

const ENDS: ReadonlySet<string> = new Set(["response.completed", "response.incomplete", "response.failed"]);

/** Reads a stream as the helper does. Returns whether it saw the end of a message. */
async function isAccepted(dialect: string, frames: readonly (JsonObject | string)[]): Promise<boolean> {
  const lines = frames.filter((frame) => typeof frame !== "string").map((frame) => `${JSON.stringify(frame)}\n`);
  const stream = new Blob([new TextEncoder().encode(lines.join(""))]).stream();
  try {
    if (dialect === "openai-chat") {
      await ChatCompletionStream.fromReadableStream(stream).finalChatCompletion();
      return true;
    }
    const helper = ResponseStream.fromReadableStream(stream);
    let last = "";
    helper.on("event", ({ type }) => void (last = type));
    await helper.finalResponse();
    return ENDS.has(last);
  } catch {
    return false;
  }
}

describe.each(["openai-chat", "openai-responses"])("%s: the client and the reject corpus", (dialect) => {
  const corpus = JSON.parse(readFileSync(join(VECTORS, "rejects", `${dialect}.json`), "utf8")) as readonly Reject[];
  const cases = corpus.filter(({ fill }) => fill === undefined);

  test.each(cases.map((reject) => [reject.name, reject] as const))("%s", async (name, { mode, frames }) => {
    const given = mode === "frame" ? frames.flatMap((frame) => wrap(dialect, frame)) : frames;
    expect(await isAccepted(dialect, given)).toBe(ACCEPTED[name] !== undefined);
  });

  test("the stream around a single frame is accepted", async () => {
    expect(await isAccepted(dialect, wrap(dialect, "[DONE]"))).toBe(true);
  });
});
