/** Anthropic's messages API. */
import type { JsonObject } from "../../src/protocol/index.ts";
import {
  asList,
  cut,
  cutAnswer,
  type IssuedIds,
  listInputDeltas,
  readText,
  type Refusal,
  type ServerTurn,
  TOKENS,
  type Wire,
} from "./wire.ts";

export const messagesWire: Wire = {
  path: "/v1/messages",
  keyHeader: ["x-api-key", ""],
  validate,
  stream,
  describeError: (message, status) => ({
    type: "error",
    error: {
      type: status === 429 ? "rate_limit_error" : status >= 500 ? "api_error" : "invalid_request_error",
      message,
    },
  }),
  streamError: (message) => frame("error", { error: { type: "overloaded_error", message } }),
};

interface Turn {
  readonly role: unknown;
  readonly blocks: readonly JsonObject[];
}

function validate(body: JsonObject, issued: IssuedIds): Refusal | undefined {
  const refuse = (message: string): Refusal => ({ status: 400, message });
  if (typeof body["max_tokens"] !== "number") return refuse("max_tokens: Field required");
  const thinking = (body["thinking"] ?? { type: "disabled" }) as JsonObject;
  if (Number(thinking["budget_tokens"] ?? 0) >= body["max_tokens"]) {
    return refuse("`max_tokens` must be greater than `thinking.budget_tokens`.");
  }
  const choice = (body["tool_choice"] as JsonObject | undefined)?.["type"] ?? "auto";
  if (thinking["type"] === "enabled" && (choice === "any" || choice === "tool")) {
    return refuse("Thinking may not be enabled when tool_choice forces tool use.");
  }
  const turns = mergeTurns(asList(body["messages"]));
  if (turns.length === 0) return refuse("messages: at least one message is required");
  if (turns[0]?.role !== "user") return refuse('messages: first message must use the "user" role');
  const used = new Set<string>();
  let open = new Set<string>();
  for (const [place, { role, blocks }] of turns.entries()) {
    if (blocks.length === 0) return refuse(`messages.${place}: all messages must have non-empty content`);
    const fault = role === "user" ? validateResults(blocks, open, place) : undefined;
    if (fault !== undefined) return refuse(fault);
    const calls = blocks.filter((block) => block["type"] === "tool_use").map((block) => readText(block, "id"));
    if (calls.length > 0 && asList(body["tools"]).length === 0) {
      return refuse("Requests which include `tool_use` or `tool_result` blocks must define tools.");
    }
    for (const block of blocks) {
      const wrong = validateBlock(block, issued, used);
      if (wrong !== undefined) return refuse(`messages.${place}: ${wrong}`);
    }
    open = new Set(calls);
  }
  if (open.size > 0) return refuse(describeUnanswered(turns.length - 1, open));
  const results = turns.at(-1)?.blocks ?? [];
  const before = turns.at(-2)?.blocks ?? [];
  const isLoop = results.some((block) => block["type"] === "tool_result");
  if (thinking["type"] === "enabled" && isLoop && !readText(before[0] ?? {}, "type").endsWith("thinking")) {
    return refuse("Expected `thinking` or `redacted_thinking`, but found `tool_use`.");
  }
  return undefined;
}

/** Merges consecutive turns of the same role. */
function mergeTurns(messages: readonly JsonObject[]): Turn[] {
  const turns: Turn[] = [];
  for (const { role, content } of messages as readonly { role: unknown; content: unknown }[]) {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : asList(content);
    const last = turns.at(-1);
    if (last?.role === role) turns[turns.length - 1] = { role, blocks: [...last!.blocks, ...blocks] };
    else turns.push({ role, blocks });
  }
  return turns;
}

/** Results must come first in the turn after their calls, one for each. */
function validateResults(blocks: readonly JsonObject[], calls: ReadonlySet<string>, place: number): string | undefined {
  const open = new Set(calls);
  let isPast = false;
  for (const block of blocks) {
    if (block["type"] !== "tool_result") isPast = true;
    else if (isPast) return `messages.${place}: \`tool_result\` blocks must come before other content`;
    else if (!open.delete(readText(block, "tool_use_id"))) {
      return `messages.${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${readText(block, "tool_use_id")}`;
    }
  }
  return open.size > 0 ? describeUnanswered(place - 1, open) : undefined;
}

function describeUnanswered(place: number, open: ReadonlySet<string>): string {
  return `messages.${place}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...open].join(", ")}`;
}

function validateBlock(block: JsonObject, issued: IssuedIds, used: Set<string>): string | undefined {
  switch (block["type"]) {
    case "text":
      return readText(block, "text").trim() === "" ? "text content blocks must contain non-whitespace text" : undefined;
    case "thinking":
      return issued.given.has(readText(block, "signature")) ? undefined : "Invalid `signature` in `thinking` block";
    case "tool_use": {
      const id = readText(block, "id");
      if (!/^[a-zA-Z0-9_-]+$/.test(id)) return "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'";
      if (used.has(id)) return "`tool_use` ids must be unique";
      used.add(id);
      const { input } = block;
      return typeof input === "object" && input !== null && !Array.isArray(input)
        ? undefined
        : "tool_use.input: Input should be a valid dictionary";
    }
    default:
      return undefined;
  }
}

function frame(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

function* stream(turn: ServerTurn, body: JsonObject, issued: IssuedIds): Generator<string, void, undefined> {
  const { reasoning = "", text = "", calls = [], chunk } = turn;
  const usage = { input_tokens: TOKENS.prompt, output_tokens: 1 };
  const id = issued.next("msg");
  const message = {
    id,
    type: "message",
    role: "assistant",
    model: body["model"] ?? "",
    content: [],
    stop_reason: null,
    usage,
  };
  yield frame("message_start", { message });
  yield frame("ping", {});
  let index = 0;
  if (reasoning !== "") {
    yield frame("content_block_start", { index, content_block: { type: "thinking", thinking: "", signature: "" } });
    for (const thinking of cut(reasoning, chunk)) {
      yield frame("content_block_delta", { index, delta: { type: "thinking_delta", thinking } });
    }
    const signature = issued.next("signature");
    issued.given.set(signature, undefined);
    yield frame("content_block_delta", { index, delta: { type: "signature_delta", signature } });
    yield frame("content_block_stop", { index: index++ });
  }
  if (text !== "") {
    yield frame("content_block_start", { index, content_block: { type: "text", text: "" } });
    for (const piece of cutAnswer(turn)) {
      yield frame("content_block_delta", { index, delta: { type: "text_delta", text: piece } });
    }
    yield frame("content_block_stop", { index: index++ });
  }
  const first = index;
  for (const call of calls) {
    const content_block = { type: "tool_use", id: call.id ?? issued.next("toolu"), name: call.name, input: {} };
    yield frame("content_block_start", { index: index++, content_block });
  }
  for (const [call, partial_json] of listInputDeltas(turn)) {
    yield frame("content_block_delta", { index: first + call, delta: { type: "input_json_delta", partial_json } });
  }
  for (let at = first; at < index; at++) yield frame("content_block_stop", { index: at });
  const reasons = { stop: "end_turn", length: "max_tokens", content_filter: "refusal" };
  const stop_reason = turn.finish === undefined && calls.length > 0 ? "tool_use" : reasons[turn.finish ?? "stop"];
  yield frame("message_delta", {
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: TOKENS.completion },
  });
  yield frame("message_stop", {});
}
