/**
 * Folds the assistant's message of one turn: its parts in the order they began, and the fields of 003. It handles
 * parts, not tool or node events; the author of each part is passed in.
 *
 * Invariant: `mainContent` is all text parts joined in order, `thinkingContent` all thinking parts, both without
 * superseded ones.
 */
import type { MessageChunkEvent } from "../../protocol/events.generated.ts";
import type {
  DataBlock,
  MessageMetadata,
  MessagePart,
  MessageView,
  ThinkingPart,
  ToolCall,
  ToolPart,
} from "../view.ts";
import type { PartContent } from "./event-parts.ts";
import { GrowingList } from "./growing-list.ts";
import { JoinedText } from "./joined-text.ts";
import type { PartAuthor } from "./part-author.ts";
import type { PartCell } from "./part-cell.ts";
import { TextCell, type TextKind } from "./text-cell.ts";
import { ToolCell } from "./tool-cell.ts";
import type { TurnQuota } from "./turn-quota.ts";

export class MessageFold {
  readonly #quota: TurnQuota;
  readonly #answer: JoinedText<TextCell>;
  readonly #thinking: JoinedText<TextCell>;
  #parts = new GrowingList<MessagePart>();
  /** The mutable cell of each part; undefined for parts that never change. */
  #cells: (PartCell | undefined)[] = [];
  #toolCalls = new GrowingList<ToolCall>();
  readonly #dataBlocks = new GrowingList<DataBlock>();
  #changed: PartCell | undefined;
  #partCount = 0;
  /** Index of the first part since `supersedeRecent`. */
  #firstRecent = 0;
  /** A field other than the parts changed. */
  isStale = true;
  /** Time of the current event, if it has one. */
  now: number | undefined;
  readonly #messageId: string;
  metadata: MessageMetadata;
  #isOver = false;
  #hasError = false;
  #errorMessage: string | undefined;

  constructor(messageId: string, metadata: MessageMetadata, quota: TurnQuota) {
    this.#quota = quota;
    this.#answer = new JoinedText(quota.maxText);
    this.#thinking = new JoinedText(quota.maxText);
    this.#messageId = messageId;
    this.metadata = metadata;
  }

  setError(message: string | undefined): void {
    this.#hasError = true;
    this.#errorMessage = message ?? this.#errorMessage;
    this.isStale = true;
  }

  /** Appends a piece of the answer. */
  appendText(author: PartAuthor, { content, format = "markdown", is_complete }: MessageChunkEvent): void {
    if (content !== "") {
      if (author.thinking !== undefined) this.#close(author, "thinking");
      let cell = author.text;
      if (cell?.kind.format !== format) {
        this.#close(author, "text");
        cell = this.#openText(author, format, this.#quota.maxItems);
        if (cell === undefined) return;
      }
      this.#fill(cell, content);
    }
    if (is_complete === true) this.#close(author, "text");
  }

  appendThinking(
    author: PartAuthor,
    channel: ThinkingPart["channel"],
    stage: string | undefined,
    content: string,
  ): void {
    if (content === "") return;
    let cell = author.thinking;
    if (cell?.kind.channel !== channel || (stage !== undefined && stage !== cell.kind.stage)) {
      this.#close(author, "thinking");
      const start = { type: "thinking", channel, stage, startedAt: this.now } as const;
      cell = this.#open(author, this.#thinking, start, this.#quota.maxItems);
      if (cell === undefined) return;
      author.thinking = cell;
      if (channel === "reasoning") author.reasoning = cell;
    }
    this.#fill(cell, content);
  }

  /** Completes the author's reasoning. */
  endReasoning(author: PartAuthor, durationMs: number | undefined): void {
    const cell = author.reasoning;
    if (cell === author.thinking) author.thinking = undefined;
    // The answer may have begun before reasoning_end arrived.
    if (cell?.finish(this.now, durationMs) === true) this.change(cell);
    author.reasoning = undefined;
  }

  /** Closes the author's open texts, so that further text starts a new part. */
  closeTexts(author: PartAuthor): void {
    this.#close(author, "text");
    this.#close(author, "thinking");
  }

  /** Adds a complete part. */
  add(author: PartAuthor, part: PartContent): void {
    const key = this.#takeKey(author);
    if (key === undefined) return;
    const { nodeKey } = author;
    this.#addPart(nodeKey === undefined ? { key, ...part } : { key, nodeKey, ...part }, undefined);
    if (part.type === "data") this.#dataBlocks.push(part.block);
  }

