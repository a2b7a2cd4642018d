/**
 * Transfers the live runs of a fork to the user who forks it: they become the actor, and the tool rules of both apply.
 * Approvals given in the source session do not carry over to the fork.
 *
 * Invariant: this covers every run that is live at the fork, not only the run of the checkpoint. An ingested session
 * may have several live runs, and the engine resumes the newest.
 */
import { LoomError, type StampedRecord, type ToolRules } from "../protocol/index.ts";
import type { RunStartEvent } from "../protocol/events.generated.ts";
import { endsRun } from "../protocol/record.ts";
import { joinToolRules, readToolRules } from "../protocol/tool-rules.ts";
import { createEntry } from "./entry.ts";
import type { LogEntry } from "./log.ts";

export interface TakeOverOptions {
  /** User who forks. Never a secret. */
  readonly actor?: string | undefined;
  /** Tool rules of that user. */
  readonly toolRules?: ToolRules | undefined;
}

/** A run that is live at the fork. */
interface ForkedRun {
  hasStart: boolean;
  /** Approved calls that have not ended; undefined for calls without an ID. */
  readonly approved: Set<string | undefined>;
}

/** The runs that are live after the records that were taken. */
export class LiveRunFold {
  readonly #live = new Map<string | undefined, ForkedRun>();
  readonly #ended = new Set<string>();

  take({ envelope, event }: StampedRecord): void {
    const { run_id } = envelope;
    if (run_id === undefined || this.#ended.has(run_id)) return;
    if (endsRun(event)) {
      this.#ended.add(run_id);
      this.#live.delete(run_id);
      return;
    }
    const run = this.#live.get(run_id) ?? { hasStart: false, approved: new Set() };
    this.#live.set(run_id, run);
    const { type, call_id, decision } = event as { type: string; call_id?: string; decision?: unknown };
    if (type === "run_start") run.hasStart = true;
    // Without an id it stays open, because it is unknown which call ended.
    else if (type === "tool_approval_result" && decision === "approved") run.approved.add(call_id);
    else if (type === "tool_end" && call_id !== undefined) run.approved.delete(call_id);
  }

  /** Throws `unsupported` if an approved call is still open, or if an actor is given and a live run has no `run_start`. */
  assertTransferable({ actor }: TakeOverOptions): void {
    for (const { hasStart, approved } of this.#live.values()) {
      if (approved.size > 0)
        throw new LoomError(
          "unsupported",
          "An approved tool call has not finished at this checkpoint; fork from another checkpoint",
        );
      // The run would have no actor and count toward no quota.
      if (!hasStart && actor !== undefined)
        throw new LoomError("unsupported", "A live run has no start at this checkpoint; fork from another checkpoint");
    }
  }

  /** Returns the entry, changed if it starts a live run. */
  transfer(entry: LogEntry, { actor, toolRules }: TakeOverOptions): LogEntry {
    const { envelope, event } = entry.record;
    if (event.type !== "run_start" || !this.#live.has(envelope.run_id)) return entry;
    // The capabilities are those of the client that started the run, not of the one that takes it over.
    const { actor: before, tool_rules: own, capabilities, ...start } = event as RunStartEvent;
    if (before === actor && toolRules === undefined && capabilities === undefined) return entry;
    const tool_rules = joinToolRules(readToolRules(own), toolRules);
    const given = { ...(actor === undefined ? {} : { actor }), ...(tool_rules === undefined ? {} : { tool_rules }) };
    return createEntry({ envelope, event: { ...start, ...given } });
  }
}
