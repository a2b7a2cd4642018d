/** A growing text or thinking part. It is changed in place and creates its immutable part on demand. */
import type { TextPart, ThinkingPart } from "../view.ts";
import type { JoinedText, JoinedPiece } from "./joined-text.ts";
import type { PartCell } from "./part-cell.ts";
import { findDuration, makeView, withFields } from "./with-fields.ts";

export type TextCellPart = TextPart | ThinkingPart;

/** The properties of a text; a change of format, channel or stage starts a new part. */
export interface TextKind {
  readonly type: TextCellPart["type"];
  readonly format?: string;
  readonly channel?: ThinkingPart["channel"];
  readonly stage?: string | undefined;
  readonly startedAt?: number | undefined;
}

export class TextCell implements JoinedPiece, PartCell {
  /** All texts of the same kind in the message. */
  readonly whole: JoinedText<TextCell>;
  readonly kind: TextKind;
  index: number;
  text = "";
  order = 0;
  isComplete = false;
  isSuperseded = false;
  isChanged = false;
  nextChanged: PartCell | undefined;
  #part: TextCellPart;

  constructor(index: number, whole: JoinedText<TextCell>, tone: TextKind, key: string, nodeKey: string | undefined) {
    const { type, format, channel, stage, startedAt } = tone;
    this.index = index;
    this.whole = whole;
    this.kind = tone;
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
    }) as TextCellPart;
  }

  /** Completes the text. The duration is `durationMs`, or the time since the start. */
  finish(now: number | undefined, durationMs?: number): boolean {
    if (this.isComplete && durationMs === undefined) return false;
    this.isComplete = true;
    const part = this.#part;
    if (part.type !== "text")
      this.#part = withFields(part, { durationMs: findDuration(durationMs, part.startedAt, now) });
    return true;
  }

  supersede(attempt: number): void {
    this.isSuperseded = true;
    this.#part = { ...this.#part, supersededBy: attempt };
    this.whole.leaveOut(this);
  }

  show(): TextCellPart {
    const { text, isComplete } = this;
    const part = this.#part;
    // Created for every token: an object literal is cheaper than a spread.
    if (part.type !== "text" || part.nodeKey === undefined || this.isSuperseded)
      this.#part = { ...part, text, isComplete };
    else {
      const { type, key, nodeKey, format } = part;
      this.#part = { type, key, nodeKey, text, format, isComplete };
    }
    return this.#part;
  }
}
