/**
 * The assistant's message of one turn: its parts in the order they began, and the same gathered as 003 has it. It knows
 * parts, not events of tools or nodes; who speaks is told.
 *
 * Invariant: `mainContent` is the text parts joined in order, `thinkingContent` the thinking parts.
 */
import type { MessageChunkEvent } from "../../protocol/index.ts";
import type { DataBlock, MessageMetadata, MessagePart, MessageView, ThinkingPart, ToolCall } from "../view.ts";
import type { BarePart } from "./event-parts.ts";
import { GrowingList } from "./growing-list.ts";
import { JoinedText } from "./joined-text.ts";
import type { Speaker } from "./speaker.ts";
import { Speech, type Tone } from "./speech.ts";
import { ToolCell } from "./tool-cell.ts";
import type { TurnRoom } from "./turn-room.ts";

/** A part that is still changed in place. */
export interface PartCell {
  /** Place among the message's parts; -1 when it was taken out. */
  index: number;
  isChanged: boolean;
  /** Those that changed since the message was last shown are a chain. */
  nextChanged: PartCell | undefined;
  /** Nothing more of it will come. False when that was so already. */
  finish(now: number | undefined): boolean;
  show(): MessagePart;
}

export class MessageFold {
  readonly #room: TurnRoom;
  readonly #answer: JoinedText<Speech>;
  readonly #thinking: JoinedText<Speech>;
  #parts = new GrowingList<MessagePart>();
  /** By part; a part that never changes has none. */
  #cells: (PartCell | undefined)[] = [];
  readonly #toolCalls = new GrowingList<ToolCall>();
  readonly #dataBlocks = new GrowingList<DataBlock>();
  #changed: PartCell | undefined;
  #madeParts = 0;
  /** Something else than a part changed. */
  isStale = true;
  /** The time of the event that is applied, where it tells one. */
  now: number | undefined;
  readonly #messageId: string;
  metadata: MessageMetadata;
  #isOver = false;
  #hasError = false;
  #errorMessage: string | undefined;

  constructor(messageId: string, metadata: MessageMetadata, room: TurnRoom) {
    this.#room = room;
    this.#answer = new JoinedText(room.maxText);
    this.#thinking = new JoinedText(room.maxText);
    this.#messageId = messageId;
    this.metadata = metadata;
  }

  setError(message: string | undefined): void {
    this.#hasError = true;
    this.#errorMessage = message ?? this.#errorMessage;
    this.isStale = true;
  }

  /** A piece of the answer. */
  say(speaker: Speaker, { content, format = "markdown", is_complete }: MessageChunkEvent): void {
    if (content !== "") {
      if (speaker.thinking !== undefined) this.#close(speaker, "thinking");
      let cell = speaker.text;
      if (cell?.tone.format !== format) {
        this.#close(speaker, "text");
        cell = this.#openText(speaker, format, this.#room.maxItems);
        if (cell === undefined) return;
      }
      this.#fill(cell, content);
    }
    if (is_complete === true) this.#close(speaker, "text");
  }

  think(speaker: Speaker, channel: ThinkingPart["channel"], stage: string | undefined, content: string): void {
    if (content === "") return;
    let cell = speaker.thinking;
    if (cell?.tone.channel !== channel || (stage !== undefined && stage !== cell.tone.stage)) {
      this.#close(speaker, "thinking");
      const start = { type: "thinking", channel, stage, startedAt: this.now } as const;
      cell = this.#open(speaker, this.#thinking, start, this.#room.maxItems);
      if (cell === undefined) return;
      speaker.thinking = cell;
      if (channel === "reasoning") speaker.reasoning = cell;
    }
    this.#fill(cell, content);
  }

  /** The speaker has reasoned to the end. */
  endReasoning(speaker: Speaker, durationMs: number | undefined): void {
    const cell = speaker.reasoning;
    if (cell === speaker.thinking) speaker.thinking = undefined;
    // It may have gone on to answer before it said that it was done.
    if (cell?.finish(this.now, durationMs) === true) this.change(cell);
    speaker.reasoning = undefined;
  }

  /** What the speaker says next is another part. */
  closeSpeech(speaker: Speaker): void {
    this.#close(speaker, "text");
    this.#close(speaker, "thinking");
  }

  /** A part that is whole. */
  add(speaker: Speaker, part: BarePart): void {
    const key = this.#takeKey(speaker);
    if (key === undefined) return;
    const { nodeKey } = speaker;
    this.#addPart(nodeKey === undefined ? { key, ...part } : { key, nodeKey, ...part }, undefined);
    if (part.type === "data") this.#dataBlocks.push(part.block);
  }

