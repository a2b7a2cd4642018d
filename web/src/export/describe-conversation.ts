/** The content of a conversation for export: questions and answers with their time, files, tools and sources. */
import type { MessagePart, Reference, SessionView, TurnView } from "loom-agent/client";
import type { MessageView } from "../../../src/client/view.ts";
import { formatTime, listCitedSources, type UiLanguage, writeMarkdownTable } from "../../../src/react/page-parts.ts";
import { EXPORT_WORDS } from "./export-words.ts";

/** As a file, to the clipboard, or to the printer. */
export type ExportForm = "markdown" | "html" | "copy" | "print";

/** A text in an exported conversation. */
export interface ExportedText {
  readonly text: string;
  /** `markdown`, `text` or `html`. */
  readonly format: string;
}

export interface ExportedMessage {
  readonly role: "user" | "assistant";
  readonly heading: string;
  /** Undefined if the stream has no times. */
  readonly time: string | undefined;
  readonly texts: readonly ExportedText[];
  /** Lists below the text, each with a title. */
  readonly lists: readonly { readonly title: string; readonly entries: readonly string[] }[];
  /** What the text cites; what was found, if it cites nothing. */
  readonly sources: readonly Reference[];
  /** Why the answer is not complete. */
  readonly note: string | undefined;
}

export interface ExportedConversation {
  readonly title: string;
  readonly subtitle: string;
  readonly note: string | undefined;
  readonly messages: readonly ExportedMessage[];
}

export interface ExportOptions {
  readonly title: string | undefined;
  readonly language: UiLanguage;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Only this run. Default: all. */
  readonly turnKey?: string | undefined;
}

const MAX_URL = 500;

export function describeConversation(
  { turns, earlierTurns }: Pick<SessionView, "turns" | "earlierTurns">,
  { title, language, now, turnKey }: ExportOptions,
): ExportedConversation {
  const words = EXPORT_WORDS[language];
  const shown = turnKey === undefined ? turns : turns.filter(({ key }) => key === turnKey);
  return {
    title: title ?? words.untitled,
    subtitle: words.exported(formatTime(now, language)),
    note: earlierTurns > 0 && turnKey === undefined ? words.earlier(earlierTurns) : undefined,
    messages: shown.flatMap((turn) => turn.messages.map((message) => describeMessage(turn, message, language))),
  };
}

/** Texts, tables and images. Steps on the way to the answer are left out. */
function describePart(part: MessagePart): readonly ExportedText[] {
  if (part.type === "text") return part.text === "" ? [] : [part];
  if (part.type === "image") return [{ text: part.alt ?? part.url.slice(0, MAX_URL), format: "text" }];
  if (part.type !== "data") return [];
  const { dataType, data, metadata } = part.block;
  const description = metadata?.["description"];
  const caption = typeof description === "string" && description !== "" ? [{ text: description, format: "text" }] : [];
  const table = dataType === "image" ? undefined : writeMarkdownTable(data);
  return table === undefined ? caption : [...caption, { text: table, format: "markdown" }];
}

/** One line: number, title, address and lines. */
export function describeSource({ ref, title, uri, firstLine, lastLine }: Reference, language: UiLanguage): string {
  const lines = firstLine === undefined ? [] : [EXPORT_WORDS[language].lines(firstLine, lastLine ?? firstLine)];
  const where = [...(uri === undefined ? [] : [uri]), ...lines].join(", ");
  return `${ref === undefined ? "" : `[${ref}] `}${title}${where === "" ? "" : ` (${where})`}`;
}

function describeMessage(turn: TurnView, message: MessageView, language: UiLanguage): ExportedMessage {
  const words = EXPORT_WORDS[language];
  const { role, parts, metadata, attachments = [] } = message;
  const isUser = role === "user";
  const at = isUser ? metadata.startTime : (metadata.endTime ?? metadata.startTime);
  const kept = parts.filter(({ supersededBy }) => supersededBy === undefined);
  const texts = isUser ? [{ text: message.mainContent, format: "text" }] : kept.flatMap(describePart);
  const tools = new Set(kept.flatMap((part) => (part.type === "tool" ? [part.call.toolName] : [])));
  const cited = listCitedSources(kept);
  const lists = [
    { title: words.files, entries: attachments.map(({ name, blob_id }) => name ?? blob_id.slice(0, 12)) },
    { title: words.tools, entries: [...tools].filter((name) => name !== "") },
  ].filter(({ entries }) => entries.length > 0);
  return {
    role,
    heading: isUser ? words.you : words.answer,
    time: at === 0 ? undefined : formatTime(at, language),
    texts: texts.map(({ text, format }) => ({ text, format })),
    lists,
    sources: cited.length > 0 ? cited : kept.flatMap((part) => (part.type === "references" ? part.sources : [])),
    note: isUser || turn.status === "completed" ? undefined : words[turn.status],
  };
}
