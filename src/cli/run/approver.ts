/**
 * Answers the questions of a run, as the user chose: by asking a person, one question at a time, or by itself. Answers
 * are commands, so it does not matter which process carries the run out, nor who else is asked.
 */
import { randomUUID } from "node:crypto";
import { sendCommand } from "../../engine/index.ts";
import type { Log } from "../../log/index.ts";
import type { Decision } from "./ask-person.ts";
import type { Question } from "./open-questions.ts";

export interface ApproverOptions {
  readonly log: Log;
  readonly sessionId: string;
  /** Undefined where the person went away, or the question was withdrawn. */
  readonly decide: (question: Question, signal: AbortSignal) => Promise<Decision | undefined> | Decision;
  /** The person went away: nothing more is answered here. */
  readonly onGone: () => void;
  /** An answer was not taken. */
  readonly onRefused: (question: Question, message: string) => void;
  readonly onFailed: (error: unknown) => void;
}

/** What became of an answer that somebody else gave first, or that came too late, is told by the run's own records. */
const TOO_LATE: readonly string[] = ["done", "already_answered", "unknown_call", "run_ended", "unknown_run"];

export class Approver {
  readonly #options: ApproverOptions;
  /** By call: those that wait here, the one that is asked included. */
  readonly #open = new Map<string, { readonly question: Question; readonly withdrawn: AbortController }>();
  /** Calls that were answered here, until their answer is seen. */
  readonly #answered = new Set<string>();
  #isAsking = false;
  #isGone = false;

  constructor(options: ApproverOptions) {
    this.#options = options;
  }

  /** The questions that are open now. */
  update(waiting: readonly Question[]): void {
    const ids = new Set(waiting.map(({ callId }) => callId));
    for (const [callId, { withdrawn }] of this.#open) if (!ids.has(callId)) this.#withdraw(callId, withdrawn);
    for (const callId of this.#answered) if (!ids.has(callId)) this.#answered.delete(callId);
    if (this.#isGone) return;
    for (const question of waiting) {
      const { callId } = question;
      if (this.#open.has(callId) || this.#answered.has(callId)) continue;
      this.#open.set(callId, { question, withdrawn: new AbortController() });
    }
    void this.#askAll();
  }

  /** Withdraws everything. */
  close(): void {
    this.#isGone = true;
    for (const [callId, { withdrawn }] of this.#open) this.#withdraw(callId, withdrawn);
  }

  #withdraw(callId: string, withdrawn: AbortController): void {
    this.#open.delete(callId);
    withdrawn.abort();
  }

  async #askAll(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      for (let next = this.#open.values().next(); next.done !== true; next = this.#open.values().next()) {
        await this.#ask(next.value.question, next.value.withdrawn.signal);
        if (this.#isGone) return;
      }
    } catch (error) {
      this.#options.onFailed(error);
    } finally {
      this.#isAsking = false;
    }
  }

  async #ask(question: Question, withdrawn: AbortSignal): Promise<void> {
    const { log, sessionId, decide, onGone, onRefused } = this.#options;
    const { runId, callId, name, digest } = question;
    const decision = await decide(question, withdrawn);
    this.#open.delete(callId);
    if (withdrawn.aborted) return;
    if (decision === undefined) {
      this.close();
      onGone();
      return;
    }
    this.#answered.add(callId);
    const body = { run_id: runId, call_id: callId, name, ...(digest === undefined ? {} : { digest }), ...decision };
    const { outcome } = await sendCommand(log, { commandId: randomUUID(), sessionId, kind: "approve", body });
    if (outcome !== undefined && !TOO_LATE.includes(outcome.code)) onRefused(question, outcome.message ?? outcome.code);
  }
}
