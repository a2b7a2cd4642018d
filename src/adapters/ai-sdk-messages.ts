/** The messages of a conversation as the AI SDK takes them. Its types are declared here; a test compares them. */
import { describeUserPart } from "../models/describe-file.ts";
import type { ModelMessage } from "../models/model.ts";
import type { Json } from "../protocol/index.ts";

interface AISDKTextPart {
  type: "text" | "reasoning";
  text: string;
}

interface AISDKCallPart {
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: unknown;
}

interface AISDKResultPart {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: { type: "text" | "error-text"; value: string } | { type: "json"; value: AISDKJson };
}

interface AISDKApprovalRequest {
  type: "tool-approval-request";
  approvalId: string;
  toolCallId: string;
}

interface AISDKApprovalResponse {
  type: "tool-approval-response";
  approvalId: string;
  approved: boolean;
  reason?: string;
}

/** JSON as the AI SDK declares it: arrays that can be changed. */
type AISDKJson = null | string | number | boolean | AISDKJson[] | { [key: string]: AISDKJson | undefined };

/** A `ModelMessage` of the AI SDK. */
export type AISDKMessage =
  | { role: "system"; content: string }
  | { role: "user"; content: (AISDKTextPart & { type: "text" })[] }
  | { role: "assistant"; content: (AISDKTextPart | AISDKCallPart | AISDKApprovalRequest)[] }
  | { role: "tool"; content: (AISDKResultPart | AISDKApprovalResponse)[] };

/** Converts messages for `streamText`. A file becomes a line that names it: the conversation has only references. */
export function toAISDKMessage(message: ModelMessage): AISDKMessage {
  switch (message.role) {
    case "system":
      return { ...message };
    case "user":
      return { role: "user", content: message.content.map((part) => ({ type: "text", text: describeUserPart(part) })) };
    case "assistant":
      return { role: "assistant", content: message.content.map((part) => ({ ...part })) };
    case "tool":
      return {
        role: "tool",
        content: message.content.map(({ output, ...part }) => ({
          ...part,
          output: output.type === "json" ? { ...output, value: copyValue(output.value) } : { ...output },
        })),
      };
  }
}

function copyValue(value: Json): AISDKJson {
  return structuredClone(value) as AISDKJson;
}
