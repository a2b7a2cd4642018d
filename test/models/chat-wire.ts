/** OpenAI's chat completions API, also used by compatible servers. */
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

export const chatWire: Wire = {
  path: "/v1/chat/completions",
  keyHeader: ["authorization", "Bearer "],
  validate,
  stream,
  describeError: (message, status) => ({
    error: { message, type: status === 429 ? "rate_limit_error" : "invalid_request_error", param: null, code: null },
  }),
  streamError: (message) => `data: ${JSON.stringify({ error: { message, type: "server_error", code: null } })}\n\n`,
};

function validate(body: JsonObject): Refusal | undefined {
  const messages = asList(body["messages"]);
  const refuse = (message: string): Refusal => ({ status: 400, message });
  if (messages.length === 0) return refuse("Invalid 'messages': empty array.");
  if (body["tool_choice"] !== undefined && asList(body["tools"]).length === 0) {
    return refuse("'tool_choice' is only allowed when 'tools' are specified.");
  }
  for (const tool of asList(body["tools"])) {
    const { name, parameters } = tool["function"] as { name: string; parameters: JsonObject };
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return refuse(`Invalid tool name '${name}'.`);
    if (parameters["type"] !== "object") return refuse(`Invalid schema for function '${name}'.`);
  }
  const open = new Set<string>();
  for (const [place, message] of messages.entries()) {
    const role = message["role"];
    if (role === "tool") {
      if (!open.delete(readText(message, "tool_call_id"))) {
        return refuse("messages with role 'tool' must be a response to a preceding message with 'tool_calls'.");
      }
      continue;
    }
    if (open.size > 0) return refuse(describeUnanswered(open));
    if (role !== "assistant") continue;
    const calls = asList(message["tool_calls"]);
    if (calls.length === 0 && (message["content"] ?? "") === "") {
      return refuse(`Invalid value for 'content' of messages[${place}]: expected a string, got null.`);
    }
    for (const call of calls) {
      const id = readText(call, "id");
      if (id === "" || id.length > 40 || open.has(id)) return refuse(`Invalid 'messages[${place}].tool_calls[].id'.`);
      if (typeof (call["function"] as JsonObject)["arguments"] !== "string")
        return refuse("arguments must be a string.");
      open.add(id);
    }
  }
  return open.size > 0 ? refuse(describeUnanswered(open)) : undefined;
}

function describeUnanswered(open: ReadonlySet<string>): string {
  return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. Missing: ${[...open].join(", ")}`;
}

function* stream(turn: ServerTurn, body: JsonObject, issued: IssuedIds): Generator<string, void, undefined> {
  const id = issued.next("chatcmpl");
  const frame = (fields: JsonObject): string =>
    `data: ${JSON.stringify({ id, object: "chat.completion.chunk", created: 1_700_000_000, model: body["model"] ?? "", ...fields })}\n\n`;
  const delta = (inner: JsonObject, finish_reason: string | null = null): string =>
    frame({ choices: [{ index: 0, delta: inner, finish_reason }] });
  const { reasoning = "", reasoningField = "reasoning_content", calls = [], chunk } = turn;
  yield delta({ role: "assistant", content: "" });
  for (const piece of cut(reasoning, chunk)) yield delta({ [reasoningField]: piece });
  for (const piece of cutAnswer(turn)) yield delta({ content: piece });
  for (const [index, call] of calls.entries()) {
    const callId = call.id ?? issued.next("call");
    const opening = { id: callId, type: "function", function: { name: call.name, arguments: "" } };
    yield delta({ tool_calls: [{ index, ...opening }] });
  }
  for (const [index, piece] of listInputDeltas(turn)) {
    yield delta({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  yield delta({}, turn.finish ?? (calls.length > 0 ? "tool_calls" : "stop"));
  const { prompt, completion } = turn.tokens ?? TOKENS;
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  if (body["stream_options"] !== undefined) yield frame({ choices: [], usage });
  yield "data: [DONE]\n\n";
}
