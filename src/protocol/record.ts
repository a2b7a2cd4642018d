/**
 * A record is an envelope and an event, kept apart. Senders write records, logs store them, dialects encode them and
 * receivers fold them. Records use only the names of the `loom` vocabulary.
 */
import type { EventType, SpecifiedType } from "./events/index.ts";
import { type Envelope, findLoomEventForm, type LoomEvent, type LoomEventMap } from "./events.generated.ts";
import type { Json, JsonObject } from "./json.ts";

/** An event whose type this version does not know. It is stored and forwarded, and never shown as answer text. */
export interface OpaqueEvent {
  readonly type: string;
  readonly [field: string]: Json;
}

/** An event of a known or unknown type. */
export type AnyEvent = LoomEvent | OpaqueEvent;

/** The event of a given type, such as `EventOf<"run_start">`. */
export type EventOf<T extends EventType> = LoomEventMap[T];

/** An envelope and an event. */
export interface EventRecord {
  readonly envelope: Envelope;
  readonly event: AnyEvent;
}

/** An envelope with a position in a session. Encoders need it to produce the same bytes every time. */
export interface StampedEnvelope extends Envelope {
  readonly session_id: string;
  readonly event_id: number;
}

/** A record with a position in a session. */
export interface StampedRecord extends EventRecord {
  readonly envelope: StampedEnvelope;
}

/** True if this version knows the event type. */
export function isKnownType(type: string): type is EventType {
  return findLoomEventForm(type) !== undefined;
}

/** True for the 23 types of 001 §4.2. */
export function isSpecified(type: string): type is SpecifiedType {
  return findLoomEventForm(type)?.exportKey !== undefined;
}

/**
 * True if this version knows the type of the event.
 *
 * ```ts
 * if (isKnownEvent(event) && event.type === "tool_end") console.log(event.result);
 * ```
 */
export function isKnownEvent(event: AnyEvent): event is LoomEvent {
  return isKnownType(event.type);
}

/** True for the last frame of a run: the reply, or the `run_end` of a run that did not complete and has no reply. */
export function isTerminal(event: AnyEvent): boolean {
  return endsRun(event) && !isBeforeReply(event);
}

/** True for the frame that decides that a run is over: the `run_end` of a run that did not complete, or the reply. */
export function endsRun(event: AnyEvent): boolean {
  return event.type === "reply" || (event.type === "run_end" && (event as EventOf<"run_end">).status !== "completed");
}

/** True for the `run_end` of a run that did not complete, if its reply follows. */
export function isBeforeReply(event: AnyEvent): boolean {
  if (event.type !== "run_end") return false;
  const { status, has_reply } = event as EventOf<"run_end">;
  return status !== "completed" && has_reply === true;
}

/** True for the channel of text that is part of the answer. */
export function isAnswerChannel(channel: EventOf<"message_chunk">["channel"]): boolean {
  return channel === undefined || channel === "answer";
}

/** True for the channel of text that prepares an answer. */
export function isThinkingChannel(channel: EventOf<"message_chunk">["channel"]): boolean {
  return channel === "thought" || channel === "judgement";
}

/** Events that can happen outside a run, such as checking off a to-do item after the run ended. */
const RUNLESS: readonly string[] = [
  "todo_list",
  "todo_update",
  "tool_permission",
  "feedback",
  "custom",
  "foreign",
] satisfies readonly EventType[];

/** True for events that can happen outside a run. */
export function mayLackRun({ type }: AnyEvent): boolean {
  return RUNLESS.includes(type);
}

/** True for events that open no run if none is named: they can happen outside a run, or their type is unknown. */
export function opensNoRun(event: AnyEvent): boolean {
  return mayLackRun(event) || !isKnownEvent(event);
}

/** True for the error that announces another attempt of a run whose process died or that was forked. The run goes on. */
export function isNextAttempt(event: {
  readonly code?: string | undefined;
  readonly attempt?: number | undefined;
}): event is { readonly code: "interrupted"; readonly attempt: number } {
  return event.code === "interrupted" && event.attempt !== undefined;
}

/** True for the error that announces that a forked run continues from its checkpoint. No process died. */
export function isForkNotice(event: {
  readonly code?: string | undefined;
  readonly attempt?: number | undefined;
  readonly details?: JsonObject | undefined;
}): boolean {
  return event.details?.["forked"] === true && isNextAttempt(event);
}
