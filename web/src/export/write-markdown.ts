/** Writes a conversation as Markdown. */
import { closeMarkdown, type UiLanguage } from "../../../src/react/page-parts.ts";
import {
  describeSource,
  type ExportedConversation,
  type ExportedMessage,
  type ExportedText,
} from "./describe-conversation.ts";
import { EXPORT_WORDS } from "./export-words.ts";

export function writeMarkdown({ title, subtitle, note, messages }: ExportedConversation, language: UiLanguage): string {
  const parts = [`# ${escapeInline(title)}`, `*${escapeInline(subtitle)}*`];
  if (note !== undefined) parts.push(`*${escapeInline(note)}*`);
  return `${[...parts, ...messages.map((message) => writeMessage(message, language))].join("\n\n")}\n`;
}

function writeMessage({ heading, time, texts, lists, sources, note }: ExportedMessage, language: UiLanguage): string {
  const parts = [`## ${heading}${time === undefined ? "" : ` · ${time}`}`, ...texts.map(writeText)];
  const cited = {
    title: EXPORT_WORDS[language].sources,
    entries: sources.map((source) => describeSource(source, language)),
  };
  for (const { title, entries } of [...lists, ...(sources.length === 0 ? [] : [cited])])
    parts.push(`**${title}**\n\n${entries.map((entry) => `- ${escapeLine(entry)}`).join("\n")}`);
  if (note !== undefined) parts.push(`*${note}*`);
  return parts.filter((part) => part !== "").join("\n\n");
}

/** A Markdown answer is kept, and closed if it was stopped in a block. Other texts keep their characters and line breaks. */
function writeText({ text, format }: ExportedText): string {
  if (format === "markdown") return closeMarkdown(text.trim());
  if (format === "html") return fence(text);
  return text.trim().split("\n").map(escapeLine).join("  \n");
}

/** A fence is longer than any run of backticks in the text. */
function fence(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/gu)].map(([run]) => run.length));
  const marks = "`".repeat(longest + 1);
  return `${marks}html\n${text}\n${marks}`;
}

/** Escapes a line of text. Its indent is kept with other spaces: as code, it would show the escapes. */
function escapeLine(line: string): string {
  const indent = /^[ \t]*/u.exec(line)?.[0] ?? "";
  const text = escapeInline(line.slice(indent.length))
    .replace(/^[-+>=]/u, String.raw`\$&`)
    .replace(/^(\d+)([.)])(?=\s|$)/u, String.raw`$1\$2`);
  return `${indent.replaceAll("\t", "    ").replaceAll(" ", "\u00A0")}${text}`;
}

function escapeInline(text: string): string {
  return text.replaceAll(/[\\`*_[\]<#|~&]/gu, String.raw`\$&`).replaceAll(/\s*\n\s*/gu, " ");
}
