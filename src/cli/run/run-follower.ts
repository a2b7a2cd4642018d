/**
 * Follows a session until one of its runs has ended, or waits for consent that nobody here can give. It reads records
 * and nothing else, so it does not matter which process carries the run out.
 */
import { followRecords, type Log } from "../../log/index.ts";
import type { EventOf, StampedRecord } from "../../protocol/index.ts";
import { isTerminal } from "../../protocol/index.ts";
import { OpenQuestions, type Question } from "./open-questions.ts";

export type Outcome =
  | {
      readonly kind: "ended";
      readonly status: EventOf<"run_end">["status"];
      readonly reason?: string;
      readonly code?: string;
    }
  | {
      readonly kind: "waiting";
      readonly questions: readonly Question[];
      /** The tools of calls that were asked about. */
      readonly neededTools: readonly string[];
    }
  /** It was told to stop. */
  | { readonly kind: "stopped" };

export interface RunFollowerOptions {
  readonly log: Log;
  readonly sessionId: string;
  readonly runId: string;
  /** The record after which to begin. */
  readonly after: number;
  readonly signal: AbortSignal;
  /** Resolves when what a dead process left in the session was put right. */
  readonly recovered: Promise<void>;
  /** A record of the run. */
  readonly onRecord: (record: StampedRecord) => Promise<void>;
  /** Another run comes before it. */
  readonly onOther: (record: StampedRecord) => void;
  /** False where these tools would be needed here, and are not all there: the run would end if it were answered. */
  readonly canGoOn: (neededTools: readonly string[]) => boolean;
  /** All questions that can be answered now, of whichever run. False where nobody answers them here. */
  readonly onQuestions: (questions: readonly Question[]) => boolean;
}

export class RunFollower {
  readonly #options: RunFollowerOptions;
  readonly #questions = new OpenQuestions();
  readonly #began = Promise.withResolvers<number | undefined>();
  readonly #blocked = Promise.withResolvers<Outcome>();
  #hasBegun = false;
  #readTo = 0;

  constructor(options: RunFollowerOptions) {
    this.#options = options;
  }

  /** Resolves to the id of the run's first record; to undefined when it is not followed any more before that. */
  get began(): Promise<number | undefined> {
    return this.#began.promise;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** False where an answer would end the run, since nobody here could go on with it. */
  get canGoOn(): boolean {
    return this.#options.canGoOn(this.#questions.neededTools);
  }

  async follow(): Promise<Outcome> {
    try {
      return await Promise.race([this.#read(), this.#blocked.promise]);
    } finally {
      this.#began.resolve(undefined);
    }
  }

  /**
   * Looks whether it goes on without an answer; also to be called when whoever answers has gone. True when it does not:
   * it is left waiting.
   */
  async checkQuestions(): Promise<boolean> {
    const { log, sessionId, recovered, onQuestions } = this.#options;
    // Before that it is not known who goes on with the run.
    if (this.#questions.waiting.length > 0) await recovered;
    const { canGoOn } = this;
    const { waiting, neededTools } = this.#questions;
    if (onQuestions(canGoOn ? waiting : []) && canGoOn) return false;
    // Where nobody goes on with it, nothing else happens either.
    const questions = canGoOn ? this.#questions.listBlocking(Date.now()) : waiting;
    const info = await log.getSession(sessionId);
    if (questions.length === 0 || info?.lastId !== this.#readTo) return false;
    this.#blocked.resolve({ kind: "waiting", questions, neededTools });
    return true;
  }

  async #read(): Promise<Outcome> {
    const { log, sessionId, after, signal } = this.#options;
    // A question that was asked before may have been answered before, further on.
    const { lastId: caughtUp = 0 } = (await log.getSession(sessionId)) ?? {};
    let end: EventOf<"run_end"> | undefined;
    for await (const page of followRecords(log, sessionId, { after, follow: true, signal })) {
      for (const record of page.records) {
        this.#questions.add(record);
        await this.#tell(record);
        if (record.envelope.run_id !== this.#options.runId) continue;
        if (record.event.type === "run_end") end = record.event as EventOf<"run_end">;
        if (end !== undefined && isTerminal(record.event)) return describeEnd(end);
      }
      this.#readTo = page.lastId;
      if (page.lastId >= caughtUp) await this.checkQuestions();
    }
    return { kind: "stopped" };
  }

  async #tell(record: StampedRecord): Promise<void> {
    const { runId, onRecord, onOther } = this.#options;
    const { run_id, event_id } = record.envelope;
    if (run_id === runId && !this.#hasBegun) {
      this.#hasBegun = true;
      this.#began.resolve(event_id);
    }
    if (run_id === runId) await onRecord(record);
    else onOther(record);
  }
}

function describeEnd({ status, reason, code }: EventOf<"run_end">): Outcome {
  return {
    kind: "ended",
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(code === undefined ? {} : { code }),
  };
}
