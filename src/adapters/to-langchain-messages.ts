/**
 * The messages of a conversation as LangChain takes them: plain objects, which its models and graphs convert. Nothing of
 * the framework is imported; a test compares the types with the real ones.
 */
import { describeUserPart } from "../models/describe-file.ts";
import type { AssistantPart, ModelMessage, ToolResultPart } from "../models/model.ts";
import type { JsonObject } from "../protocol/index.ts";

/** A tool call of a LangChain message. */
export type LangChainToolCall = { type: "tool_call"; id: string; name: string; args: JsonObject };

// Aliases, because LangChain expects an index signature, which interfaces do not have.
/** A message that LangChain accepts wherever it takes messages. */
export type LangChainMessage =
  | { role: "system" | "user"; content: string }
  | { role: "assistant"; content: string; tool_calls?: LangChainToolCall[] }
  | { role: "tool"; content: string; tool_call_id: string; name: string; status: "success" | "error" };

/** Converts messages. A file becomes a line that names it, because the conversation has only references to files. */
export function toLangChainMessages(messages: readonly ModelMessage[]): LangChainMessage[] {
  return messages.flatMap((message): LangChainMessage[] => {
    switch (message.role) {
      case "system":
        return [{ role: "system", content: message.content }];
      case "user":
        return [{ role: "user", content: message.content.map(describeUserPart).join("\n\n") }];
      case "assistant":
        return [toAnswer(message.content)];
      case "tool":
        return message.content.map(toResult);
    }
  });
}

function toAnswer(parts: readonly AssistantPart[]): LangChainMessage {
  const content = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const tool_calls = parts.flatMap((part): LangChainToolCall[] =>
    part.type === "tool-call"
      ? [{ type: "tool_call", id: part.toolCallId, name: part.toolName, args: part.input }]
      : [],
  );
  return { role: "assistant", content, ...(tool_calls.length === 0 ? {} : { tool_calls }) };
}

function toResult({ toolCallId, toolName, output }: ToolResultPart): LangChainMessage {
  const content = output.type === "json" ? JSON.stringify(output.value) : output.value;
  const status = output.type === "error-text" ? "error" : "success";
  return { role: "tool", content, tool_call_id: toolCallId, name: toolName, status };
}
