/** What the offline model reads of a conversation: the last thing the user said, and what was done about it since. */
import type { ModelMessage, ToolCallPart, ToolResultPart } from "../model.ts";
import type { KnownList, Language } from "./errand.ts";
import { readFiles, type SeenFile } from "./read-files.ts";
import { findContext, type GivenContext } from "./read-passages.ts";

export interface Done {
  readonly tool: string;
  readonly result: string;
  readonly isError: boolean;
  /** Whoever approved the call has changed its arguments: what was asked for is not what was done. */
  readonly isEdited: boolean;
}

export interface Reading {
  readonly message: string;
  /** What came with it. */
  readonly files: readonly SeenFile[];
  readonly language: Language;
  /** Calls since then, in their order, with what came of them. */
  readonly done: readonly Done[];
  /** What was found for the message before this model was asked. */
  readonly context: GivenContext;
  /** The to-do lists that were shown before, the latest first. */
  readonly lists: readonly KnownList[];
  /** Whether the conversation was told already what this model is. */
  readonly isIntroduced: boolean;
}

export const LABEL = { en: "Offline model", zh: "离线模型" } as const;

export function readPrompt(prompt: readonly ModelMessage[]): Reading {
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
    isIntroduced: prompt.some((one) => one.role === "assistant" && mentionsLabel(textOf(one))),
  };
}

/** Chinese, as soon as there is any in it; but not where an English sentence only names some: "What does 你好 mean?" */
function readLanguage(text: string): Language {
  const [names = 0, letters = 0] = [/\p{Script=Han}/gu, /[a-z]/gi].map(
    (one) => text.slice(0, 400).match(one)?.length ?? 0,
  );
  const isEnglish = letters > names && ENGLISH.test(text);
  return /\p{Script=Han}/u.test(text) && !isEnglish ? "zh" : "en";
}

const ENGLISH =
  /^\s{0,9}(?:(?:please|can you|could you) )?(?:what|how|who|why|when|where|which|is|are|does|do|translate|explain|write|save|mark|say|tell|make|draw|show|read|delete)\s/i;

const MAX_LISTS = 8;
/** As our own tool says it. */
const LIST = /^The list (\S{1,200}) is shown:\n/;
const ITEM = /^(\d{1,4})\. \[[ x]\] (.{1,2000})$/gm;

/** A list that was replaced is known as it is now. */
function readLists(prompt: readonly ModelMessage[]): readonly KnownList[] {
  const lists = new Map<string, KnownList>();
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

/** What the tools put before a result, in English. */
const EDITED = /^The user changed the arguments to [^\n]*\n/;

function textOf(message: ModelMessage | undefined): string {
  if (message === undefined) return "";
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function mentionsLabel(text: string): boolean {
  return text.includes(LABEL.en) || text.includes(LABEL.zh);
}

function describeResult(tool: string, part: ToolResultPart | undefined): Done {
  if (part === undefined) return { tool, result: "", isError: true, isEdited: false };
  const { type, value } = part.output;
  const result = typeof value === "string" ? value : JSON.stringify(value);
  const note = EDITED.exec(result)?.[0] ?? "";
  return { tool, result: result.slice(note.length), isError: type === "error-text", isEdited: note !== "" };
}
