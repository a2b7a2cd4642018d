/** Formats Markdown as rows for a terminal: headings, lists, code, quotes, tables and inline styles. */
import { cutColumns, measureColumns } from "../fit-text.ts";
import type { Token, Tokens } from "marked";
import { lexMarkdown } from "../../react/text/lex-markdown.ts";
import type { Style } from "../terminal.ts";
import { type StyledText, type TextRow, wrapRows } from "./text-rows.ts";

/** Longer text is not parsed: it is shown as it is. */
const MAX_PARSED = 200_000;
const MAX_NESTING = 12;
/** Columns that a table cell gets at least, if the table does not fit. */
const LEAST_CELL = 4;

export function formatMarkdown(text: string, width: number): readonly TextRow[] {
  if (text.length > MAX_PARSED) return wrapRows([{ text }], { width });
  return trimRows(formatBlocks(lexMarkdown(text, {}), width, 0));
}

function formatBlocks(tokens: readonly Token[], width: number, depth: number): readonly TextRow[] {
  if (depth > MAX_NESTING || width < 4) return wrapRows([{ text: tokens.map(({ raw }) => raw).join("") }], { width });
  return tokens.flatMap((token) => formatBlock(token, width, depth));
}

function formatBlock(token: Token, width: number, depth: number): readonly TextRow[] {
  switch (token.type) {
    case "space":
      return [];
    case "heading": {
      const { tokens, depth: level } = token as Tokens.Heading;
      const style: Style = level === 1 ? ["bold", "underline"] : "bold";
      return [...wrapRows(formatInline(tokens, style), { width }), []];
    }
    case "code":
      return [...formatCode(token as Tokens.Code, width), []];
    case "blockquote": {
      const rows = trimRows(formatBlocks((token as Tokens.Blockquote).tokens, width - 2, depth + 1));
      return [...rows.map((row) => [{ text: "│ ", style: "dim" as const }, ...row]), []];
    }
    case "list":
      return [...formatList(token as Tokens.List, width, depth), []];
    case "table":
      return [...formatTable(token as Tokens.Table, width), []];
    case "hr":
      return [[{ text: "─".repeat(Math.min(width, 40)), style: "dim" }], []];
    case "math":
      return [...wrapRows([{ text: token.raw.trim(), style: "cyan" }], { width }), []];
    case "text":
      // The text of a list item.
      return wrapRows(formatInline((token as Tokens.Text).tokens ?? [token]), { width });
    default: {
      const { tokens } = token as Partial<Tokens.Paragraph>;
      const pieces = tokens === undefined ? [{ text: token.raw.trimEnd() }] : formatInline(tokens);
      return [...wrapRows(pieces, { width }), []];
    }
  }
}

function formatCode({ text }: Tokens.Code, width: number): readonly TextRow[] {
  const margin: StyledText = { text: "  " };
  return text
    .split("\n")
    .flatMap((line) =>
      wrapRows([{ text: line.replaceAll("\t", "    "), style: "cyan" }], { width, first: margin, rest: margin }),
    );
}

function formatList({ items, ordered, start }: Tokens.List, width: number, depth: number): readonly TextRow[] {
  return items.flatMap((item, index) => {
    const number = `${(start === "" ? 1 : start) + index}. `;
    const box = item.task ? (item.checked === true ? "[x] " : "[ ] ") : "";
    const mark = `${ordered ? number : "• "}${box}`;
    // The box of a task is a separate token.
    const content = item.tokens.filter(({ type }) => type !== "checkbox");
    const rows = trimRows(formatBlocks(content, width - mark.length, depth + 1));
    const indent = " ".repeat(mark.length);
    return (rows.length === 0 ? [[]] : rows).map((row, at) => [{ text: at === 0 ? mark : indent }, ...row]);
  });
}

function formatTable({ header, rows }: Tokens.Table, width: number): readonly TextRow[] {
  return formatCells(
    [header, ...rows].map((row) => row.map(({ tokens }) => toPlain(tokens))),
    width,
  );
}

