/**
 * Makes the end of incomplete Markdown presentable: closes inline marks opened in the last line, and holds back marks
 * whose meaning is still open. It affects only the preview, never the complete text.
 */

import { OPEN_CITATION } from "./find-citations.ts";
import { findOpenMath } from "./find-math.ts";

/** Longer lines are left unchanged. */
const MAX_LINE = 2000;

/** A line of marks only: it may become a list, heading, rule, fence or underline. */
const MARKS_ALONE = /^[ \t>]*(?:[-=*_+#|`~]+|\d{1,9}[.)]?|\[|!|!\[|\$\$?)?[ \t]*$/;
const TABLE_LINE = /^ {0,3}\|/;
const DELIMITERS = /^ {0,3}[|:\- \t]+$/;
/** An incomplete tag. Only known names: `a <b` may be a comparison. */
const TAG =
  /<(?:\/|!-{0,2}|\/?(?:a|abbr|b|br|blockquote|code|del|details|div|em|h[1-6]|hr|i|img|ins|kbd|li|mark|ol|p|pre|q|s|small|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul)(?:\s[^<>\n]{0,300})?)?$/i;

/** An unfinished link to a footnote. */
const FOOTNOTE = /\[\^[^\]\s]{0,40}$/;

export function closeInline(text: string): string {
  const source = text.slice(0, findOpenMath(text));
  const at = source.lastIndexOf("\n") + 1;
  const line = source.slice(at);
  if (line.length > MAX_LINE) return source;
  if (line !== "" && MARKS_ALONE.test(line) && !isTableLine(line)) return source.slice(0, at);
  const tableStart = findTableStart(source, at, line);
  if (tableStart !== undefined) return source.slice(0, tableStart);
  return source.slice(0, at) + closeLine(line.replace(TAG, "").replace(FOOTNOTE, "").replace(OPEN_CITATION, ""));
}

function isTableLine(line: string): boolean {
  return TABLE_LINE.test(line);
}

/** Returns the start of a table that has no rows yet. Its header must not flash as a paragraph. */
function findTableStart(source: string, at: number, line: string): number | undefined {
  const linesBefore = source.slice(0, at).split("\n", -1);
  // The last element is the current line, and empty.
  const before = linesBefore.at(-2) ?? "";
  if (line !== "" && isTableLine(line) && !isTableLine(before)) return at;
  const isSecond = (line === "" || DELIMITERS.test(line)) && isTableLine(before) && !DELIMITERS.test(before);
  return isSecond && !isTableLine(linesBefore.at(-3) ?? "") ? at - before.length - 1 : undefined;
}

interface OpenMark {
  readonly marks: string;
}

function closeLine(line: string): string {
  const opened: OpenMark[] = [];
  const brackets: number[] = [];
  // Skip list and heading marks at the start of the line.
  let i = /^[ \t>]*(?:(?:[*+-]|#{1,6}|\d{1,9}[.)])[ \t]+)*/.exec(line)?.[0].length ?? 0;
  while (i < line.length) {
    const char = line[i] ?? "";
    if (char === "\\") {
      if (i === line.length - 1) return close(line.slice(0, -1), opened);
      i += 2;
    } else if (char === "`") {
      const marks = readRun(line, i);
      const end = findRun(line, i + marks.length, marks);
      if (end === -1) {
        const inside = line.slice(i + marks.length).replace(/`+$/, "");
        return inside.trim() === ""
          ? close(line.slice(0, i), opened)
          : close(line.slice(0, i) + marks + inside + marks, opened);
      }
      i = end + marks.length;
    } else if (char === "[") {
      brackets.push(i);
      i++;
    } else if (char === "]") {
      const open = brackets.pop();
      i++;
      if (open === undefined || line[i] !== "(") continue;
      const end = findParenthesis(line, i);
      if (end === -1) return close(dropLink(line, open, i - 1), opened);
      i = end + 1;
    } else if (char === "*" || char === "_" || char === "~") {
      const marks = readRun(line, i);
      i += marks.length;
      if (!readMarks(line, i, marks, opened)) return close(line.slice(0, i - marks.length), opened);
    } else i++;
  }
  return close(line, opened);
}

/** Applies a run of marks. Returns false if the run ends the line and may still change. */
function readMarks(line: string, end: number, marks: string, opened: OpenMark[]): boolean {
  const before = line[end - marks.length - 1] ?? " ";
  const after = line[end] ?? "";
  const last = opened.at(-1);
  const isClosing = last?.marks === marks && !/\s/.test(before);
  if (isClosing) opened.pop();
  else if (after === "") return false;
  else if (!/\s/.test(after) && marks.length <= 3 && marks !== "~" && (marks[0] !== "_" || !/\w/.test(before))) {
    opened.push({ marks });
  }
  return true;
}

function close(line: string, opened: readonly OpenMark[]): string {
  if (opened.length === 0) return line;
  // Marks after a space close nothing.
  const text = line.trimEnd();
  const marks = opened.map((one) => one.marks);
  // Remove marks that have no content yet.
  while (marks.length > 0 && text.endsWith(marks.at(-1) ?? ""))
    return close(text.slice(0, -(marks.at(-1) ?? "").length), opened.slice(0, -1));
  return text + marks.toReversed().join("");
}

/** `[text](addr`: keeps the text. Incomplete images are removed. */
function dropLink(line: string, open: number, closeAt: number): string {
  const isImage = line[open - 1] === "!";
  return isImage ? line.slice(0, open - 1) : line.slice(0, open) + line.slice(open + 1, closeAt);
}

function readRun(line: string, at: number): string {
  let end = at + 1;
  while (line[end] === line[at]) end++;
  return line.slice(at, end);
}

/** Finds the next run of exactly these marks. */
function findRun(line: string, from: number, marks: string): number {
  for (let at = line.indexOf(marks, from); at !== -1;) {
    const run = readRun(line, at);
    if (run.length === marks.length) return at;
    at = line.indexOf(marks, at + run.length);
  }
  return -1;
}

function findParenthesis(line: string, open: number): number {
  let depth = 0;
  for (let i = open; i < line.length; i++) {
    if (line[i] === "\\") i++;
    else if (line[i] === "(") depth++;
    else if (line[i] === ")" && --depth === 0) return i;
  }
  return -1;
}