  /** A part for a call nothing was heard of yet. */
  openCall(speaker: Speaker, toolId: string, name: string | undefined): ToolCell | undefined {
    const key = this.#takeKey(speaker);
    if (key === undefined) return undefined;
    const places = [this.#parts.length, this.#toolCalls.length] as const;
    const cell = new ToolCell(key, places, speaker.nodeKey, toolId, name, this.#room);
    const part = cell.show();
    this.#toolCalls.push(part.call);
    this.#addPart(part, cell);
    return cell;
  }

  /** Something about the part changed. */
  change(cell: PartCell): void {
    if (cell.isChanged) return;
    cell.isChanged = true;
    cell.nextChanged = this.#changed;
    this.#changed = cell;
  }

  /**
   * The run's reply. Nothing is added when it was streamed, whole or as the text since some other part: by the speaker it
   * names, or by others where that one was silent since its last tool call. Of one that was begun, at all or since that
   * call, the rest is added. What differs from it is replaced by it.
   */
  settleReply(speaker: Speaker | undefined, named: Speaker, reply: string): void {
    if (reply === "" || this.#answer.isCut) return;
    const { pieces } = this.#answer;
    const texts = speaker?.texts ?? pieces;
    if (endsWith(texts, reply)) return;
    const lastCall = this.#cells.findLastIndex(
      (cell) => cell instanceof ToolCell && (speaker === undefined || cell.nodeKey === speaker.nodeKey),
    );
    const recent = texts.filter(({ index }) => index > lastCall);
    const last = recent.at(-1);
    const whole = joinTexts(texts);
    if (last === undefined) {
      if (endsWith(pieces, reply)) return;
      // Even in a message that is full: it is what the user asked for.
      const cell = this.#openText(named, "markdown", Infinity);
      if (cell !== undefined) this.#fill(cell, reply.startsWith(whole) ? reply.slice(whole.length) : reply);
      return;
    }
    const begun = [whole, joinTexts(recent)].find((text) => reply.startsWith(text));
    if (begun === undefined) this.#replaceTexts(texts, last, reply);
    else this.#fill(last, reply.slice(begun.length));
  }

  /** The run is over, and so is all that was open. */
  finish(): void {
    for (const cell of this.#cells) if (cell?.finish(this.now) === true) this.change(cell);
    this.#isOver = true;
    this.isStale = true;
  }

  /** The message as it is now; `before`, as it was last shown, where nothing changed. */
  show(before: MessageView | undefined): MessageView {
    if (before !== undefined && !this.isStale && this.#changed === undefined) return before;
    this.isStale = false;
    for (let cell = this.#changed; cell !== undefined; cell = cell.nextChanged) {
      cell.isChanged = false;
      if (cell.index < 0) continue;
      const part = cell.show();
      this.#parts.set(cell.index, part);
      if (part.type === "tool") this.#toolCalls.set((cell as ToolCell).callIndex, part.call);
    }
    this.#changed = undefined;
    const parts = this.#parts.show();
    const isStreaming = !this.#isOver && !this.#room.host.isDead;
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

  /** The key for another part after all the speaker said; undefined when there is no room. */
  #takeKey(speaker: Speaker): string | undefined {
    this.closeSpeech(speaker);
    if (this.#parts.length < this.#room.maxItems) return String(++this.#madeParts);
    this.#room.omit();
    return undefined;
  }

  #addPart(part: MessagePart, cell: PartCell | undefined): void {
    this.#parts.push(part);
    this.#cells.push(cell);
    this.isStale = true;
  }

  #open({ nodeKey }: Speaker, whole: JoinedText<Speech>, tone: Tone, limit: number): Speech | undefined {
    if (this.#parts.length >= limit || whole.isCut) {
      this.#room.omit();
      return undefined;
    }
    const cell = new Speech(this.#parts.length, whole, tone, String(++this.#madeParts), nodeKey);
    this.#addPart(cell.show(), cell);
    whole.add(cell);
    return cell;
  }

  #openText(speaker: Speaker, format: string, limit: number): Speech | undefined {
    const cell = this.#open(speaker, this.#answer, { type: "text", format }, limit);
    if (cell !== undefined) speaker.texts.push(cell);
    speaker.text = cell;
    return cell;
  }

  #fill(cell: Speech, text: string): void {
    const lost = cell.whole.append(cell, text);
    if (lost > 0) this.#room.omit();
    if (lost < text.length) this.change(cell);
  }

  #replaceTexts(texts: readonly Speech[], last: Speech, text: string): void {
    const gone = new Set<PartCell | undefined>(texts);
    gone.delete(last);
    if (this.#answer.replace(last, text, gone) > 0) this.#room.omit();
    this.change(last);
    if (gone.size === 0) return;
    // What is gone must not be shown again at its old place.
    for (const cell of texts) if (cell !== last) cell.index = -1;
    const parts = this.#parts.show();
    this.#parts = new GrowingList();
    this.#cells = this.#cells.filter((cell, index) => {
      if (gone.has(cell)) return false;
      if (cell !== undefined) cell.index = this.#parts.length;
      return this.#parts.push(parts[index] as MessagePart);
    });
  }

  #close(speaker: Speaker, what: "text" | "thinking"): void {
    const cell = speaker[what];
    if (cell === undefined) return;
    speaker[what] = undefined;
    cell.finish(this.now);
    this.change(cell);
  }
}

function joinTexts(pieces: readonly Speech[]): string {
  return pieces.map(({ text }) => text).join("");
}

/** Whether the last of them say exactly this. */
function endsWith(pieces: readonly Speech[], text: string): boolean {
  let tail = "";
  for (let i = pieces.length; i > 0 && tail.length < text.length;) tail = (pieces[--i] as Speech).text + tail;
  return tail === text;
}
