/**
 * Writes one turn of the view to a terminal while it runs: rows that no longer change are returned once and in order, rows
 * that may change every time.
 */
import type { MessagePart, ToolCall, TurnView } from "../../client/index.ts";
import type { MessageView } from "../../client/view.ts";
import { formatThoughts } from "./thought-rows.ts";
import type { ShownTodoLists, TurnRows } from "./turn-rows.ts";

export interface TurnWriterOptions {
  /** Leaves out the message of the user, who has just entered it. Default: false. */
  readonly skipsMessage?: boolean;
  /** Leaves out the answer, which goes elsewhere, or everything else. */
  readonly only?: "answer" | "steps" | undefined;
  /** Shows the tree or graph of a search before its answer. Default: false. */
  readonly showsThoughts?: boolean;
}

export interface WrittenRows {
  readonly settled: readonly string[];
  readonly open: readonly string[];
}

/** A piece of the turn that is written as a whole. */
interface Block {
  readonly key: string;
  readonly rows: readonly string[];
  /** It does not change any more. */
  readonly isSettled: boolean;
  /** Later blocks may be written before it. */
  readonly mayWait?: boolean;
  /** Empty rows separate it from its neighbours, unless these belong to it. */
  readonly isApart?: boolean;
  /** It belongs to the block before it. */
  readonly isAppended?: boolean;
}

/** Agents whose first thoughts come before their tree or graph. */
const SEARCHES: readonly string[] = ["tot", "got", "agot"];
/** States of a tool call that has ended. */
const ENDED: readonly ToolCall["status"][] = ["success", "failed", "rejected", "interrupted"];

export class TurnWriter {
  readonly #options: TurnWriterOptions;
  readonly #written = new Set<string>();
  #last: Block | undefined;
  #attempt: number | undefined;

  constructor(options: TurnWriterOptions = {}) {
    this.#options = options;
  }

  /** `isOver`: nothing of the turn changes any more. */
  next(turn: TurnView, todoLists: ShownTodoLists, rows: TurnRows, isOver: boolean): WrittenRows {
    const blocks = this.#list(turn, todoLists, rows, isOver).filter(({ key }) => !this.#written.has(key));
    const settled: string[] = this.#noteAttempt(turn, rows);
    let waiting = blocks.findIndex(({ isSettled, mayWait = false }) => !isSettled && !mayWait);
    if (waiting === -1) waiting = blocks.length;
    const isReady = ({ isSettled }: Block, index: number): boolean => isSettled && index < waiting;
    for (const block of blocks.filter(isReady)) {
      this.#written.add(block.key);
      settled.push(...separate(this.#last, block));
      if (block.rows.length > 0) this.#last = block;
    }
    const open: string[] = [];
    let last = this.#last;
    for (const block of blocks.filter((each, index) => !isReady(each, index))) {
      open.push(...separate(last, block));
      if (block.rows.length > 0) last = block;
    }
    return { settled, open };
  }

  /** The process of the run died: what was written of the interrupted step is written again. */
  #noteAttempt({ attempt }: TurnView, rows: TurnRows): string[] {
    const isNew = attempt !== undefined && attempt !== this.#attempt && this.#last !== undefined;
    this.#attempt = attempt;
    return isNew ? [rows.formatNotice(`interrupted; running the step again (attempt ${attempt})`)] : [];
  }

  #list(turn: TurnView, todoLists: ShownTodoLists, rows: TurnRows, isOver: boolean): readonly Block[] {
    const { only, skipsMessage = false } = this.#options;
    const blocks = turn.messages.flatMap((message) => {
      if (message.role !== "user") return this.#listAnswer(turn, message, todoLists, rows, isOver);
      return skipsMessage ? [] : [{ key: "user", rows: rows.formatUser(message), isSettled: true, isApart: true }];
    });
    if (!isOver) return blocks;
    const sources = only === "steps" ? [] : rows.formatSources(turn);
    const end = only === "answer" || turn.status === "running" ? [] : rows.formatEnd(turn);
    const gap = skipsMessage ? [] : [""];
    return [...blocks, { key: "end", rows: [...sources, ...end, ...gap], isSettled: true, isAppended: true }];
  }

  #listAnswer(
    turn: TurnView,
    { parts }: MessageView,
    todoLists: ShownTodoLists,
    rows: TurnRows,
    isOver: boolean,
  ): readonly Block[] {
    const { only, showsThoughts = false } = this.#options;
    const isSearch = turn.tree !== undefined || turn.graph !== undefined || SEARCHES.includes(turn.agent ?? "");
    const shown = parts.filter(({ supersededBy }) => supersededBy === undefined);
    const last = shown.at(-1);
    const blocks = shown.map((part): Block => {
      const { type } = part;
      const isText = type === "text";
      // The thoughts of a search are not shown as text; only the newest words are shown while it runs.
      const isThought = type === "thinking" && (isSearch || part.channel === "thought");
      const isLeftOut = only !== undefined && isText !== (only === "answer");
      const isSettled = isOver || hasSettled(part, part === last);
      const isHidden = isLeftOut || (isThought && (isSettled || part !== last));
      return {
        key: part.key,
        rows: isHidden || this.#written.has(part.key) ? [] : rows.formatPart(part, todoLists, !isOver),
        isSettled,
        mayWait: type === "todo",
        isApart: isText,
      };
    });
    if (!isSearch || !showsThoughts || only === "answer") return blocks;
    const answer = shown.findIndex(({ type }) => type === "text");
    const isDone = isOver || answer !== -1;
    const thoughts = {
      key: "thoughts",
      rows: isDone && !this.#written.has("thoughts") ? (formatThoughts(turn, rows.width, rows.paint) ?? []) : [],
      isSettled: isDone,
      mayWait: true,
      isApart: true,
    };
    return blocks.toSpliced(answer === -1 ? blocks.length : answer, 0, thoughts);
  }
}

/** A text that comes last may be completed by the reply. */
function hasSettled(part: MessagePart, isLast: boolean): boolean {
  if (part.type === "text") return part.isComplete && !isLast;
  if (part.type === "thinking") return part.isComplete;
  if (part.type === "tool") return ENDED.includes(part.call.status);
  return part.type !== "todo";
}

function separate(before: Block | undefined, { rows, isApart = false, isAppended = false }: Block): readonly string[] {
  const hasGap = rows.length > 0 && before !== undefined && !isAppended && (isApart || before.isApart === true);
  return hasGap ? ["", ...rows] : rows;
}
