/**
 * Formats the parts of a turn as rows for a terminal: the message of the user, the answer, tools and the end. A part that
 * no longer changes is formatted once, so the cost of a token does not grow with the number of parts.
 */
import type { DataBlock, MessagePart, SessionView, ToolCall, TurnView } from "../../client/index.ts";
import type { MessageView, TodoPart } from "../../client/view.ts";
import type { Json } from "../../protocol/index.ts";
import { cutColumns, formatDuration, measureColumns, plural } from "../fit-text.ts";
import { formatCells, formatMarkdown } from "./markdown-rows.ts";
import { listCitedSources } from "./piped-answer.ts";
import { type PaintText, paintRow, type StyledText, wrapRows } from "./text-rows.ts";

/** Rows shown of the output of a tool, and of thinking, while they grow. */
const TAIL_ROWS = 3;
/** Rows shown of a table. */
const TABLE_ROWS = 30;
/** Rows shown of a message of the user. */
const MESSAGE_ROWS = 12;
/** Characters of the end of a text that are formatted while it streams. */
const LIVE_CHARACTERS = 20_000;

/** One line about a run: a sign, a name, text, and an end that is never cut off. */
interface Note {
  /** Indentation levels; default: 0. */
  readonly indent?: number;
  readonly style?: "cyan" | "green" | "red" | "yellow" | "dim";
  readonly sign: string;
  readonly name: string;
  readonly text?: string;
  readonly end?: string;
}

/** The indentation takes at most this fraction of the line: 1/4. */
const INDENT_SHARE = 4;

export interface TurnRowOptions {
  readonly width: number;
  readonly paint: PaintText;
  /** How the thoughts of a search can be seen, if they are not shown with the turn. */
  readonly thoughtsHint?: string | undefined;
}

export type ShownTodoLists = SessionView["todoLists"];

export class TurnRows {
  readonly #options: TurnRowOptions;
  readonly #parts = new WeakMap<MessagePart, readonly string[]>();

  constructor(options: TurnRowOptions) {
    this.#options = options;
  }

  get width(): number {
    return this.#options.width;
  }

  get paint(): PaintText {
    return this.#options.paint;
  }