/** Formats a table whose first row is the header. */
export function formatCells(cells: readonly (readonly string[])[], width: number): readonly TextRow[] {
  const [header = []] = cells;
  const count = header.length;
  const widest = header.map((_, column) => Math.max(1, ...cells.map((row) => measureColumns(row[column] ?? ""))));
  const room = width - 3 * (count - 1);
  if (room < count * LEAST_CELL)
    return cells.flatMap((row) => wrapRows([{ text: row.join(" | ") }], { width, rest: { text: "  " } }));
  const columns = shareColumns(widest, room);
  const line = columns.map((each) => "─".repeat(each)).join("─┼─");
  return cells.flatMap((row, index) => {
    const shown = columns
      .map((each, column) => {
        const cell = cutColumns(row[column] ?? "", each);
        return cell + " ".repeat(Math.max(0, each - measureColumns(cell)));
      })
      .join(" │ ");
    if (index > 0) return [[{ text: shown.trimEnd() }]];
    return [[{ text: shown.trimEnd(), style: "bold" as const }], [{ text: line, style: "dim" as const }]];
  });
}

/** Narrow columns keep their width; the others share the rest. */
function shareColumns(widest: readonly number[], room: number): readonly number[] {
  const shares = widest.map(() => 0);
  let left = room;
  let open = widest.map((_, index) => index);
  while (open.length > 0) {
    const share = Math.floor(left / open.length);
    const fitting = open.filter((index) => (widest[index] ?? 0) <= share);
    for (const index of fitting.length === 0 ? open : fitting) {
      shares[index] = Math.min(widest[index] ?? 0, share);
      left -= shares[index] ?? 0;
    }
    if (fitting.length === 0) break;
    open = open.filter((index) => !fitting.includes(index));
  }
  return shares;
}

function formatInline(tokens: readonly Token[], style?: Style, depth = 0): readonly StyledText[] {
  if (depth > MAX_NESTING) return tokens.map(({ raw }) => ({ text: raw, style }));
  return tokens.flatMap((token): readonly StyledText[] => {
    const inner = (added: Style): readonly StyledText[] =>
      formatInline((token as Tokens.Strong).tokens ?? [], join(style, added), depth + 1);
    switch (token.type) {
      case "strong":
        return inner("bold");
      case "em":
        return inner("italic");
      case "del":
        return inner("strikethrough");
      case "codespan":
        return [{ text: (token as Tokens.Codespan).text, style: join(style, "cyan") }];
      case "br":
        return [{ text: "\n" }];
      case "link": {
        const { href, text } = token as Tokens.Link;
        const address =
          href === text || href === `mailto:${text}` ? [] : [{ text: ` (${href})`, style: "dim" as const }];
        return [...inner("underline"), ...address];
      }
      case "image": {
        const { href, text } = token as Tokens.Image;
        return [{ text: `[image ${text}] (${href})`, style: "dim" }];
      }
      case "text":
      case "escape": {
        const { tokens: nested, text } = token as Tokens.Text;
        return nested === undefined ? [{ text, style }] : formatInline(nested, style, depth + 1);
      }
      default:
        return [{ text: token.raw, style }];
    }
  });
}

function join(outer: Style | undefined, inner: Style): Style {
  const list = (style: Style | undefined): readonly string[] => (style === undefined ? [] : [style].flat());
  return [...new Set([...list(outer), ...list(inner)])] as unknown as Style;
}

function toPlain(tokens: readonly Token[]): string {
  return formatInline(tokens)
    .map(({ text }) => text)
    .join("")
    .replaceAll(/\s+/g, " ");
}

/** Removes empty rows at both ends. */
function trimRows(rows: readonly TextRow[]): readonly TextRow[] {
  const isFull = (row: TextRow): boolean => row.some(({ text }) => text.trim() !== "");
  const first = rows.findIndex(isFull);
  return first === -1 ? [] : rows.slice(first, rows.findLastIndex(isFull) + 1);
}
