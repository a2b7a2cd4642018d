/** The mutable parts of a message: their contract, and their authors. */
import type { MessagePart } from "../view.ts";
import type { TextCell } from "./text-cell.ts";
import type { ToolCell } from "./tool-cell.ts";

/** A mutable part of a message. */
export interface PartCell {
  /** Index among the message's parts; -1 after removal. */
  index: number;
  isChanged: boolean;
  /** Next part in the linked list of parts changed since the last `show`. */
  nextChanged: PartCell | undefined;
  /** True if the part is repeated by a later attempt. */
  readonly isSuperseded: boolean;
  /** Marks the part as repeated by this attempt. */
  supersede(attempt: number): void;
  /** Completes the part. Returns false if nothing changed. */
  finish(now: number | undefined): boolean;
  show(): MessagePart;
}

/**
 * The author of message parts: a node run, or the run itself. It tracks its open parts, so that overlapping node runs
 * do not interrupt each other's texts.
 */
export class PartAuthor {
  /** Key of the node run; undefined for the run itself. */
  readonly nodeKey: string | undefined;
  /** The open answer text. */
  text: TextCell | undefined;
  /** The open thinking text. */
  thinking: TextCell | undefined;
  /** The latest reasoning, open or complete. */
  reasoning: TextCell | undefined;
  /** Texts, thinking and tool calls of this author. */
  readonly cells: PartCell[] = [];
  /** The call whose arguments were streamed last. */
  call: ToolCell | undefined;
  /** The latest call by index. */
  calls: Map<number, ToolCell> | undefined;

  constructor(nodeKey: string | undefined) {
    this.nodeKey = nodeKey;
  }
}