  /** The message of the user. */
  formatUser({ mainContent, attachments = [] }: MessageView): readonly string[] {
    const rows = this.#wrap([{ text: mainContent, style: "bold" }], { text: "› ", style: "cyan" });
    const hidden = rows.length - MESSAGE_ROWS;
    const more = this.formatNotice(`  … ${plural(hidden, "more line")}`);
    return [
      ...(hidden > 1 ? [...rows.slice(0, MESSAGE_ROWS), more] : rows),
      ...attachments.map(({ name = "file" }) => this.#note({ style: "dim", sign: "  +", name: "", text: name })),
    ];
  }

  /** A part of the answer. `isLive`: the run may still change it. */
  formatPart(part: MessagePart, todoLists: ShownTodoLists, isLive: boolean): readonly string[] {
    if (part.type === "todo") return this.#formatTodo(part.listId, todoLists);
    const isStreaming = isLive && (part.type === "text" || part.type === "thinking") && !part.isComplete;
    const known = isStreaming ? undefined : this.#parts.get(part);
    if (known !== undefined) return known;
    const rows = this.#format(part, isStreaming);
    if (!isStreaming) this.#parts.set(part, rows);
    return rows;
  }

  #format(part: Exclude<MessagePart, TodoPart>, isStreaming: boolean): readonly string[] {
    const { width, paint } = this.#options;
    switch (part.type) {
      case "text": {
        const text = isStreaming ? part.text.slice(-LIVE_CHARACTERS) : part.text;
        return formatMarkdown(text, width).map((row) => paintRow(row, paint));
      }
      case "thinking": {
        if (isStreaming) return this.#formatTail(part.text);
        const time = part.durationMs === undefined ? "" : `(${formatDuration(part.durationMs)})`;
        return [this.#note({ style: "dim", sign: "·", name: "thought", text: part.text, end: time })];
      }
      case "tool":
        return this.#formatTool(part.call);
      case "data":
        return this.#formatData(part.block);
      case "image":
        return [this.#note({ style: "cyan", sign: "▣", name: "image", text: `${part.alt ?? ""} ${part.url}` })];
      case "error": {
        // The error of a tool call is shown with its result.
        if (part.callId !== undefined) return [];
        const code = part.code === undefined ? "" : ` (${part.code})`;
        return this.#wrap([{ text: `${part.message}${code}`, style: "red" }], { text: "✗ ", style: "red" });
      }
      case "references": {
        const titles = part.sources.map(({ title, ref }) => (ref === undefined ? title : `[${ref}] ${title}`));
        const name = plural(part.docCount, "passage");
        return [this.#note({ style: "cyan", sign: "≡", name, text: titles.join(", ") })];
      }
    }
  }

  #formatTool(call: ToolCall): readonly string[] {
    const { toolName, status, durationMs, progress, progressMessage = "" } = call;
    const input = status === "streaming" ? call.argumentsText : JSON.stringify(call.arguments);
    const rows = [this.#note({ style: "cyan", sign: "→", name: toolName, text: input, end: describeState(call) })];
    const end = durationMs === undefined ? "" : `(${formatDuration(durationMs)})`;
    if (status === "running" && progress !== undefined)
      rows.push(
        this.#note({ style: "dim", sign: " ", name: "", text: `${Math.round(progress)} % ${progressMessage}` }),
      );
    if (status === "running") return [...rows, ...this.#formatTail(call.output)];
    if (call.error !== undefined)
      rows.push(this.#note({ style: "red", sign: "✗", name: "", text: call.error.message, end }));
    else if (call.result !== undefined)
      rows.push(this.#note({ style: "green", sign: "←", name: "", text: call.result.text, end }));
    return rows;
  }

  #formatData({ dataType, data }: DataBlock): readonly string[] {
    const { columns, rows } = data;
    const name = typeof data["name"] === "string" ? data["name"] : "";
    const title = this.#note({
      style: "cyan",
      sign: "▤",
      name: dataType === "dataframe" ? "table" : dataType,
      text: name,
    });
    if (!Array.isArray(columns) || !Array.isArray(rows)) return [title];
    const { width, paint } = this.#options;
    const listed: readonly Json[] = [columns, ...(rows as readonly Json[]).slice(0, TABLE_ROWS)];
    const cells = listed.map((row) => (Array.isArray(row) ? row : [row]).map(formatCell));
    const hidden = rows.length - TABLE_ROWS;
    return [
      title,
      ...formatCells(cells, width).map((row) => paintRow(row, paint)),
      ...(hidden > 0 ? [paint("dim", `… ${plural(hidden, "more row")}`)] : []),
    ];
  }

  #formatTodo(listId: string, lists: ShownTodoLists): readonly string[] {
    const list = lists.find((each) => each.listId === listId);
    if (list === undefined) return [];
    const { title = "to-do list", items } = list;
    return [
      this.#note({ style: "cyan", sign: "☰", name: title }),
      ...items.map(({ text, completed }) => cutColumns(`  [${completed ? "x" : " "}] ${text}`, this.#options.width)),
    ];
  }

  /** How the turn ended. */
  formatEnd(turn: TurnView): readonly string[] {
    const { status, reason, code, durationMs, messages, usage, tree, graph, omitted, isPartial } = turn;
    const { thoughtsHint } = this.#options;
    const isHinted = thoughtsHint !== undefined && (tree !== undefined || graph !== undefined);
    const calls = messages.reduce((sum, { toolCalls }) => sum + toolCalls.length, 0);
    const parts = [
      durationMs === undefined ? status : `${status} in ${formatDuration(durationMs)}`,
      ...(calls > 0 ? [plural(calls, "tool call")] : []),
      ...(usage.totalTokens > 0 ? [plural(usage.totalTokens, "token")] : []),
      ...(isHinted ? [thoughtsHint] : []),
      ...(omitted > 0 ? [`${plural(omitted, "event")} not shown`] : []),
      ...(isPartial ? ["the start was not received"] : []),
    ];
    const why =
      reason === undefined || status === "completed" ? "" : `${reason}${code === undefined ? "" : ` (${code})`}`;
    return [
      ...(status === "error" && why !== "" && !hasErrorOfEnd(turn)
        ? this.#wrap([{ text: `the run failed: ${why}`, style: "red" }])
        : []),
      ...this.#wrap([{ text: parts.join(", "), style: "dim" }]),
    ];
  }

  formatNotice(text: string): string {
    return this.#options.paint("dim", cutColumns(text, this.#options.width));
  }

  /** The sources that the answer cites, below it. */
  formatSources(turn: TurnView): readonly string[] {
    const lines = listCitedSources(turn);
    return lines.length === 0 ? [] : ["", "Sources:", ...lines.flatMap((text) => this.#wrap([{ text }]))];
  }

  /** The last rows of text that still grows. */
  #formatTail(text: string): readonly string[] {
    const rows = this.#wrap([{ text: text.slice(-LIVE_CHARACTERS).trimEnd(), style: "dim" }], { text: "  " });
    return text.trim() === "" ? [] : rows.slice(-TAIL_ROWS);
  }

  #wrap(pieces: readonly StyledText[], first?: StyledText): readonly string[] {
    const { width, paint } = this.#options;
    const rest = first === undefined ? undefined : { text: "  " };
    return wrapRows(pieces, { width, first, rest }).map((row) => paintRow(row, paint));
  }

  #note(note: Note): string {
    const { width, paint } = this.#options;
    // One column is kept free: terminals differ in the width of some signs.
    return formatNote(note, width - 1, paint);
  }
}

/** The line always fits the width. */
function formatNote(
  { indent = 0, style, sign, name, text = "", end = "" }: Note,
  width: number,
  paint: PaintText,
): string {
  const margin = " ".repeat(Math.min(2 * indent, Math.floor(width / INDENT_SHARE)));
  const room = width - margin.length - measureColumns(sign) - 1;
  const shownEnd = end === "" ? "" : ` ${cutColumns(end, Math.floor(room / 2))}`;
  const shownName = cutColumns(name, Math.floor(room / 2) - (shownEnd === "" ? 0 : 1));
  const left = room - measureColumns(shownName) - measureColumns(shownEnd) - (shownName === "" ? 0 : 1);
  const words =
    left < 2
      ? ""
      : cutColumns(
          text
            .slice(0, 4 * width)
            .trim()
            .replaceAll(/\s+/g, " "),
          left,
        );
  const parts = [
    style === undefined ? sign : paint(style, sign),
    ...(shownName === "" ? [] : [paint("bold", shownName)]),
    ...(words === "" ? [] : [words]),
  ];
  return `${margin}${parts.join(" ")}${shownEnd === "" ? "" : paint("dim", shownEnd)}`;
}

/** True if an error in the messages of the turn says why the run failed. */
export function hasErrorOfEnd({ messages, reason }: TurnView): boolean {
  return messages.some(({ parts }) =>
    parts.some(
      (part) =>
        part.type === "error" &&
        part.callId === undefined &&
        part.supersededBy === undefined &&
        part.message === reason,
    ),
  );
}

function describeState({ status, approval }: ToolCall): string {
  switch (status) {
    case "awaiting_approval":
      return "(waiting for approval)";
    case "awaiting_client":
      return "(waiting for the client)";
    case "rejected":
      return approval?.decision === "expired" ? "(approval expired)" : "(rejected)";
    case "interrupted":
      return "(interrupted)";
    default:
      return "";
  }
}

/** Formats a value of a table. */
function formatCell(value: Json): string {
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Returns the last rows that fit, below a note about those above. */
export function keepLastRows(
  rows: readonly string[],
  room: number,
  { width, paint }: TurnRowOptions,
): readonly string[] {
  if (rows.length <= room) return rows;
  if (room < 1) return [];
  const hidden = rows.length - room + 1;
  return [paint("dim", cutColumns(`… ${plural(hidden, "line")} above`, width)), ...rows.slice(hidden)];
}
