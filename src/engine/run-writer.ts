/**
 * How a live run's records are written: each unit is checked against what is open, pushed whole, and folded into what is
 * open then. It does not decide when a run ends, and stamps no ids.
 *
 * Invariant: what was folded was pushed, and what was refused was not folded.
 */
import { given } from "../dialects/given.ts";
import { type AnyEvent, type ErrorCode, type ErrorEvent, isLoomError, type LoomError } from "../protocol/index.ts";
import type { AnswerText } from "./answer-text.ts";
import { assertNodeId, checkEvent } from "./check-event.ts";
import { type CloseOptions, cutTexts, isKept, type OpenWork } from "./open-work.ts";
import { copyJson } from "./plain-json.ts";
import type { RunEndFields, RunFailure, RunHost, Settle } from "./run-contract.ts";
import type { Draft, Pushed, PushOptions } from "./sequencer.ts";

/** An event of a unit, and the node run it belongs to. */
export interface Part {
  readonly event: AnyEvent;
  readonly nodeId?: string | undefined;
}

/** The whole answer, and the node run that gave it. */
export interface Reply {
  readonly text: string;
  readonly nodeId: string | undefined;
}

export interface WriteOptions extends PushOptions {
  /** True for what closes a run that others wrote, whatever they wrote. */
  readonly unchecked?: boolean;
  /** Whoever writes it waits for what comes of it, and learns that it was not written: the run can go on without. */
  readonly isAwaited?: boolean;
}

const NO_OPTIONS: WriteOptions = {};

/** What the writer needs of its run. */
export interface WriterOwner {
  readonly runId: string;
  assertLive(): void;
  /** A right event could not be stored: the log is no longer faithful. */
  onLost(error: LoomError): void;
  /** Told of each event that was pushed and folded. */
  onWritten(event: AnyEvent, pushed: Pushed): void;
}

/** An event that is lost for one of these makes the log unfaithful: the run must not go on as if it were there. */
export const FATAL: readonly ErrorCode[] = ["backlog_full", "event_too_large", "batch_too_large"];

export class RunWriter {
  readonly #host: RunHost;
  readonly #owner: WriterOwner;
  readonly #work: OpenWork;
  readonly #answer: AnswerText;

  constructor(host: RunHost, owner: WriterOwner, work: OpenWork, answer: AnswerText) {
    this.#host = host;
    this.#owner = owner;
    this.#work = work;
    this.#answer = answer;
  }

  check(event: AnyEvent): AnyEvent {
    return checkEvent(event, this.#host.maxNameLength);
  }

  /** A failure of which not all can be written is a failure all the same: details are left out, then the code. */
  checkFailure(failure: RunFailure, onRefused: (error: unknown) => void): ErrorEvent {
    const { message, code } = failure;
    let refusal: unknown;
    for (const said of [failure, { message, ...given({ code }) }, { message }]) {
      try {
        const error = this.check({ ...said, type: "error" }) as ErrorEvent;
        if (refusal !== undefined) onRefused(refusal);
        return error;
      } catch (cause) {
        refusal ??= cause;
      }
    }
    throw refusal;
  }

  /** Writes a unit of events that were checked; takes it whole, or throws. */
  write(parts: readonly Part[], options: WriteOptions = NO_OPTIONS): Pushed {
    const { runId } = this.#owner;
    this.#owner.assertLive();
    const drafts: Draft[] = [];
    for (const { event, nodeId } of parts) {
      assertNodeId(nodeId, Number.POSITIVE_INFINITY);
      drafts.push({ runId, nodeId, event: isKept(event) ? copyJson(event) : event });
    }
    if (options.unchecked !== true) this.#assertNext(drafts);
    let pushed: Pushed;
    try {
      pushed = this.#host.push(drafts, options);
    } catch (error) {
      // What is forced has a caller who is told, and can do something about it.
      const isTold = options.force === true || options.isAwaited === true;
      if (!isTold && isLoomError(error, ...FATAL)) this.#owner.onLost(error);
      throw error;
    }
    let eventId = pushed.lastId - drafts.length;
    for (const { event, nodeId } of drafts) this.#add(event, nodeId, ++eventId, pushed);
    return pushed;
  }

  /** Within a unit, only the first event about a call is held against the call: those behind it go on from there. */
  #assertNext(drafts: readonly Draft[]): void {
    let seen: Set<unknown> | undefined;
    for (const { event, nodeId } of drafts) {
      const callId = drafts.length === 1 ? undefined : (event as { readonly call_id?: unknown }).call_id;
      if (callId !== undefined && seen?.has(callId) === true) continue;
      this.#work.assertNext(event, nodeId);
      if (callId !== undefined) (seen ??= new Set()).add(callId);
    }
  }

  #add(event: AnyEvent, nodeId: string | undefined, event_id: number, pushed: Pushed): void {
    const { ts } = pushed;
    const envelope = nodeId === undefined ? { event_id, ts } : { event_id, ts, node_id: nodeId };
    const record = { envelope, event };
    this.#work.add(record);
    this.#answer.add(record);
    this.#owner.onWritten(event, pushed);
  }

  /** The node run, if it is open; what comes after it belongs to none. */
  insideOf(nodeId: string | undefined): string | undefined {
    return nodeId !== undefined && this.#work.isOpen(nodeId) ? nodeId : undefined;
  }

  /** Closes what is open; see `OpenWork.listClosings`. */
  close(options: Omit<CloseOptions, "now">): void {
    for (const { event, nodeId } of this.#work.listClosings({ ...options, now: this.#host.now() }))
      this.writeClosing(event, nodeId);
  }

  /**
   * A run must be able to end. Names were bounded on their way in, but a record of somebody else's may hold longer ones:
   * then texts are cut, and what cannot be written even so is left open.
   */
  writeClosing(event: AnyEvent, nodeId: string | undefined): void {
    for (const fitting of [event, cutTexts(event)]) {
      try {
        this.write([{ event: fitting, nodeId }], { force: true, unchecked: true });
        return;
      } catch (error) {
        if (!isLoomError(error, "event_too_large")) throw error;
      }
    }
  }

  /** The last records of the run: `run_end`, which counts them all, and the reply. */
  writeEnd(end: RunEndFields, reply: Reply | undefined, settle: Settle | undefined): Pushed {
    const { sequencer } = this.#host;
    const { runId } = this.#owner;
    const { frames, firstId = sequencer.nextId, startedAt, totals } = this.#work;
    const ts = sequencer.tick();
    const records = reply === undefined ? 1 : 2;
    const runEnd = this.check({
      ...end,
      type: "run_end",
      summary: { ...totals, duration_ms: Math.max(0, ts - (startedAt ?? ts)), ...end.summary },
      first_event_id: firstId,
      last_event_id: sequencer.nextId + records - 1,
      frame_count: frames + records,
    });
    const drafts: Draft[] = [{ runId, event: runEnd }];
    if (reply !== undefined) drafts.push({ runId, nodeId: reply.nodeId, event: { type: "reply", reply: reply.text } });
    const settled = settle === undefined ? [] : [settle(sequencer.nextId)];
    return this.#host.push(drafts, { force: true, settle: settled, ts });
  }
}
