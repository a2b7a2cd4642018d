/**
 * Writes the records of a live run in units. A unit is checked against the open work, pushed as a whole, and then added
 * to the open work. It does not decide when a run ends and assigns no IDs.
 *
 * Invariant: the open work contains exactly the events that were pushed.
 */
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { type AnyEvent, type ErrorCode, isLoomError, LoomError } from "../protocol/index.ts";
import type { ErrorEvent } from "../protocol/events.generated.ts";
import type { AnswerText } from "./answer-text.ts";
import { assertNodeId, checkEvent } from "./check-event.ts";
import { cutReason } from "./node-run.ts";
import type { ClosingOptions, OpenWork } from "./open-work.ts";
import type { RunEndFields, RunFailure, RunHost, Settle } from "./run-contract.ts";
import type { EventDraft, PushResult, PushOptions } from "./sequencer.ts";
import { TextBreaks } from "./text-breaks.ts";
import { copyJson } from "../protocol/json.ts";
import { TextJoiner } from "../protocol/text-joiner.ts";

/** An event of a unit and the node run it belongs to. */
export interface UnitEvent {
  readonly event: AnyEvent;
  readonly nodeId?: string | undefined;
}

/** The answer, or what was produced of it, and the node run it came from. */
export interface Reply {
  readonly text: string;
  readonly nodeId: string | undefined;
}

/** How a run ends, and how what it left open ends. */
export interface RunEnding extends Pick<ClosingOptions, "reason" | "code"> {
  readonly end: RunEndFields;
  /** Default: the answer so far. */
  readonly reply?: Reply;
  readonly settle?: Settle | undefined;
}

export interface WriteOptions extends PushOptions {
  /** True to skip life-cycle checks: closing events must work even for records of other writers. */
  readonly unchecked?: boolean;
  /** True if the caller handles a storage failure, so that the run can continue. */
  readonly isHandled?: boolean;
}

const NO_OPTIONS: WriteOptions = {};

/** The part of a run that its writer uses. */
export interface WriterOwner {
  readonly runId: string;
  assertLive(): void;
  /** A valid event could not be stored, so the log is incomplete. */
  onLost(error: LoomError): void;
  /** Called for each event after it was pushed. */
  onWritten(event: AnyEvent, nodeId: string | undefined, pushed: PushResult): void;
}

/** Storage errors that end the run: it must not continue as if the event were stored. */
export const FATAL: readonly ErrorCode[] = ["backlog_full", "event_too_large", "batch_too_large", "quota_exceeded"];

/** Event types that only the engine writes. */
const STAMPED: ReadonlySet<string> = new Set(["run_start", "node_enter", "node_exit", "run_end", "reply"]);

export class RunWriter {
  /** False if the summary of `run_end` has only the counts of the caller. */
  hasTotals = true;
  readonly #host: RunHost;
  readonly #owner: WriterOwner;
  readonly #work: OpenWork;
  readonly #answer: AnswerText;
  readonly #texts = new TextJoiner();
  readonly #breaks = new TextBreaks();

  constructor(host: RunHost, owner: WriterOwner, work: OpenWork, answer: AnswerText) {
    this.#host = host;
    this.#owner = owner;
    this.#work = work;
    this.#answer = answer;
  }

  check(event: AnyEvent): AnyEvent {
    return checkEvent(event, true);
  }

  /** Checks an event of an agent. Throws `invalid_event` if only the engine writes its type. */
  checkOwn(event: AnyEvent): AnyEvent {
    const checked = this.check(event);
    if (!STAMPED.has(checked.type)) return checked;
    throw new LoomError("invalid_event", `Only the engine writes \`${checked.type}\``, { path: "type" });
  }

  /** Returns the error event of a failure. If it cannot be written, leaves out the details, then the code. */
  checkFailure(failure: RunFailure, onRefused: (error: unknown) => void): ErrorEvent {
    const { message, code } = failure;
    let refusal: unknown;
    for (const attempt of [failure, { message, ...dropUndefined({ code }) }, { message }]) {
      try {
        const error = this.check({ ...attempt, type: "error" }) as ErrorEvent;
        if (refusal !== undefined) onRefused(refusal);
        return error;
      } catch (cause) {
        refusal ??= cause;
      }
    }
    throw refusal;
  }

