/**
 * Reads a document of any supported format as a title and lines of text. For text formats these are the lines of the
 * file; for HTML and PDF, the lines of the extracted text.
 */
import { setImmediate as yieldToLoop } from "node:timers/promises";
import { basename, extname } from "node:path";
import { createLoopYield } from "../../log/follow-records.ts";
import { readHtml, readHtmlAsync } from "../read-html.ts";
import { decodeText } from "./decode-text.ts";
import type { DocumentFormat } from "./document-format.ts";
import type { KnowledgeBaseLimits } from "./knowledge-base-options.ts";
import type { ChunkToWrite } from "./knowledge-store.ts";
import type { PdfReader } from "./read-pdf.ts";
import { writeTerms } from "./read-terms.ts";
import { readHeading, splitDocument } from "./split-document.ts";

export interface ParsedDocument {
  readonly title: string;
  readonly format: DocumentFormat;
  readonly lines: readonly string[];
  /** Index of the first line after the front matter. */
  readonly from: number;
}

const TITLE_TAG = /<title[^>]{0,200}>([^<]{1,1000})/i;
const META_CHARSET = /<meta[^>]{0,200}charset\s{0,8}=\s{0,8}["']?([\w-]{1,40})/i;
const HEAD_CHARACTERS = 16_384;
/** The key of a YAML entry. */
const YAML_KEY = /^["']?[\p{L}\p{N}_][\p{L}\p{N}_ .-]{0,60}["']?:(?:\s|$)/u;
const MAX_TITLE = 200;
/** Maximum lines of a front matter, and lines searched for a heading. */
const MAX_HEAD_LINES = 200;

/** Characters that are split into lines before the reader yields to the event loop. */
const YIELD_CHARACTERS = 65_536;

/** Throws `unreadable_document`, `document_too_large` or `missing_package`. */
export async function readDocument(
  bytes: Uint8Array,
  path: string,
  format: DocumentFormat,
  pdf: PdfReader,
  signal: AbortSignal | undefined,
): Promise<ParsedDocument> {
  if (format === "pdf") {
    const { title, pages } = await pdf.read(bytes, signal);
    const text = pages.map((page, index) => `# Page ${index + 1}\n\n${page}`).join("\n\n");
    return { title: title ?? basename(path, extname(path)), format, lines: await splitLines(text, signal), from: 0 };
  }
  const head = format === "html" ? new TextDecoder("latin1").decode(bytes.subarray(0, HEAD_CHARACTERS)) : "";
  return readText(await decodeText(bytes, META_CHARSET.exec(head)?.[1]), format, basename(path), signal);
}

/** Reads a text. `name` becomes the title if the text has none. */
export async function readText(
  text: string,
  format: Exclude<DocumentFormat, "pdf">,
  name: string,
  signal?: AbortSignal,
): Promise<ParsedDocument> {
  const fallback = name.slice(0, name.length - extname(name).length) || name;
  if (format === "html") {
    const found = TITLE_TAG.exec(text.slice(0, HEAD_CHARACTERS))?.[1];
    const lines = await splitLines(await readHtmlAsync(text, signal), signal);
    const title = found === undefined ? undefined : readHtml(found);
    return { title: cutTitle(title) ?? findHeading(lines, 0) ?? fallback, format, lines, from: 0 };
  }
  const lines = await splitLines(text, signal);
  if (format === "text") return { title: fallback, format, lines, from: 0 };
  const { title, from } = readFrontMatter(lines);
  return { title: title ?? findHeading(lines, from) ?? fallback, format, lines, from };
}

/** Splits a document into passages and reads their search terms. Yields to the event loop. */
export async function indexDocument(
  { title, format, lines, from }: ParsedDocument,
  limits: KnowledgeBaseLimits,
  signal?: AbortSignal,
): Promise<ChunkToWrite[]> {
  const chunks = splitDocument(lines, {
    maxCharacters: limits.maxChunkCharacters,
    overlap: limits.overlapCharacters,
    isMarkdown: format !== "text",
    from,
  });
  const titleTerms = writeTerms(title);
  const made: ChunkToWrite[] = [];
  const pause = createLoopYield();
  for (const chunk of chunks) {
    await pause();
    signal?.throwIfAborted();
    if (chunk === undefined) continue;
    const { content, headings, firstLine, lastLine } = chunk;
    // The title is often the first heading too and must count once.
    const path = headings.filter((heading, index) => index > 0 || heading !== title).join("\n");
    made.push({
      content: content.toWellFormed(),
      headings: path.toWellFormed(),
      firstLine,
      lastLine,
      // The title finds the start of the document, not each of its passages.
      titleTerms: made.length === 0 ? titleTerms : "",
      headingTerms: writeTerms(path),
      bodyTerms: writeTerms(content),
    });
  }
  return made;
}

/** Splits a text at line breaks of any kind. Yields to the event loop, because a file can be line breaks alone. */
async function splitLines(text: string, signal: AbortSignal | undefined): Promise<string[]> {
  const lines: string[] = [];
  let rest = "";
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + YIELD_CHARACTERS);
    if (text[end - 1] === "\r" && text[end] === "\n") end++;
    // SQLite ends a text at a zero character, and PostgreSQL refuses it.
    const clean = text.slice(at, end).replaceAll("\0", " ");
    // A regular expression takes ten times as long.
    const found = (clean.includes("\r") ? clean.replaceAll(/\r\n?/g, "\n") : clean).split("\n");
    found[0] = rest + (found[0] ?? "");
    rest = found.pop() ?? "";
    for (const line of found) lines.push(line);
    at = end;
    if (at === text.length) break;
    await yieldToLoop();
    signal?.throwIfAborted();
  }
  lines.push(rest);
  return lines;
}

function readFrontMatter(lines: readonly string[]): { readonly title: string | undefined; readonly from: number } {
  if (lines[0]?.trimEnd() !== "---") return { title: undefined, from: 0 };
  const end = lines.slice(1, MAX_HEAD_LINES).findIndex((line) => /^(?:---|\.\.\.)\s*$/.test(line));
  if (end < 0 || !isYaml(lines.slice(1, end + 1))) return { title: undefined, from: 0 };
  const found = lines.slice(1, end + 1).find((line) => /^title\s*:/i.test(line));
  const title = found
    ?.slice(found.indexOf(":") + 1)
    .trim()
    .replace(/^(["'])(.*)\1$/, "$2");
  return { title: cutTitle(title), from: end + 2 };
}

/** Distinguishes front matter from a text that starts with a horizontal rule, which must stay searchable. */
function isYaml(lines: readonly string[]): boolean {
  const settings = lines.filter((line) => line.trim() !== "" && !line.startsWith("#"));
  return (
    YAML_KEY.test(settings[0] ?? "") &&
    settings.every((line) => YAML_KEY.test(line) || /^(?:[ \t]|- |[\]}])/.test(line))
  );
}

function findHeading(lines: readonly string[], from: number): string | undefined {
  const head = lines.slice(from, from + MAX_HEAD_LINES);
  for (const [index, line] of head.entries()) {
    const atx = cutTitle(readHeading(line)?.text);
    if (atx !== undefined) return atx;
    if (/^=+\s*$/.test(line) && (head[index - 1] ?? "").trim() !== "") return cutTitle(head[index - 1]);
  }
  return undefined;
}

function cutTitle(title: string | undefined): string | undefined {
  const words = title?.replaceAll(/\s+/g, " ").trim().slice(0, MAX_TITLE).toWellFormed();
  return words === "" ? undefined : words;
}
