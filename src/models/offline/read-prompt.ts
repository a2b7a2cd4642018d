/** Reads a conversation: the last user message and the calls made since. */
import type { ModelMessage, ToolCallPart, ToolResultPart } from "../model.ts";
import type { KnownTodoList, OfflineLanguage } from "./offline-task.ts";
import { readFiles, type SeenFile } from "./read-files.ts";
import { findContext, type GivenContext } from "./read-passages.ts";

export interface CompletedCall {
  readonly tool: string;
  readonly result: string;
  readonly isError: boolean;
  /** The user changed the arguments before approving, so the call was not the one requested. */
  readonly isEdited: boolean;
}

export interface PromptReading {
  readonly message: string;
  /** Files attached to the message. */
  readonly files: readonly SeenFile[];
  readonly language: OfflineLanguage;
  /** Calls since the message, in order, with their results. */
  readonly done: readonly CompletedCall[];
  /** Search results that came with the message. */
  readonly context: GivenContext;
  /** To-do lists shown earlier, latest first. */
  readonly lists: readonly KnownTodoList[];
  /** Whether an earlier answer already carries the label. */
  readonly hasLabel: boolean;
}

export const LABEL = { en: "Offline model", zh: "离线模型" } as const;

export function readPrompt(prompt: readonly ModelMessage[]): PromptReading {
  const last = prompt.findLastIndex(({ role }) => role === "user");
  const message = textOf(prompt[last]);
  const calls: ToolCallPart[] = [];
  const results = new Map<string, ToolResultPart>();
  for (const { role, content } of prompt.slice(last + 1)) {
    if (role === "assistant") calls.push(...content.filter((part) => part.type === "tool-call"));
    if (role === "tool") for (const part of content) results.set(part.toolCallId, part);
  }
  return {
    message,
    files: readFiles(prompt[last]),
    language: readLanguage(message),
    done: calls.map(({ toolCallId, toolName }) => describeResult(toolName, results.get(toolCallId))),
    context: findContext(prompt.map((one) => (one.role === "system" ? textOf(one) : "")).join("\n")),
    lists: readLists(prompt.slice(0, Math.max(0, last))),
    hasLabel: prompt.some((one) => one.role === "assistant" && mentionsLabel(textOf(one))),
  };
}

/** Chinese if there is any, except in an English sentence that only quotes some: "What does 你好 mean?" */
function readLanguage(text: string): OfflineLanguage {
  const [names = 0, letters = 0] = [/\p{Script=Han}/gu, /[a-z]/gi].map(
    (one) => text.slice(0, 400).match(one)?.length ?? 0,
  );
  const isEnglish = letters > names && ENGLISH.test(text);
  return /\p{Script=Han}/u.test(text) && !isEnglish ? "zh" : "en";
}

const ENGLISH =
  /^\s{0,9}(?:(?:please|can you|could you) )?(?:what|how|who|why|when|where|which|is|are|does|do|translate|explain|write|save|mark|say|tell|make|draw|show|read|delete)\s/i;

const MAX_LISTS = 8;
/** The result format of the tool `write_todo_list`. */
const LIST = /^The list (\S{1,200}) is shown:\n/;
const ITEM = /^(\d{1,4})\. \[[ x]\] (.{1,2000})$/gm;

/** A list that was replaced is read in its latest version. */
function readLists(prompt: readonly ModelMessage[]): readonly KnownTodoList[] {
  const lists = new Map<string, KnownTodoList>();
  for (const { role, content } of prompt.toReversed()) {
    if (role !== "tool") continue;
    for (const { toolName, output } of content.toReversed()) {
      if (toolName !== "write_todo_list" || output.type !== "text") continue;
      const [, id] = LIST.exec(output.value) ?? [];
      if (id === undefined || lists.has(id)) continue;
      const items = [...output.value.matchAll(ITEM)].map(([, item = "", text = ""]) => ({ id: item, text }));
      lists.set(id, { id, items });
      if (lists.size === MAX_LISTS) return [...lists.values()];
    }
  }
  return [...lists.values()];
}

/** The note before a result whose arguments were changed. */
const EDITED = /^The user changed the arguments to [^\n]*\n/;

function textOf(message: ModelMessage | undefined): string {
  if (message === undefined) return "";
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function mentionsLabel(text: string): boolean {
  return text.includes(LABEL.en) || text.includes(LABEL.zh);
}

function describeResult(tool: string, part: ToolResultPart | undefined): CompletedCall {
  if (part === undefined) return { tool, result: "", isError: true, isEdited: false };
  const { type, value } = part.output;
  const result = typeof value === "string" ? value : JSON.stringify(value);
  const note = EDITED.exec(result)?.[0] ?? "";
  return { tool, result: result.slice(note.length), isError: type === "error-text", isEdited: note !== "" };
}
