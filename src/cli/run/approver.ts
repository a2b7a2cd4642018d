/**
 * Decides on the tool calls of a run that wait for approval, by asking the user one call at a time or by a fixed rule.
 * Decisions are sent as commands, so any process or server may run the agent, and other clients may decide too.
 */
import { randomUUID } from "node:crypto";
import type { SessionService } from "../sessions/session-service.ts";
import type { ToolDecision } from "./prompt-for-approval.ts";
import type { WaitingCall } from "./pending-approvals.ts";

export interface ApproverOptions {
  readonly service: Pick<SessionService, "send">;
  readonly sessionId: string;
  /** Returns undefined if the user closed the input or the call no longer waits. */
  readonly decide: (call: WaitingCall, signal: AbortSignal) => Promise<ToolDecision | undefined> | ToolDecision;
  /** The user closed the input: no further decisions are made here. */
  readonly onInputClosed: () => void;
  /** The run rejected a decision. */
  readonly onRefused: (call: WaitingCall, message: string) => void;
  readonly onFailed: (error: unknown) => void;
}

/** Refusals that need no message: the decision came too late, which the records of the run show. */
const IGNORED_CODES: readonly string[] = ["already_answered", "unknown_call", "run_ended", "unknown_run"];

export class Approver {
  readonly #options: ApproverOptions;
  /** Calls that wait for a decision here, by call ID, including the one being asked about. */
  readonly #open = new Map<string, { readonly call: WaitingCall; readonly withdrawn: AbortController }>();
  /** Calls decided here whose decision is not in the log yet. */
  readonly #answered = new Set<string>();
  #isAsking = false;
  #isClosed = false;

  constructor(options: ApproverOptions) {
    this.#options = options;
  }

  /** Sets the calls that wait now. */
  update(waiting: readonly WaitingCall[]): void {
    const ids = new Set(waiting.map(({ callId }) => callId));
    for (const [callId, { withdrawn }] of this.#open) if (!ids.has(callId)) this.#withdraw(callId, withdrawn);
    for (const callId of this.#answered) if (!ids.has(callId)) this.#answered.delete(callId);
    if (this.#isClosed) return;
    for (const call of waiting) {
      const { callId } = call;
      if (this.#open.has(callId) || this.#answered.has(callId)) continue;
      this.#open.set(callId, { call, withdrawn: new AbortController() });
    }
    void this.#askAll();
  }

  /** Withdraws all calls. */
  close(): void {
    this.#isClosed = true;
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
        await this.#ask(next.value.call, next.value.withdrawn.signal);
        if (this.#isClosed) return;
      }
    } catch (error) {
      this.#options.onFailed(error);
    } finally {
      this.#isAsking = false;
    }
  }

  async #ask(call: WaitingCall, withdrawn: AbortSignal): Promise<void> {
    const { service, sessionId, decide, onInputClosed, onRefused } = this.#options;
    const { runId, callId, digest } = call;
    const decision = await decide(call, withdrawn);
    this.#open.delete(callId);
    if (withdrawn.aborted) return;
    if (decision === undefined) {
      this.close();
      onInputClosed();
      return;
    }
    this.#answered.add(callId);
    const sent = await service.send({
      type: "approve",
      id: randomUUID(),
      session: sessionId,
      run_id: runId,
      call_id: callId,
      ...(digest === undefined ? {} : { digest }),
      ...decision,
    });
    if (sent.kind !== "done" && sent.kind !== "accepted" && !IGNORED_CODES.includes(sent.code))
      onRefused(call, sent.message);
  }
}