  /** Adds a part for a new tool call. */
  openCall(author: PartAuthor, toolId: string, name: string | undefined): ToolCell | undefined {
    const key = this.#takeKey(author);
    if (key === undefined) return undefined;
    const indexes = [this.#parts.length, this.#toolCalls.length] as const;
    const cell = new ToolCell(key, indexes, author.nodeKey, toolId, name, this.#quota);
    const part = cell.show();
    this.#toolCalls.push(part.call);
    this.#addPart(part, cell);
    author.cells.push(cell);
    return cell;
  }

  /** Marks a part as changed. */
  change(cell: PartCell): void {
    if (cell.isChanged) return;
    cell.isChanged = true;
    cell.nextChanged = this.#changed;
    this.#changed = cell;
  }

  /** Marks the author's parts as repeated by this attempt. */
  supersede({ cells }: PartAuthor, attempt: number): void {
    for (const cell of cells.splice(0)) this.#supersede(cell, attempt);
  }

  /** Marks the texts since the last tool call as repeated, for senders that do not name the author of a part. */
  supersedeRecent(author: PartAuthor, attempt: number): void {
    this.closeTexts(author);
    for (let at = this.#cells.length - 1; at >= this.#firstRecent; at--) {
      const cell = this.#cells[at];
      if (cell instanceof ToolCell) break;
      if (cell !== undefined) this.#supersede(cell, attempt);
    }
    this.#firstRecent = this.#cells.length;
  }

  /**
   * Applies the final reply. If it was already streamed, nothing is added: by its author as a whole or after another
   * part, or by other authors if this one wrote nothing since its last tool call. If the streamed text is a prefix of
   * the reply, the rest is appended. Otherwise the reply replaces the author's text. Superseded texts do not count, but
   * the reply may begin with them if the sender does not know which they are.
   */
  settleReply(author: PartAuthor | undefined, named: PartAuthor, reply: string): void {
    if (reply === "" || this.#answer.isCut) return;
    const pieces = this.#answer.pieces.filter(({ isSuperseded }) => !isSuperseded);
    const texts = author === undefined ? pieces : this.#listTexts(author);
    if (endsWith(texts, reply)) return;
    const lastCall = this.#cells.findLastIndex(
      (cell) => cell instanceof ToolCell && (author === undefined || cell.nodeKey === author.nodeKey),
    );
    const recent = texts.filter(({ index }) => index > lastCall);
    const last = recent.at(-1);
    const whole = joinTexts(texts);
    if (last === undefined) {
      if (endsWith(pieces, reply)) return;
      // Ignore the part limit, because the reply is what the user asked for.
      const cell = this.#openText(named, "markdown", Infinity);
      if (cell !== undefined) this.#fill(cell, reply.startsWith(whole) ? reply.slice(whole.length) : reply);
      return;
    }
    if (pieces.length < this.#answer.pieces.length && reply.endsWith(joinTexts(recent))) return;
    const begun = [whole, joinTexts(recent)].find((text) => reply.startsWith(text));
    if (begun === undefined) this.#replaceTexts(texts, last, reply);
    else this.#fill(last, reply.slice(begun.length));
  }

  /** Ends the message and completes all open parts. */
  finish(): void {
    for (const cell of this.#cells) if (cell?.finish(this.now) === true) this.change(cell);
    this.#isOver = true;
    this.isStale = true;
  }

  /** Returns the current message, or `before` if nothing changed since. */
  show(before: MessageView | undefined): MessageView {
    if (before !== undefined && !this.isStale && this.#changed === undefined) return before;
    this.isStale = false;
    let hasOtherCalls = false;
    for (let cell = this.#changed; cell !== undefined; cell = cell.nextChanged) {
      cell.isChanged = false;
      if (cell.index < 0) continue;
      const part = cell.show();
      this.#parts.set(cell.index, part);
      if (part.type !== "tool") continue;
      const { callIndex } = cell as ToolCell;
      if (callIndex < 0 !== cell.isSuperseded) hasOtherCalls = true;
      else if (callIndex >= 0) this.#toolCalls.set(callIndex, part.call);
    }
    this.#changed = undefined;
    if (hasOtherCalls) this.#listCalls();
    const parts = this.#parts.show();
    const isStreaming = !this.#isOver && !this.#quota.host.isStreamOver;
    const hasError = this.#hasError;
    const errorMessage = this.#errorMessage;
    const { metadata } = this;
    if (
      before?.parts === parts &&
      before.isStreaming === isStreaming &&
      before.hasError === hasError &&
      before.errorMessage === errorMessage &&
      before.metadata === metadata
    )
      return before;
    const view: MessageView = {
      messageId: this.#messageId,
      role: "assistant",
      thinkingContent: this.#thinking.show(),
      mainContent: this.#answer.show(),
      toolCalls: this.#toolCalls.show(),
      dataBlocks: this.#dataBlocks.show(),
      isStreaming,
      hasError,
      metadata,
      parts,
    };
    return errorMessage === undefined ? view : { ...view, errorMessage };
  }

  /** Closes the author's texts and returns a key for a new part, or undefined if the limit is reached. */
  #takeKey(author: PartAuthor): string | undefined {
    this.closeTexts(author);
    if (this.#parts.length < this.#quota.maxItems) return String(++this.#partCount);
    this.#quota.omit();
    return undefined;
  }

  #addPart(part: MessagePart, cell: PartCell | undefined): void {
    this.#parts.push(part);
    this.#cells.push(cell);
    this.isStale = true;
  }

  #open(author: PartAuthor, whole: JoinedText<TextCell>, tone: TextKind, limit: number): TextCell | undefined {
    if (this.#parts.length >= limit || whole.isCut) {
      this.#quota.omit();
      return undefined;
    }
    const cell = new TextCell(this.#parts.length, whole, tone, String(++this.#partCount), author.nodeKey);
    this.#addPart(cell.show(), cell);
    author.cells.push(cell);
    whole.add(cell);
    return cell;
  }

  #openText(author: PartAuthor, format: string, limit: number): TextCell | undefined {
    const cell = this.#open(author, this.#answer, { type: "text", format }, limit);
    author.text = cell;
    return cell;
  }

  #fill(cell: TextCell, text: string): void {
    const lost = cell.whole.append(cell, text);
    if (lost > 0) this.#quota.omit();
    if (lost < text.length) this.change(cell);
  }

  #replaceTexts(texts: readonly TextCell[], last: TextCell, text: string): void {
    const gone = new Set<PartCell | undefined>(texts);
    gone.delete(last);
    if (this.#answer.replace(last, text, gone) > 0) this.#quota.omit();
    this.change(last);
    if (gone.size === 0) return;
    // Removed parts must not be shown again at their old index.
    for (const cell of texts) if (cell !== last) cell.index = -1;
    const parts = this.#parts.show();
    this.#parts = new GrowingList();
    this.#cells = this.#cells.filter((cell, index) => {
      if (gone.has(cell)) return false;
      if (cell !== undefined) cell.index = this.#parts.length;
      return this.#parts.push(parts[index] as MessagePart);
    });
  }