  /** Writes checked events as one unit: all of them, or none and it throws. */
  write(parts: readonly UnitEvent[], options: WriteOptions = NO_OPTIONS): PushResult {
    const { runId } = this.#owner;
    this.#owner.assertLive();
    // An imported run may have longer IDs, and must be closed nevertheless.
    for (const { nodeId } of parts) assertNodeId(nodeId, Number.POSITIVE_INFINITY);
    if (options.unchecked !== true) this.#assertNext(parts);
    const drafts: EventDraft[] = [];
    for (const { event, nodeId } of parts) {
      for (const rest of this.#texts.endedBy(event, nodeId)) drafts.push({ runId, ...rest });
      const blankLine = this.#breaks.take(event, nodeId);
      if (blankLine !== undefined) drafts.push({ runId, nodeId, event: blankLine });
      const joined = this.#texts.join(event, nodeId);
      drafts.push({ runId, nodeId, event: needsCopy(joined) ? copyJson(joined) : joined });
    }
    let pushed: PushResult;
    try {
      pushed = this.#host.push(drafts, options);
    } catch (error) {
      // Forced writes have a caller that handles the failure.
      const isHandled = options.force === true || options.isHandled === true;
      if (!isHandled && isLoomError(error, ...FATAL)) this.#owner.onLost(error);
      throw error;
    }
    let eventId = pushed.lastId - drafts.length;
    for (const { event, nodeId } of drafts) this.#add(event, nodeId, ++eventId, pushed);
    return pushed;
  }

  /** Checks only the first event of each call in a unit; the later ones follow from it. */
  #assertNext(parts: readonly UnitEvent[]): void {
    let seen: Set<unknown> | undefined;
    for (const { event, nodeId } of parts) {
      const callId = parts.length === 1 ? undefined : (event as { readonly call_id?: unknown }).call_id;
      if (callId !== undefined && seen?.has(callId) === true) continue;
      this.#work.assertNext(event, nodeId);
      if (callId !== undefined) (seen ??= new Set()).add(callId);
    }
  }

  #add(event: AnyEvent, nodeId: string | undefined, event_id: number, pushed: PushResult): void {
    const { ts } = pushed;
    const envelope = nodeId === undefined ? { event_id, ts } : { event_id, ts, node_id: nodeId };
    const record = { envelope, event };
    this.#work.add(record);
    this.#answer.add(record);
    this.#owner.onWritten(event, nodeId, pushed);
  }

  /** Returns the node run if it is open, else undefined. */
  insideOf(nodeId: string | undefined): string | undefined {
    return nodeId !== undefined && this.#work.isOpen(nodeId) ? nodeId : undefined;
  }

  /** Ends all texts: half a character that still waits for its rest becomes U+FFFD. */
  endTexts(): void {
    for (const { event, nodeId } of this.#texts.end()) this.writeClosing(event, nodeId);
  }

  /** Closes open work; see `OpenWork.listClosings`. */
  close(options: Omit<ClosingOptions, "now">): void {
    for (const { event, nodeId } of this.#work.listClosings({ ...options, now: this.#host.now() }))
      this.writeClosing(event, nodeId);
  }

  /**
   * Writes a closing event. A run must be able to end, so an event that is too large is written with shorter texts; if
   * it is still too large, it is skipped.
   */
  writeClosing(event: AnyEvent, nodeId: string | undefined): void {
    for (const fitting of [event, truncateTexts(event)]) {
      try {
        this.write([{ event: fitting, nodeId }], { force: true, unchecked: true });
        return;
      } catch (error) {
        if (!isLoomError(error, "event_too_large")) throw error;
      }
    }
  }

  /** Writes an error. If it is too large, leaves out its details. */
  writeError(error: ErrorEvent): void {
    try {
      this.write([{ event: error }], { force: true });
    } catch (cause) {
      if (!isLoomError(cause, "event_too_large")) throw cause;
      const { message, code } = error;
      this.writeClosing({ type: "error", message: cutReason(message), ...dropUndefined({ code }) }, undefined);
    }
  }

  /** Writes the last records of the run in one append: `run_end` with the counts, and the reply. */
  writeEnd(end: RunEndFields, reply: Reply, settle: Settle | undefined): PushResult {
    const { sequencer } = this.#host;
    const { runId } = this.#owner;
    const { frames, firstId = sequencer.nextId, startedAt, totals } = this.#work;
    const ts = sequencer.tick();
    const runEnd = this.check({
      ...end,
      type: "run_end",
      ...(this.hasTotals
        ? { summary: { ...totals, duration_ms: Math.max(0, ts - (startedAt ?? ts)), ...end.summary } }
        : {}),
      first_event_id: firstId,
      last_event_id: sequencer.nextId + 1,
      frame_count: frames + 2,
      ...(end.status === "completed" ? {} : { has_reply: true }),
    });
    const drafts: EventDraft[] = [
      { runId, event: runEnd },
      { runId, nodeId: reply.nodeId, event: { type: "reply", reply: reply.text.toWellFormed() } },
    ];
    const settled = settle === undefined ? [] : [settle(sequencer.nextId)];
    return this.#host.push(drafts, { force: true, settle: settled, ts });
  }
}

/** True for events whose values the open work keeps. They must be copied, because the caller may change the objects. */
function needsCopy({ type }: AnyEvent): boolean {
  return type === "tool_approval" || type === "tool_approval_result";
}

const MAX_TEXT_LENGTH = 100;

const TEXTS: ReadonlySet<string> = new Set(["result", "reason", "message", "error"]);

/** Shortens the texts of a closing event. Names and IDs stay, because they say what is closed. */
function truncateTexts(event: AnyEvent): AnyEvent {
  const entries = Object.entries(event).map(([name, value]: [string, unknown]) => {
    if (name === "result" && typeof value === "object") return [name, { Err: "interrupted" }];
    return [
      name,
      typeof value === "string" && TEXTS.has(name) ? value.slice(0, MAX_TEXT_LENGTH).toWellFormed() : value,
    ];
  });
  return Object.fromEntries(entries) as AnyEvent;
}
