/**
 * Composes the live rows of the chat: the turn that runs, messages that wait, the status, and the input with its
 * completions. Pure: the same state gives the same rows.
 *
 * Invariant: at most `height` rows, none wider than `width`, and the cursor is inside them.
 */
import type { TurnView } from "../../client/index.ts";
import { cutColumns, formatDuration, measureColumns, plural } from "../fit-text.ts";
import type { CursorPosition } from "../live-rows.ts";
import type { UnsentMessage } from "./chat-controller.ts";
import type { InputLayout } from "./input-editor.ts";
import { describeSlashCommand, type SlashCommand } from "./slash-commands.ts";
import { summarizeThoughts } from "../screen/thought-rows.ts";
import type { PaintText } from "../screen/text-rows.ts";
import { keepLastRows } from "../screen/turn-rows.ts";

export interface ChatRowState {
  readonly width: number;
  readonly height: number;
  readonly paint: PaintText;
  /** Rows of the turns that are not finished. */
  readonly turnRows: readonly string[];
  readonly liveTurn: TurnView | undefined;
  readonly waiting: readonly UnsentMessage[];
  /** Agent, model and session. */
  readonly title: string;
  /** Replaces the title, for example while the connection is lost. */
  readonly notice: string | undefined;
  /** Text before the input; the question of a prompt. */
  readonly prompt: string;
  readonly input: (width: number) => InputLayout;
  readonly completions: readonly SlashCommand[];
  readonly files: readonly string[];
  readonly now: number;
}

export interface ChatRows {
  readonly rows: readonly string[];
  readonly cursor: CursorPosition;
}

const MAX_COMPLETIONS = 6;
const MAX_WAITING = 3;
/** Rows of the input; longer input scrolls. */
const MAX_INPUT_ROWS = 8;
/** Rows kept for the turn while the input is long. */
const LEAST_TURN_ROWS = 2;

export function composeChatRows(state: ChatRowState): ChatRows {
  const { width, height, paint } = state;
  const footer = composeFooter(state);
  const input = composeInput(state, height - footer.length - 1 - LEAST_TURN_ROWS);
  const status = cutColumns(state.notice ?? describeStatus(state), width);
  const below = [paint(state.notice === undefined ? "dim" : "yellow", status), ...input.rows, ...footer];
  const above = composeTurn(state, height - below.length);
  const row = above.length + 1 + input.cursor.row;
  return { rows: [...above, ...below], cursor: { row, column: input.cursor.column } };
}

/** The end of the live turn, with a note about the rows above that do not fit. */
function composeTurn({ turnRows, waiting, liveTurn, width, paint }: ChatRowState, height: number): readonly string[] {
  const queued = waiting.slice(0, MAX_WAITING).map(({ text }) => {
    const line = text.replaceAll(/\s+/g, " ");
    return paint("dim", cutColumns(`› ${line}`, width));
  });
  if (waiting.length > MAX_WAITING)
    queued.push(paint("dim", `  … ${plural(waiting.length - MAX_WAITING, "more message")}`));
  const thoughts = liveTurn === undefined ? undefined : summarizeThoughts(liveTurn);
  const summary = thoughts === undefined ? [] : [paint("cyan", cutColumns(thoughts.replaceAll(/\s+/g, " "), width))];
  const all = [...turnRows, ...summary, ...queued];
  if (all.length === 0) return [];
  const shown = keepLastRows(all, height - 1, { width, paint });
  return shown.length === 0 ? [] : [...shown, ""];
}

function describeStatus({ liveTurn, waiting, title, now }: ChatRowState): string {
  if (liveTurn !== undefined) {
    const time = liveTurn.startedAt === undefined ? 0 : Math.max(0, now - liveTurn.startedAt);
    // Whole seconds, so that the row changes once per second.
    const shown = time < 1000 ? "" : ` ${formatDuration(Math.floor(time / 1000) * 1000).replace(".0", "")}`;
    return `running${shown}, Ctrl-C cancels`;
  }
  return waiting.length > 0 ? "waiting, Ctrl-C cancels" : title;
}

function composeInput({ prompt, input, width, paint }: ChatRowState, room: number): ChatRows {
  const shownPrompt = cutColumns(prompt, Math.max(2, width - 10));
  const indent = measureColumns(shownPrompt);
  // A long question gets its own row.
  const isApart = indent > width / 2;
  const margin = isApart ? 2 : indent;
  const layout = input(width - margin - 1);
  const height = Math.max(1, Math.min(MAX_INPUT_ROWS, room - (isApart ? 1 : 0)));
  const first = Math.max(0, Math.min(layout.cursor.row - height + 1, layout.rows.length - height));
  const end = first + height;
  const rows = layout.rows.slice(first, end).map((row, index) => {
    if (first + index === 0 && !isApart) return `${paint("bold", shownPrompt)}${row}`;
    const isCut = (index === 0 && first > 0) || (index === height - 1 && end < layout.rows.length);
    const mark = index === 0 ? "↑" : "↓";
    return `${isCut ? paint("dim", mark.padEnd(margin)) : " ".repeat(margin)}${row}`;
  });
  const cursor = { row: layout.cursor.row - first + (isApart ? 1 : 0), column: margin + layout.cursor.column };
  return { rows: isApart ? [paint("bold", shownPrompt), ...rows] : rows, cursor };
}

function composeFooter({ completions, files, width, height, paint }: ChatRowState): readonly string[] {
  const attached = files.length === 0 ? [] : [paint("dim", cutColumns(`  + ${files.join(", ")}`, width))];
  const count = Math.max(1, Math.min(MAX_COMPLETIONS, height - 8));
  const listed = completions.slice(0, count).map((command) => {
    const line = cutColumns(`  ${describeSlashCommand(command).padEnd(20)} ${command.about}`, width);
    return paint("dim", line);
  });
  const left = completions.length - count;
  return [...attached, ...listed, ...(left > 0 ? [paint("dim", `  … ${left} more`)] : [])];
}
