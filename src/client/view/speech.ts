/**
 * A text of a message that grows: an answer or a train of thought. It is changed in place and makes its immutable part
 * only when it is shown.
 */
import type { TextPart, ThinkingPart } from "../view.ts";
import type { JoinedText, TextPiece } from "./joined-text.ts";
import type { PartCell } from "./message-fold.ts";
import { findDuration, makeView, withFields } from "./with-fields.ts";

export type SpeechPart = TextPart | ThinkingPart;

/** What sets a text of a speaker apart from the one before. */
export interface Tone {
  readonly type: SpeechPart["type"];
  readonly format?: string;
  readonly channel?: ThinkingPart["channel"];
  readonly stage?: string | undefined;
  readonly startedAt?: number | undefined;
}

export class Speech implements TextPiece, PartCell {
  /** All texts of its kind. */
  readonly whole: JoinedText<Speech>;
  readonly tone: Tone;
  index: number;
  text = "";
  order = 0;
  isComplete = false;
  isChanged = false;
  nextChanged: PartCell | undefined;
  #part: SpeechPart;

  constructor(index: number, whole: JoinedText<Speech>, tone: Tone, key: string, nodeKey: string | undefined) {
    const { type, format, channel, stage, startedAt } = tone;
    this.index = index;
    this.whole = whole;
    this.tone = tone;
    this.#part = makeView<object>({
      type,
      key,
      nodeKey,
      text: "",
      format,
      channel,
      stage,
      isComplete: false,
      startedAt,
    }) as SpeechPart;
  }

  /** It is over: it took `durationMs`, or all the time until now. */
  finish(now: number | undefined, durationMs?: number): boolean {
    if (this.isComplete && durationMs === undefined) return false;
    this.isComplete = true;
    const part = this.#part;
    if (part.type !== "text")
      this.#part = withFields(part, { durationMs: findDuration(durationMs, part.startedAt, now) });
    return true;
  }

  show(): SpeechPart {
    const { text, isComplete } = this;
    const part = this.#part;
    // Written out, since this is made for every token: a literal is cheaper than a copy with changes.
    if (part.type !== "text" || part.nodeKey === undefined) this.#part = { ...part, text, isComplete };
    else {
      const { type, key, nodeKey, format } = part;
      this.#part = { type, key, nodeKey, text, format, isComplete };
    }
    return this.#part;
  }
}
