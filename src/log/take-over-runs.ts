/**
 * What goes on in a fork, as a run of whoever forks it: under their name, and with no more rights than they have and it
 * had. What was agreed to in the old session was agreed to there: nothing is carried out in the new one for it.
 *
 * Invariant: it holds for every run that is live where the fork begins, whichever of them the checkpoint is of: a session
 * that was streamed in may have several, and the engine goes on with the newest.
 */
import {
  isTerminal,
  joinToolRules,
  LoomError,
  readToolRules,
  type RunStartEvent,
  type ToolRules,
} from "../protocol/index.ts";
import { createEntry } from "./entry.ts";
import type { LogEntry } from "./log.ts";

export interface TakeOverOptions {
  /** Who forks; never a secret. */
  readonly actor?: string | undefined;
  /** What their runs may do with tools. */
  readonly toolRules?: ToolRules | undefined;
}

/** A run that has not ended. */
interface LiveRun {
  hasStart: boolean;
  /** Calls that were agreed to and are open; undefined for those without an id. */
  readonly agreed: Set<string | undefined>;
}

/** Refused as `unsupported` where a call is open that was agreed to, or somebody forks a run of which no beginning is there. */
export function takeOverRuns(entries: readonly LogEntry[], options: TakeOverOptions): LogEntry[] {
  const { actor, toolRules } = options;
  const live = findLive(entries);
  for (const { hasStart, agreed } of live.values()) {
    if (agreed.size > 0)
      throw new LoomError("unsupported", "a call is open there that was agreed to: fork from another checkpoint");
    // It would be nobody's run, and nobody would pay for it.
    if (!hasStart && actor !== undefined)
      throw new LoomError("unsupported", "the run that would go on has no beginning: fork from another checkpoint");
  }
  return entries.map((entry) => {
    const { envelope, event } = entry.record;
    if (event.type !== "run_start" || !live.has(envelope.run_id)) return entry;
    const { actor: before, tool_rules: own, ...start } = event as RunStartEvent;
    if (before === actor && toolRules === undefined) return entry;
    const tool_rules = joinToolRules(readToolRules(own), toolRules);
    const given = { ...(actor === undefined ? {} : { actor }), ...(tool_rules === undefined ? {} : { tool_rules }) };
    return createEntry({ envelope, event: { ...start, ...given } });
  });
}

function findLive(entries: readonly LogEntry[]): ReadonlyMap<string | undefined, LiveRun> {
  const live = new Map<string | undefined, LiveRun>();
  const ended = new Set<string>();
  for (const { record } of entries) {
    const { run_id } = record.envelope;
    if (run_id === undefined || ended.has(run_id)) continue;
    if (isTerminal(record.event)) {
      ended.add(run_id);
      live.delete(run_id);
      continue;
    }
    const run = live.get(run_id) ?? { hasStart: false, agreed: new Set() };
    live.set(run_id, run);
    const { type, call_id, decision } = record.event as { type: string; call_id?: string; decision?: unknown };
    if (type === "run_start") run.hasStart = true;
    // One without an id stays: nobody can say for certain which call it was.
    else if (type === "tool_approval_result" && decision === "approved") run.agreed.add(call_id);
    else if (type === "tool_end" && call_id !== undefined) run.agreed.delete(call_id);
  }
  return live;
}
