/**
 * Answers a question or a task of a thought as if the user had asked it: by the same rules, with the results there are.
 * What comes back is the plain answer; who speaks is said at the end, once.
 */
import type { ModelMessage, ModelTool } from "../../model.ts";
import { answerPrompt, type OfflineAnswer } from "../answer-prompt.ts";
import { LABEL } from "../read-prompt.ts";

export function answerAnew(
  question: string,
  tools: readonly ModelTool[],
  since: readonly ModelMessage[] = [],
): OfflineAnswer {
  const asked: ModelMessage = { role: "user", content: [{ type: "text", text: question }] };
  const answer = answerPrompt([asked, ...since], tools);
  return { ...answer, text: stripLabel(answer.text) };
}

function stripLabel(text: string): string {
  for (const label of [`${LABEL.en}: `, `${LABEL.zh}：`]) if (text.startsWith(label)) return text.slice(label.length);
  return text;
}

/** A call and what came of it, as they stand in a conversation. */
export function describeCall(id: string, name: string, result: string): readonly ModelMessage[] {
  const call = { toolCallId: id, toolName: name };
  const type = /^(?:Error\b|The user refused|Nobody agreed)/.test(result) ? "error-text" : "text";
  return [
    { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
    { role: "tool", content: [{ type: "tool-result", ...call, output: { type, value: result } }] },
  ];
}