  /** Lists the answer texts of an author that are not superseded. */
  #listTexts({ cells }: PartAuthor): readonly TextCell[] {
    return cells.filter(
      (cell): cell is TextCell => cell instanceof TextCell && cell.whole === this.#answer && !cell.isSuperseded,
    );
  }

  #supersede(cell: PartCell, attempt: number): void {
    cell.supersede(attempt);
    this.change(cell);
  }

  /** Lists the tool calls again, because one is superseded now, or no longer. */
  #listCalls(): void {
    this.#toolCalls = new GrowingList();
    for (const [index, cell] of this.#cells.entries()) {
      if (!(cell instanceof ToolCell)) continue;
      cell.callIndex = cell.isSuperseded ? -1 : this.#toolCalls.length;
      if (!cell.isSuperseded) this.#toolCalls.push((this.#parts.at(index) as ToolPart).call);
    }
  }

  #close(author: PartAuthor, what: "text" | "thinking"): void {
    const cell = author[what];
    if (cell === undefined) return;
    author[what] = undefined;
    cell.finish(this.now);
    this.change(cell);
  }
}

function joinTexts(pieces: readonly TextCell[]): string {
  return pieces.map(({ text }) => text).join("");
}

/** Returns true if the last pieces joined are exactly `text`. */
function endsWith(pieces: readonly TextCell[], text: string): boolean {
  let tail = "";
  for (let i = pieces.length; i > 0 && tail.length < text.length;) tail = (pieces[--i] as TextCell).text + tail;
  return tail === text;
}
