/**
 * What the demo model reads of a prompt: the last message, its files, the calls since, the passages found for it and
 * the to-do lists shown before.
 */
import { shorten } from "../../protocol/cut-text.ts";
import { describeFile } from "../describe-file.ts";
import type { ModelMessage, UserPart } from "../model.ts";
import { type DemoLanguage, LABEL, readLanguage, type Say, speak } from "./demo-texts.ts";
import { type FoundPassage, findPassages } from "./passages.ts";

/** A tool call since the message, with its result. */
export interface CompletedCall {
  readonly tool: string;
  readonly result: string;
  readonly isError: boolean;
}

/** A to-do list that is already shown. */
interface ShownList {
  readonly id: string;
  readonly items: readonly { readonly id: string; readonly text: string }[];
}

export interface DemoConversation {
  readonly message: string;
  /** A sentence about each file of the message. */
  readonly files: readonly string[];
  readonly language: DemoLanguage;
  readonly done: readonly CompletedCall[];
  /** The passages of a search before the question; undefined if there was no search. */
  readonly passages: readonly FoundPassage[] | undefined;
  /** Latest first. */
  readonly lists: readonly ShownList[];
  /** Whether an earlier answer already has the label. */
  readonly hasLabel: boolean;
}

export function readConversation(prompt: readonly ModelMessage[]): DemoConversation {
  const last = prompt.findLastIndex(({ role }) => role === "user");
  const content = prompt[last]?.role === "user" ? prompt[last].content : [];
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  // Messages without an answer between them are parts of one message; the last one counts.
  const message = texts.findLast((text) => !text.startsWith(FILE_NOTE)) ?? "";
  const language = readLanguage(message);
  const said = prompt.flatMap((one) => (one.role === "assistant" ? one.content : []));
  return {
    message,
    files: content.flatMap((part) => readFile(part, speak(language)) ?? []),
    language,
    done: listResults(prompt.slice(last + 1)),
    passages: findPassages(prompt.map((one) => (one.role === "system" ? one.content : "")).join("\n")),
    lists: listResults(prompt).toReversed().flatMap(readList),
    hasLabel: said.some(
      (part) => part.type === "text" && Object.values(LABEL).some((label) => part.text.includes(label.trim())),
    ),
  };
}

/** How agents introduce a file of the user. */
const FILE_NOTE = "[The user sent ";
const MAX_QUOTED = 200;

/** Says what it sees of a file; undefined for other parts. */
function readFile(part: UserPart, say: Say): string | undefined {
  if (part.type === "attachment" || (part.type === "text" && !part.text.startsWith(FILE_NOTE))) return undefined;
  const note =
    part.type === "text"
      ? part.text.slice(FILE_NOTE.length)
      : describeFile({ ...part, bytes: countBytes(part.data), name: part.filename });
  const [, name, type = "", bytes = ""] = /^(?:a file|the file "(.*?)") \(([^\n]*?), (\d+) bytes\)/.exec(note) ?? [];
  const seen = say(
    `I received ${name === undefined ? "a file" : `the file “${name}”`} (${type}, ${bytes} bytes)`,
    `我收到了${name === undefined ? "一个文件" : `文件“${name}”`}（${type}，${bytes} 字节）`,
  );
  const [, text] = /\. Content:\]\n(.*)\n\[End of file\]$/s.exec(note) ?? [];
  if (text === undefined) return seen + say(", but I cannot read this format.", "，但无法读取这种格式。");
  const begins = shorten(text.trim().replaceAll(/\s+/g, " "), MAX_QUOTED);
  if (begins === "") return seen + say("; it is empty.", "，文件为空。");
  return seen + say(`. It begins: “${begins}”`, `，开头是：“${begins}”`);
}

/** Version 4 of the specification wraps the bytes in an object. */
function countBytes(data: unknown): number {
  const inner = data instanceof Uint8Array ? data : (data as { readonly data?: unknown } | undefined)?.data;
  return inner instanceof Uint8Array ? inner.length : 0;
}

/** The results of the tools, in the order of the messages. */
function listResults(messages: readonly ModelMessage[]): readonly CompletedCall[] {
  const parts = messages.flatMap((one) => (one.role === "tool" ? one.content : []));
  return parts.map(({ toolName: tool, output: { type, value } }) => {
    const result = typeof value === "string" ? value : JSON.stringify(value);
    return { tool, result: result.trim(), isError: type === "error-text" };
  });
}

/** Reads the result of `write_todo_list`. */
function readList({ result }: CompletedCall): readonly ShownList[] {
  const id = /^The list (\S+) is shown:\n/.exec(result)?.[1];
  const items = [...result.matchAll(/^(\d+)\. \[[ x]\] (.+)$/gm)];
  return id === undefined ? [] : [{ id, items: items.map(([, item = "", text = ""]) => ({ id: item, text })) }];
}
