/** The contract of the mutable parts of a message, between the message and its parts. */
import type { MessagePart } from "../view.ts";

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
