/** OpenAI's Responses API, as far as its package uses it. */
import type { JsonObject } from "../../src/protocol/index.ts";
import {
  asList,
  cut,
  cutAnswer,
  inputText,
  type IssuedIds,
  listInputDeltas,
  readText,
  type Refusal,
  type ServerTurn,
  TOKENS,
  type Wire,
} from "./wire.ts";

export const responsesWire: Wire = {
  path: "/v1/responses",
  keyHeader: ["authorization", "Bearer "],
  validate,
  stream,
  describeError: (message, status) => ({
    error: { message, type: status === 429 ? "rate_limit_exceeded" : "invalid_request_error", param: null, code: null },
  }),
  streamError: (message) => frame("error", { sequence_number: 99, code: "server_error", message, param: null }),
};

function validate(body: JsonObject, issued: IssuedIds): Refusal | undefined {
  const input = asList(body["input"]);
  const refuse = (message: string, status = 400): Refusal => ({ status, message });
  if (input.length === 0) return refuse("Missing required parameter: 'input'.");
  const open = new Set<string>();
  const calls = new Set<string>();
  const present = new Set<string>();
  for (const item of input) {
    const id = typeof item["id"] === "string" ? item["id"] : undefined;
    if (
      item["type"] === "reasoning" &&
      body["store"] === false &&
      !issued.given.has(readText(item, "encrypted_content"))
    ) {
      return refuse("The encrypted content for item could not be verified.");
    }
    if (item["type"] === "item_reference" && (body["store"] === false || !issued.given.has(id ?? ""))) {
      return refuse(`Item with id '${id}' not found.`, 404);
    }
    if (id !== undefined) {
      present.add(id);
      const before = issued.given.get(id);
      if (before !== undefined && !present.has(before)) {
        return refuse(`Item '${id}' was provided without its required 'reasoning' item: '${before}'.`);
      }
    }
    const callId = readText(item, "call_id");
    if (item["type"] === "function_call") {
      if (calls.has(callId) || callId.length > 64) return refuse(`Duplicate or invalid call_id '${callId}'.`);
      calls.add(callId);
      open.add(callId);
    }
    if (item["type"] === "function_call_output" && !open.delete(callId)) {
      return refuse(`No tool call found for function call output with call_id ${callId}.`);
    }
  }
  return open.size > 0 ? refuse(`No tool output found for function call ${[...open].join(", ")}.`) : undefined;
}

function frame(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

function* stream(turn: ServerTurn, body: JsonObject, issued: IssuedIds): Generator<string, void, undefined> {
  const response = { id: issued.next("resp"), created_at: 1_700_000_000, model: body["model"] ?? "" };
  const { reasoning = "", text = "", calls = [], chunk } = turn;
  yield frame("response.created", { response });
  yield frame("response.in_progress", { response });
  let output_index = 0;
  const output: JsonObject[] = [];
  let before: string | undefined;
  if (reasoning !== "") {
    const id = issued.next("rs");
    before = id;
    issued.given.set(id, undefined);
    const isEncrypted = Array.isArray(body["include"]) && body["include"].includes("reasoning.encrypted_content");
    const encrypted_content = isEncrypted ? issued.next("encrypted") : null;
    if (encrypted_content !== null) issued.given.set(encrypted_content, undefined);
    const item = { type: "reasoning", id, summary: [], encrypted_content };
    yield frame("response.output_item.added", { output_index, item });
    yield frame("response.reasoning_summary_part.added", { item_id: id, output_index, summary_index: 0 });
    for (const delta of cut(reasoning, chunk)) {
      yield frame("response.reasoning_summary_text.delta", { item_id: id, output_index, summary_index: 0, delta });
    }
    yield frame("response.reasoning_summary_part.done", { item_id: id, output_index, summary_index: 0 });
    output.push({ ...item, summary: [{ type: "summary_text", text: reasoning }] });
    yield frame("response.output_item.done", { output_index, item });
    output_index++;
  }
  if (text !== "" || turn.pieces !== undefined) {
    const id = issued.next("msg");
    issued.given.set(id, before);
    const item = { type: "message", id, role: "assistant", content: [] };
    yield frame("response.output_item.added", { output_index, item });
    let whole = "";
    for (const delta of cutAnswer(turn)) {
      whole += delta;
      yield frame("response.output_text.delta", { item_id: id, output_index, content_index: 0, delta });
    }
    const content = [{ type: "output_text", text: whole, annotations: [] }];
    output.push({ ...item, status: "completed", content });
    yield frame("response.output_item.done", { output_index, item: { ...item, status: "completed", content } });
    output_index++;
  }
  const items = calls.map((call, index) => {
    const id = issued.next("fc");
    issued.given.set(id, before);
    const item = { type: "function_call", id, call_id: call.id ?? issued.next("call"), name: call.name, arguments: "" };
    return { id, item, at: output_index + index, input: inputText(call) };
  });
  for (const { item, at } of items) {
    yield frame("response.output_item.added", { output_index: at, item: { ...item, status: "in_progress" } });
  }
  for (const [index, delta] of listInputDeltas(turn)) {
    const { id, at } = items[index]!;
    yield frame("response.function_call_arguments.delta", { item_id: id, output_index: at, delta });
  }
  for (const { id, item, at, input } of items) {
    yield frame("response.function_call_arguments.done", { item_id: id, output_index: at, arguments: input });
    const done = { ...item, arguments: input, status: "completed" };
    output.push(done);
    yield frame("response.output_item.done", { output_index: at, item: done });
  }
  const { prompt, completion } = turn.tokens ?? TOKENS;
  const usage = { input_tokens: prompt, output_tokens: completion, total_tokens: prompt + completion };
  const cutShort = turn.finish === "length" || turn.finish === "content_filter";
  const reason = turn.finish === "length" ? "max_output_tokens" : "content_filter";
  yield frame(cutShort ? "response.incomplete" : "response.completed", {
    response: { ...response, output, usage, ...(cutShort ? { incomplete_details: { reason } } : {}) },
  });
}
