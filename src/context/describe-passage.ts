/**
 * Formats passages for a model: a number, the quoted title and the source, then the text with every line marked.
 * Neither retrievers nor documents are trusted.
 *
 * Invariant: every line of a passage starts with the mark, and its title and address are one line. So no passage can
 * end itself, start another one, or pose as another part of the prompt.
 */
import type { Passage } from "./retriever.ts";
import { shorten } from "../protocol/cut-text.ts";

/** Metadata of a passage, with the field names of events and tool results. */
export interface PassageSource {
  readonly ref?: number;
  readonly title: string;
  readonly uri?: string;
  readonly snippet?: string;
  readonly score?: number;
  readonly first_line?: number;
  readonly last_line?: number;
}

const MAX_TITLE = 200;
const MAX_URI = 1000;
/** Maximum characters of one passage. */
const MAX_TEXT = 200_000;
/** Starts every line of a passage. */
export const PASSAGE_MARK = "| ";

/** All line break characters other than `\n`. */
const BREAKS = /\r\n?|[\u0085\u2028\u2029\v\f]/g;
/**
 * Control characters, bidirectional overrides and invisible characters. The range at the end is variation selectors, which
 * can carry hidden text.
 */
const UNSAFE = /(?![\n\t])\p{Cc}|\p{Cf}|[\u{E0100}-\u{E01EF}]/gu;

/** Returns a safe copy of a passage. Accepts any value, because retrievers may be untyped. */
export function cleanPassage(given: unknown): Passage {
  const { title, content, uri, snippet, score, firstLine, lastLine } = Object(given) as {
    [K in keyof Passage]?: unknown;
  };
  const name = readLine(title, MAX_TITLE);
  const address = readLine(uri, MAX_URI);
  const text = typeof content === "string" ? cleanText(content) : "";
  // A last line says nothing without a first one.
  const isPlaced = isLine(firstLine);
  return {
    title: [name, address].find((one) => one !== "") ?? "untitled",
    content: text,
    ...(typeof snippet === "string" ? { snippet: cleanText(snippet) } : {}),
    ...(address === "" ? {} : { uri: address }),
    ...(typeof score === "number" && Number.isFinite(score) ? { score } : {}),
    ...(isPlaced ? { firstLine } : {}),
    ...(isPlaced && isLine(lastLine) && lastLine >= firstLine ? { lastLine } : {}),
  };
}

/** Formats a passage. `text` must be cleaned with `cleanPassage`. */
export function describePassage(source: PassageSource, text: string): string {
  const { ref, title, uri, score, first_line: first, last_line: last = first } = source;
  const where = [
    ...(uri === undefined || uri === title ? [] : [uri]),
    ...(first === undefined ? [] : [first === last ? `line ${first}` : `lines ${first} to ${last}`]),
    ...(score !== undefined ? [`score ${Math.round(score * 100) / 100}`] : []),
  ].join(", ");
  const head = `[${ref ?? "?"}] "${title.replaceAll('"', "'")}"${where === "" ? "" : ` (${where})`}`;
  return [head, ...text.split("\n").map((line) => PASSAGE_MARK + line)].join("\n");
}

function cleanText(text: string): string {
  return text.slice(0, MAX_TEXT).toWellFormed().replaceAll(BREAKS, "\n").replaceAll(UNSAFE, "").trim();
}

/** Removes unsafe characters and line breaks, and cuts the text. */
export function cleanLine(text: string, maxCharacters: number): string {
  return shorten(cleanText(text).replaceAll(/\s+/g, " "), maxCharacters);
}

function readLine(value: unknown, maxCharacters: number): string {
  return typeof value === "string" ? cleanLine(value, maxCharacters) : "";
}

function isLine(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}
