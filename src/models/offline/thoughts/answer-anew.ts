/**
 * Answers a question or a task of a thought as if the user had asked it: by the same rules, with the results there are.
 * What comes back is the plain answer; who speaks is said at the end, once.
 *
 * A conversation keeps no results of tools that were called in thoughts. The to-do lists among them are known again by
 * the words that asked for them, which is why they get their names here.
 */
import type { JsonObject } from "../../../protocol/index.ts";
import type { ModelMessage, ModelTool } from "../../model.ts";
import { answerPrompt, type OfflineAnswer } from "../answer-prompt.ts";
import { findErrands } from "../find-errands.ts";
import { LABEL } from "../read-prompt.ts";
import { drawNumber } from "./draw-number.ts";

export function answerAnew(
  question: string,
  tools: readonly ModelTool[],
  since: readonly ModelMessage[] = [],
  before: readonly ModelMessage[] = [],
): OfflineAnswer {
  const asked: ModelMessage = { role: "user", content: [{ type: "text", text: question }] };
  const answer = answerPrompt([...recallLists(before), asked, ...since], tools);
  return { ...answer, text: stripLabel(answer.text), calls: nameLists(answer.calls, question, since) };
}

function stripLabel(text: string): string {
  for (const label of [`${LABEL.en}: `, `${LABEL.zh}：`]) if (text.startsWith(label)) return text.slice(label.length);
  return text;
}

/** What the agents put before the result of a call that failed. */
const FAILED = "Error: ";

/** A call and what came of it, as they stand in a conversation. */
export function describeCall(id: string, name: string, result: string): readonly ModelMessage[] {
  const call = { toolCallId: id, toolName: name };
  const output = result.startsWith(FAILED)
    ? ({ type: "error-text", value: result.slice(FAILED.length) } as const)
    : ({ type: "text", value: result } as const);
  return [
    { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
    { role: "tool", content: [{ type: "tool-result", ...call, output }] },
  ];
}

const LIST_TOOL = "write_todo_list";

function nameLists(calls: OfflineAnswer["calls"], question: string, since: readonly ModelMessage[]) {
  let count = since.flatMap((message) =>
    message.role === "tool" ? message.content.filter(({ toolName }) => toolName === LIST_TOOL) : [],
  ).length;
  return calls.map((call) =>
    call.name === LIST_TOOL ? { ...call, input: { ...call.input, list_id: nameList(question, count++) } } : call,
  );
}

/** The same words make the same list: asked for again, it is replaced. */
function nameList(question: string, index: number): string {
  const number = Math.floor(drawNumber(index, question.trim()) * 2 ** 32);
  return `list-${number.toString(16).padStart(8, "0")}`;
}

/** Messages that are looked at for lists. */
const MAX_RECALLED = 20;

function recallLists(before: readonly ModelMessage[]): readonly ModelMessage[] {
  const first = Math.max(0, before.length - MAX_RECALLED);
  return before.flatMap((message, at) => {
    // Where calls follow, the conversation has the results itself.
    const hasResults = before[at + 1]?.role === "assistant" && before[at + 2]?.role === "tool";
    if (at < first || message.role !== "user" || hasResults) return [message];
    const question = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    const lists = findErrands(question).filter(({ tool }) => tool === LIST_TOOL);
    const written = lists.flatMap((list, index) =>
      describeCall(`list_${at}_${index}`, LIST_TOOL, writeList(nameList(question, index), list.createInput(TOOL, []))),
    );
    return [message, ...written];
  });
}

const TOOL: ModelTool = { name: LIST_TOOL, description: "", inputSchema: {} };

/** As the tool says it. */
function writeList(id: string, { items }: JsonObject): string {
  const texts = Array.isArray(items) ? items : [];
  const lines = texts.map((item, index) => `${index + 1}. [ ] ${(item as { readonly text: string }).text}`);
  return `The list ${id} is shown:\n${lines.join("\n")}`;
}
