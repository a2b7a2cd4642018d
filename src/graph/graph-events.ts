/** The events that a graph writes about itself. */
import type { AnyEvent, Json } from "../protocol/index.ts";
import type { CheckpointEvent, ToolEndEvent, UpdatesEvent, ValuesEvent } from "../protocol/events.generated.ts";
import type { StatePatch } from "../protocol/state-patch.ts";
import type { InterruptAnswer } from "./graph.ts";

/** A task of the next super-step, as stored in a checkpoint. */
export interface NextTask {
  readonly id: string;
  readonly input?: Json;
}

/** Identifies a graph: its run, its session and the path of the subgraph. */
export interface GraphAddress {
  readonly runId: string;
  readonly sessionId: string | undefined;
  /** Path of the subgraph; empty for the root. */
  readonly ns: string;
}

export function createUpdates(ns: string, id: string, task: number, patch: StatePatch): UpdatesEvent {
  return ns === ""
    ? { type: "updates", id, state: patch, task, delta: true }
    : { type: "updates", id, state: patch, task, checkpoint_ns: ns, delta: true };
}

/** The full state, which later deltas change, or the corrections of the folded updates. */
export function createValues(ns: string, state: Json, delta: boolean): ValuesEvent {
  return ns === "" ? { type: "values", state, delta } : { type: "values", state, checkpoint_ns: ns, delta };
}

/** A checkpoint with the full state or, if `delta` is true, with the corrections of the folded updates. */
export function createCheckpoint(
  { runId, sessionId, ns }: GraphAddress,
  time: number,
  step: number,
  state: Json,
  next: readonly NextTask[],
  delta: boolean,
): CheckpointEvent {
  const checkpoint_id = `${runId}:${formatStepPath(ns, step)}`;
  const timestamp = formatTime(time);
  // Object literals are much faster than spreading.
  return sessionId === undefined
    ? { type: "checkpoint", checkpoint_id, timestamp, step, state, checkpoint_ns: ns, next, delta }
    : {
        type: "checkpoint",
        checkpoint_id,
        timestamp,
        step,
        state,
        thread_id: sessionId,
        checkpoint_ns: ns,
        next,
        delta,
      };
}

/** Events that end an answered interrupt. They are part of its node run. */
export function createInterruptEnd(callId: string, answer: InterruptAnswer): readonly AnyEvent[] {
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

/** Returns a name of the step that is unique within the run. */
export function formatStepPath(ns: string, step: number): string {
  return ns === "" ? String(step) : `${ns}|${step}`;
}

let lastTime = Number.NaN;
let lastText = "";

/** Caches the last text: steps are often shorter than a millisecond, and formatting a date is slow. */
function formatTime(time: number): string {
  if (time !== lastTime) {
    lastText = new Date(time).toISOString();
    lastTime = time;
  }
  return lastText;
}
