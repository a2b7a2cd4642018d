/**
 * Converts messages to the input of OpenAI's APIs: Responses items, chat messages, and items of the Agents SDK. The types
 * are declared here so that no OpenAI package has to be installed; `to-openai-input.test.ts` checks them against the
 * real ones.
 *
 * Invariant: every call ID is unique and accepted by OpenAI, and every call is followed by its result.
 */
import { describeUserPart } from "../models/describe-file.ts";
import type { ModelMessage, ToolResultPart, UserPart } from "../models/model.ts";

/** A part of a user message in the Responses API. */
export type OpenAIInputPart =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url: string; detail: "auto" }
  | { type: "input_file"; filename: string; file_data: string };

/** An item of the `input` of the Responses API. */
export type OpenAIInputItem =
  | { role: "system" | "assistant"; content: string }
  | { role: "user"; content: OpenAIInputPart[] }
  | { type: "function_call"; call_id: string; name: string; arguments: string }
  | { type: "function_call_output"; call_id: string; output: string };

/** A part of a user message in the chat completions API. */
export type OpenAIContentPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "file"; file: { filename: string; file_data: string } };

/** A tool call in the chat completions API. */
export interface OpenAIToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** A message of the chat completions API. */
export type OpenAIMessage =
  | { role: "system"; content: string }
  | { role: "user"; content: OpenAIContentPart[] }
  | { role: "assistant"; content: string | null; tool_calls?: OpenAIToolCall[] }
  | { role: "tool"; tool_call_id: string; content: string };

/** A part of a user message of the Agents SDK. */
export type OpenAIAgentsPart =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image: string }
  | { type: "input_file"; filename: string; file: string };

/** An input item of the Agents SDK. */
export type OpenAIAgentsItem =
  | { role: "system"; content: string }
  | { role: "user"; content: OpenAIAgentsPart[] }
  | { role: "assistant"; status: "completed"; content: { type: "output_text"; text: string }[] }
  | { type: "function_call"; callId: string; name: string; arguments: string; status: "completed" }
  | { type: "function_call_result"; callId: string; name: string; output: string; status: "completed" };

/** Converts messages to items of the Responses API. Reasoning is left out, because only OpenAI can issue it. */
export function toOpenAIInput(messages: readonly ModelMessage[]): OpenAIInputItem[] {
  return readSteps(messages).map((step) => {
    switch (step.type) {
      case "call":
        return { type: "function_call", call_id: step.callId, name: step.name, arguments: step.arguments };
      case "result":
        return { type: "function_call_output", call_id: step.callId, output: step.output };
      case "user":
        return {
          role: "user",
          content: step.parts.map((part) => {
            if (part.type === "text") return { type: "input_text", text: part.text };
            return part.type === "image"
              ? { type: "input_image", image_url: part.url, detail: "auto" }
              : { type: "input_file", filename: part.name, file_data: part.url };
          }),
        };
      default:
        return { role: step.type, content: step.text };
    }
  });
}

/** Converts messages to messages of the chat completions API. */
export function toOpenAIMessages(messages: readonly ModelMessage[]): OpenAIMessage[] {
  const converted: OpenAIMessage[] = [];
  for (const step of readSteps(messages)) {
    const last = converted.at(-1);
    if (step.type === "call") {
      const call: OpenAIToolCall = {
        id: step.callId,
        type: "function",
        function: { name: step.name, arguments: step.arguments },
      };
      if (last?.role === "assistant") (last.tool_calls ??= []).push(call);
      else converted.push({ role: "assistant", content: null, tool_calls: [call] });
    } else if (step.type === "result")
      converted.push({ role: "tool", tool_call_id: step.callId, content: step.output });
    else if (step.type === "user")
      converted.push({
        role: "user",
        content: step.parts.map((part) => {
          if (part.type === "text") return part;
          return part.type === "image"
            ? { type: "image_url", image_url: { url: part.url } }
            : { type: "file", file: { filename: part.name, file_data: part.url } };
        }),
      });
    else converted.push({ role: step.type, content: step.text });
  }
  return converted;
}

