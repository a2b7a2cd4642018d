/**
 * The questions of a live run to its user: asked once, answered once, and run out by the clock. What was asked and
 * answered is in the records; who waits for it is in `Approvals`. It does not know what is asked about.
 */
import { given } from "../dialects/given.ts";
import { type AnyEvent, findToolRule, LoomError, type ToolApprovalResultEvent } from "../protocol/index.ts";
import { Approvals } from "./approvals.ts";
import type { ApprovalAnswer, OpenCall, OpenWork } from "./open-work.ts";
import { digestCall } from "./digest-call.ts";
import type { ApprovalReply, ApprovalRequest, RunHost, Settle } from "./run-contract.ts";
import type { RunWriter } from "./run-writer.ts";
import type { Pushed } from "./sequencer.ts";

const APPROVAL_MS = 60 * 60 * 1000;

export class Questions {
  readonly #host: RunHost;
  readonly #writer: RunWriter;
  readonly #work: OpenWork;
  readonly #approvals: Approvals;
  /** Calls whose answer is on its way into the log. */
  readonly #answering = new Set<string>();

  constructor(host: RunHost, writer: RunWriter, work: OpenWork) {
    this.#host = host;
    this.#writer = writer;
    this.#work = work;
    this.#approvals = new Approvals(host.now, () => this.expire());
    this.#approvals.arm(work.waiting);
  }

  /** Asks, unless it was asked before; resolves to the answer once it is durable. */
  ask(request: ApprovalRequest, nodeId: string | undefined): Promise<ApprovalAnswer> {
    const { callId, name, arguments: asked, expiresInMs = APPROVAL_MS } = request;
    const known = this.#work.findCall(callId);
    if (known?.asked === undefined) {
      const expires_at = this.#host.now() + expiresInMs;
      const digest = digestCall(name, asked);
      const event = { type: "tool_approval", call_id: callId, name, arguments: asked, expires_at, digest } as const;
      this.#writer.write([{ event: this.#writer.check(event), nodeId }], { isAwaited: true });
    } else {
      if (digestCall(known.name, known.asked) !== digestCall(name, asked))
        throw new LoomError("approval_mismatch", `call ${callId} was asked about with another tool or arguments`);
      if (known.answer !== undefined && !this.#answering.has(callId))
        return Promise.resolve(this.#isOver(known) ? { ...known.answer, decision: "expired" } : known.answer);
    }
    return this.#approvals.wait(callId);
  }

  /** A yes that nobody made use of in time, since the process was gone, is none any more. */
  #isOver({ state, expiresAt }: OpenCall): boolean {
    return state === "approved" && expiresAt !== undefined && expiresAt <= this.#host.now();
  }

  /** The first answer wins. Throws `already_answered`, `unknown_call`, `approval_mismatch` or `forbidden`. */
  answer(reply: ApprovalReply, settle: Settle | undefined): Pushed {
    const { callId, name, decision, digest, reason, actor } = reply;
    const call = this.#work.findCall(callId);
    if (call?.asked === undefined && !this.#work.wasAsked(callId))
      throw new LoomError("unknown_call", `nobody was asked about call ${callId}`, { call_id: callId });
    if (call?.state !== "waiting")
      throw new LoomError("already_answered", `call ${callId} was answered before`, { call_id: callId });
    if (name !== undefined && name !== call.name)
      throw new LoomError("approval_mismatch", `call ${callId} is of ${call.name}, not of ${name}`);
    if (digest !== undefined && digest !== digestCall(call.name, call.asked))
      throw new LoomError("approval_mismatch", `call ${callId} is not what the answer is about`, { call_id: callId });
    if (decision === "approved" && findToolRule([reply.toolRules], call.name ?? "") === "deny")
      throw new LoomError("forbidden", `whoever answers may not use ${call.name}`, { call_id: callId });
    // It runs out by the clock, not by when somebody looks at it.
    if (call.expiresAt !== undefined && call.expiresAt <= this.#host.now()) {
      this.expire();
      throw new LoomError("already_answered", `the question about call ${callId} has run out`, { call_id: callId });
    }
    const edited = decision === "approved" ? reply.arguments : undefined;
    const event = this.#writer.check({
      type: "tool_approval_result",
      ...given({ call_id: callId, name: call.name, decision, reason, arguments: edited, actor }),
    });
    return this.#writer.write([{ event, nodeId: this.#writer.insideOf(call.nodeId) }], {
      force: true,
      settle: settle === undefined ? [] : [settle(this.#host.sequencer.nextId)],
    });
  }

  /** Sees what was written: sets the clock for a question, and tells who waits for an answer. */
  onWritten(event: AnyEvent, pushed: Pushed): void {
    if (event.type !== "tool_approval" && event.type !== "tool_approval_result") return;
    this.#approvals.arm(this.#work.waiting);
    if (event.type === "tool_approval") return;
    const { call_id: callId = "" } = event as ToolApprovalResultEvent;
    const answer = this.#work.findCall(callId)?.answer;
    // First durable, then seen.
    this.#answering.add(callId);
    pushed.durable.then(
      () => {
        this.#answering.delete(callId);
        if (answer !== undefined) this.#approvals.answer(callId, answer);
      },
      () => undefined,
    );
  }

  /** Answers the questions that have run out. */
  expire(): void {
    const now = this.#host.now();
    try {
      for (const { callId, name, nodeId, expiresAt } of this.#work.waiting) {
        if (callId === undefined || expiresAt === undefined || expiresAt > now) continue;
        const event = { type: "tool_approval_result", ...given({ call_id: callId, name }), decision: "expired" };
        this.#writer.write([{ event, nodeId: this.#writer.insideOf(nodeId) }], { force: true });
      }
      this.#approvals.arm(this.#work.waiting);
    } catch {
      // The run is over, or the log failed, and the session ends the run.
    }
  }

  /** Resolves when none that is open now is open any more. */
  async answered(): Promise<void> {
    const ids = this.#work.waiting.flatMap(({ callId }) => (callId === undefined ? [] : [callId]));
    await Promise.allSettled(ids.map((callId) => this.#approvals.wait(callId)));
  }

  /** Nobody will be answered any more. */
  close(error: LoomError): void {
    this.#approvals.close(error);
  }
}
