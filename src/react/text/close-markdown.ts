/** Closes what a Markdown text leaves open, so that other text can follow it. */
import { lexMarkdown, type LinkDefinitions } from "./lex-markdown.ts";

/** HTML that an empty line does not end, by its start. */
const OPEN_HTML: readonly (readonly [start: RegExp, end: string])[] = [
  [/^ {0,3}<!--/, "-->"],
  [/^ {0,3}<!\[CDATA\[/, "]]>"],
  [/^ {0,3}<\?/, "?>"],
  ...["script", "pre", "style", "textarea"].map(
    (name) => [new RegExp(`^ {0,3}<${name}(?:[\\s>]|$)`, "i"), `</${name}>`] as const,
  ),
];

/**
 * Closes a code block or an HTML block that is open at the end of a Markdown text, for example of a stopped answer.
 * Without it, Markdown that follows would be part of the block. Lists and quotes end where other text begins.
 */
export function closeMarkdown(text: string): string {
  const tokens = lexMarkdown(text.replaceAll(/\r\n?/g, "\n"), Object.create(null) as LinkDefinitions);
  const last = tokens.findLast(({ type }) => type !== "space");
  const end = last?.type === "code" ? findFence(last.raw) : last?.type === "html" ? findHtmlEnd(last.raw) : undefined;
  return end === undefined ? text : `${text}${text.endsWith("\n") ? "" : "\n"}${end}`;
}

/** Returns the closing fence that a code block lacks. Indented code has none. */
function findFence(raw: string): string | undefined {
  const marks = /^ {0,3}(`{3,}|~{3,})/.exec(raw)?.[1];
  if (marks === undefined) return undefined;
  const [, ...lines] = raw.trimEnd().split("\n");
  const isClosed = new RegExp(`^ {0,3}${marks}${marks.charAt(0)}*[ \\t]*$`).test(lines.at(-1) ?? "");
  return isClosed ? undefined : marks;
}

function findHtmlEnd(raw: string): string | undefined {
  const end = OPEN_HTML.find(([start]) => start.test(raw))?.[1];
  return end === undefined || raw.toLowerCase().includes(end.toLowerCase()) ? undefined : end;
}