/** Converts messages to input items of the Agents SDK. */
export function toOpenAIAgentsInput(messages: readonly ModelMessage[]): OpenAIAgentsItem[] {
  const status = "completed";
  return readSteps(messages).map((step) => {
    switch (step.type) {
      case "call":
        return { type: "function_call", callId: step.callId, name: step.name, arguments: step.arguments, status };
      case "result":
        return { type: "function_call_result", callId: step.callId, name: step.name, output: step.output, status };
      case "system":
        return { role: "system", content: step.text };
      case "assistant":
        return { role: "assistant", status, content: [{ type: "output_text", text: step.text }] };
      default:
        return {
          role: "user",
          content: step.parts.map((part) => {
            if (part.type === "text") return { type: "input_text", text: part.text };
            return part.type === "image"
              ? { type: "input_image", image: part.url }
              : { type: "input_file", filename: part.name, file: part.url };
          }),
        };
    }
  });
}

type FilledPart =
  | { type: "text"; text: string }
  | { readonly type: "image"; readonly url: string }
  | { readonly type: "file"; readonly url: string; readonly name: string };

/** One text, call or result of the conversation. */
type ConversationStep =
  | { readonly type: "system" | "assistant"; readonly text: string }
  | { readonly type: "user"; readonly parts: readonly FilledPart[] }
  | { readonly type: "call"; readonly callId: string; readonly name: string; readonly arguments: string }
  | { readonly type: "result"; readonly callId: string; readonly name: string; readonly output: string };

function readSteps(messages: readonly ModelMessage[]): ConversationStep[] {
  const steps: ConversationStep[] = [];
  const ids = new CallIds();
  for (const message of messages) {
    switch (message.role) {
      case "system":
        steps.push({ type: "system", text: message.content });
        break;
      case "user":
        steps.push({ type: "user", parts: message.content.map(fillPart) });
        break;
      case "assistant":
        for (const part of message.content) {
          if (part.type === "text") steps.push({ type: "assistant", text: part.text });
          if (part.type !== "tool-call") continue;
          const callId = ids.choose(part.toolCallId);
          const input = JSON.stringify(part.input);
          steps.push({ type: "call", callId, name: toFunctionName(part.toolName), arguments: input });
        }
        break;
      default:
        for (const { toolCallId, toolName, output } of message.content) {
          const callId = ids.find(toolCallId);
          steps.push({ type: "result", callId, name: toFunctionName(toolName), output: describeResult(output) });
        }
    }
  }
  return steps;
}

/** OpenAI accepts call IDs of at most 40 characters; other frameworks may repeat an ID in each run. */
const MAX_CALL_ID = 40;

class CallIds {
  readonly #used = new Set<string>();
  /** The ID that replaces that of the latest call with an ID. */
  readonly #current = new Map<string, string>();

  choose(id: string): string {
    let chosen = id.length > MAX_CALL_ID ? "call_1" : id;
    for (let number = 2; this.#used.has(chosen); number++) chosen = `call_${number}`;
    this.#used.add(chosen);
    this.#current.set(id, chosen);
    return chosen;
  }

  find(id: string): string {
    return this.#current.get(id) ?? id;
  }
}

function toFunctionName(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_").slice(0, 64) || "tool";
}

function describeResult(output: ToolResultPart["output"]): string {
  return output.type === "json" ? JSON.stringify(output.value) : output.value;
}

/** Stored files are described, because their bytes are not in the log. */
function fillPart(part: UserPart): FilledPart {
  if (part.type !== "file") return { type: "text", text: describeUserPart(part) };
  const url = `data:${part.mediaType};base64,${Buffer.from(part.data).toString("base64")}`;
  if (part.mediaType.startsWith("image/")) return { type: "image", url };
  return { type: "file", url, name: part.filename ?? "file" };
}
