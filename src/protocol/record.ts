/**
 * A record is an envelope and an event, kept apart. It is what senders write, logs hold, dialects encode and receivers
 * reduce; only the names of the `loom` vocabulary appear in it.
 */
import type { EventType, SpecifiedType } from "./events/index.ts";
import { type Envelope, findLoomEventForm, type LoomEvent, type LoomEventMap } from "./events.generated.ts";
import type { Json } from "./json.ts";

/** An event whose type this version does not know. It is kept and passed on, never shown as answer text. */
export interface OpaqueEvent {
  readonly type: string;
  readonly [field: string]: Json;
}

export type AnyEvent = LoomEvent | OpaqueEvent;

export type EventOf<T extends EventType> = LoomEventMap[T];

export interface EventRecord {
  readonly envelope: Envelope;
  readonly event: AnyEvent;
}

/** An envelope with a place in a session: what an encoder needs to give the same bytes every time. */
export interface StampedEnvelope extends Envelope {
  readonly session_id: string;
  readonly event_id: number;
}

export interface StampedRecord extends EventRecord {
  readonly envelope: StampedEnvelope;
}

export function isKnownType(type: string): type is EventType {
  return findLoomEventForm(type) !== undefined;
}

/** True for the 23 types of 001 §4.2. */
export function isSpecified(type: string): type is SpecifiedType {
  return findLoomEventForm(type)?.exportKey !== undefined;
}

export function isKnownEvent(event: AnyEvent): event is LoomEvent {
  return isKnownType(event.type);
}

/** True for the frame that ends a run: its reply, or a run_end that no reply follows. */
export function isTerminal(event: AnyEvent): boolean {
  return event.type === "reply" || (event.type === "run_end" && (event as EventOf<"run_end">).status !== "completed");
}

/** What may happen in a session outside any run, such as a to-do item ticked after the run was over. */
const RUNLESS: readonly string[] = ["todo_list", "todo_update", "custom", "foreign"] satisfies readonly EventType[];

export function mayLackRun({ type }: AnyEvent): boolean {
  return RUNLESS.includes(type);
}
