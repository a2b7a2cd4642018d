/**
 * Answers a question or task of a thought like a user message, with the results so far. Returns the answer without the
 * label, which only the reply carries.
 *
 * A conversation does not contain the results of tools called in thoughts. To-do lists get an ID derived from the
 * question, so that later messages can find them again.
 */
import type { JsonObject } from "../../../protocol/index.ts";
import type { ModelMessage, ModelTool } from "../../model.ts";
import { answerPrompt, type OfflineAnswer } from "../answer-prompt.ts";
import { findTasks } from "../find-tasks.ts";
import { LABEL } from "../read-prompt.ts";
import { pseudoRandom } from "./pseudo-random.ts";

export function answerAsMessage(
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

/** The prefix agents put before the result of a failed call. */
const FAILED = "Error: ";

/** Returns a call and its result as messages of a conversation. */
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

/** The same question gives the same list ID, so asking again replaces the list. */
function nameList(question: string, index: number): string {
  const number = Math.floor(pseudoRandom(index, question.trim()) * 2 ** 32);
  return `list-${number.toString(16).padStart(8, "0")}`;
}

/** Messages that are searched for lists. */
const MAX_RECALLED = 20;

function recallLists(before: readonly ModelMessage[]): readonly ModelMessage[] {
  const first = Math.max(0, before.length - MAX_RECALLED);
  return before.flatMap((message, at) => {
    // The conversation itself contains the results.
    const hasResults = before[at + 1]?.role === "assistant" && before[at + 2]?.role === "tool";
    if (at < first || message.role !== "user" || hasResults) return [message];
    const question = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    const lists = findTasks(question).filter(({ tool }) => tool === LIST_TOOL);
    const written = lists.flatMap((list, index) =>
      describeCall(`list_${at}_${index}`, LIST_TOOL, writeList(nameList(question, index), list.createInput(TOOL, []))),
    );
    return [message, ...written];
  });
}

const TOOL: ModelTool = { name: LIST_TOOL, description: "", inputSchema: {} };

/** The result format of the tool. */
function writeList(id: string, { items }: JsonObject): string {
  const texts = Array.isArray(items) ? items : [];
  const lines = texts.map((item, index) => `${index + 1}. [ ] ${(item as { readonly text: string }).text}`);
  return `The list ${id} is shown:\n${lines.join("\n")}`;
}
