/**
 * The events a graph writes of itself. `delta` is the last field of each: a log finds records with it by the end of their
 * text.
 */
import type {
  AnyEvent,
  CheckpointEvent,
  Json,
  StatePatch,
  ToolEndEvent,
  UpdatesEvent,
  ValuesEvent,
} from "../protocol/index.ts";
import type { InterruptAnswer } from "./graph.ts";

/** A node run of the next super-step, as a checkpoint holds it. */
export interface NextTask {
  readonly id: string;
  readonly input?: Json;
}

/** Which graph it is about: the run, its session, and the path of the subgraph. */
export interface Place {
  readonly runId: string;
  readonly sessionId: string | undefined;
  /** Empty at the root. */
  readonly ns: string;
}

export function createUpdates(ns: string, id: string, task: number, patch: StatePatch): UpdatesEvent {
  return ns === ""
    ? { type: "updates", id, state: patch, task, delta: true }
    : { type: "updates", id, state: patch, task, checkpoint_ns: ns, delta: true };
}

/** Of the whole state: the first, after which come changes. */
export function createValues(ns: string, state: Json): ValuesEvent {
  return { type: "values", state, ...(ns === "" ? {} : { checkpoint_ns: ns }), delta: false };
}

/** Of what folding the updates gets wrong. */
export function createValuesDelta(ns: string, state: StatePatch): ValuesEvent {
  return ns === "" ? { type: "values", state, delta: true } : { type: "values", state, checkpoint_ns: ns, delta: true };
}

/** Of the whole state, likewise. */
export function createCheckpoint(
  place: Place,
  time: number,
  step: number,
  state: Json,
  next: readonly NextTask[],
): CheckpointEvent {
  const { runId, sessionId, ns } = place;
  return {
    type: "checkpoint",
    checkpoint_id: `${runId}:${nameStep(ns, step)}`,
    timestamp: formatTime(time),
    step,
    state,
    ...(sessionId === undefined ? {} : { thread_id: sessionId }),
    ...(ns === "" ? {} : { checkpoint_ns: ns }),
    next,
    delta: false,
  };
}

export function createCheckpointDelta(
  place: Place,
  time: number,
  step: number,
  corrections: StatePatch,
  next: readonly NextTask[],
): CheckpointEvent {
  const { runId, sessionId, ns } = place;
  if (ns !== "" || sessionId === undefined)
    return { ...createCheckpoint(place, time, step, corrections, next), delta: true };
  // Most are these, and an object made whole is much cheaper than one put together.
  return {
    type: "checkpoint",
    checkpoint_id: `${runId}:${step}`,
    timestamp: formatTime(time),
    step,
    state: corrections,
    thread_id: sessionId,
    next,
    delta: true,
  };
}

/** What ends a question that was answered: it is part of what its node run has done. */
export function createAskEnd(callId: string, answer: InterruptAnswer): readonly AnyEvent[] {
  const named = { call_id: callId, name: "interrupt" };
  const end = { type: "tool_end", ...named, result: JSON.stringify(answer) } as const;
  if (answer.decision === "approved")
    return [
      { type: "tool_start", ...named },
      { ...end, is_error: false },
    ];
  const error_code = answer.decision === "expired" ? "approval_expired" : "tool_rejected";
  return [{ ...end, is_error: true, error_code } satisfies ToolEndEvent];
}

/** A step within a run, in words that no other step has. */
export function nameStep(ns: string, step: number): string {
  return ns === "" ? String(step) : `${ns}|${step}`;
}

let lastTime = Number.NaN;
let lastText = "";

/** Steps are shorter than milliseconds, and a date takes longer to write than all the rest. */
function formatTime(time: number): string {
  if (time !== lastTime) {
    lastText = new Date(time).toISOString();
    lastTime = time;
  }
  return lastText;
}
