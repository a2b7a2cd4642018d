/**
 * The tool approvals of a live run: requests, answers and expiry. Requests and answers are records of the run;
 * `CallWaiters` has the callers that wait for them.
 */
import { dropUndefined } from "../dialects/drop-undefined.ts";
import { type AnyEvent, LoomError } from "../protocol/index.ts";
import type { ToolApprovalEvent, ToolApprovalResultEvent } from "../protocol/events.generated.ts";
import { findToolRule } from "../protocol/tool-rules.ts";
import { CallWaiters } from "./call-waiters.ts";
import type { ApprovalAnswer, OpenToolCall, OpenWork } from "./open-work.ts";
import { digestCall } from "./digest-call.ts";
import type { ApprovalReply, ApprovalRequest, RunHost, Settle } from "./run-contract.ts";
import type { RunOrigin } from "./run-origin.ts";
import type { RunWriter } from "./run-writer.ts";
import type { PushResult } from "./sequencer.ts";

const UNAVAILABLE = {
  approval: [
    "approval_unavailable",
    "This call needs the user's approval, but the user's client cannot answer approvals; it was not run",
  ],
  tools: ["client_unavailable", "The user's client cannot carry out this call; it was not run"],
} as const;

/**
 * Throws `approval_unavailable` or `client_unavailable` if the client that requested the run said that it cannot answer.
 * It can always carry out the tools that it declared itself.
 */
export function assertCapable(
  { capabilities, clientTools }: Pick<RunOrigin, "capabilities" | "clientTools">,
  capability: keyof typeof UNAVAILABLE,
  { callId, name }: Pick<ApprovalRequest, "callId" | "name">,
): void {
  if (capabilities?.includes(capability) !== false) return;
  if (capability === "tools" && clientTools?.some((tool) => tool.name === name) === true) return;
  const [code, message] = UNAVAILABLE[capability];
  throw new LoomError(code, message, { call_id: callId });
}

const APPROVAL_MS = 60 * 60 * 1000;

export class RunApprovals {
  readonly #host: RunHost;
  readonly #writer: RunWriter;
  readonly #work: OpenWork;
  readonly #waiters: CallWaiters<ApprovalAnswer>;
  /** Calls whose answer is written but not yet durable. */
  readonly #answering = new Set<string>();

  constructor(host: RunHost, writer: RunWriter, work: OpenWork) {
    this.#host = host;
    this.#writer = writer;
    this.#work = work;
    this.#waiters = new CallWaiters(host.now, () => this.expire());
    this.#waiters.arm(work.waiting);
  }

  /** Requests an approval unless it was requested before. Resolves to the answer when it is durable. */
  request(request: ApprovalRequest, nodeId: string | undefined): Promise<ApprovalAnswer> {
    if (this.isAllowed(request)) return Promise.resolve({ decision: "approved", arguments: request.arguments });
    const { expiresInMs = APPROVAL_MS } = request;
    const event = this.#writer.check({
      type: "tool_approval",
      call_id: request.callId,
      name: request.name,
      arguments: request.arguments,
      expires_at: this.#host.now() + expiresInMs,
      ...(request.preview === undefined ? {} : { preview: request.preview }),
      ...(request.server === undefined ? {} : { server: request.server }),
    }) as ToolApprovalEvent & { readonly call_id: string };
    // As checked, because the client answers with the digest of what it received.
    const { call_id: callId, name, arguments: args } = event;
    const known = this.#work.findCall(callId);
    if (known?.approvalArguments === undefined) {
      this.#writer.write([{ event: { ...event, digest: digestCall(name, args) }, nodeId }], { isHandled: true });
    } else {
      if (digestCall(known.name, known.approvalArguments) !== digestCall(name, args))
        throw new LoomError(
          "approval_mismatch",
          `An approval for call ${callId} was requested with another tool or other arguments`,
        );
      if (known.answer !== undefined && !this.#answering.has(callId))
        return Promise.resolve(this.#hasLapsed(known) ? { ...known.answer, decision: "expired" } : known.answer);
    }
    return this.#waiters.wait(callId);
  }

  /** True if a user allowed all calls of the tool. Questions that are not tool calls are always asked. */
  isAllowed({ callId, name }: ApprovalRequest): boolean {
    const call = this.#work.findCall(callId);
    return call?.called === true && call.approvalArguments === undefined && this.#host.isAllowed(name);
  }

  /** True if an approval expired before the call was started, for example because the process was down. */
  #hasLapsed({ state, expiresAt }: OpenToolCall): boolean {
    return state === "approved" && expiresAt !== undefined && expiresAt <= this.#host.now();
  }

  /**
   * Answers an approval; the first answer wins. Throws `unknown_call`, `already_answered`, `approval_mismatch` or
   * `forbidden`.
   */
  answer(reply: ApprovalReply, settle: Settle | undefined): PushResult {
    const { callId, name, decision, digest, reason, actor, code } = reply;
    const call = this.#work.findCall(callId);
    if (call?.approvalArguments === undefined && !this.#work.hadApproval(callId))
      throw new LoomError("unknown_call", `No approval was requested for call ${callId}`, { call_id: callId });
    if (call?.state !== "waiting")
      throw new LoomError("already_answered", `Call ${callId} was already answered`, { call_id: callId });
    if (name !== undefined && name !== call.name)
      throw new LoomError("approval_mismatch", `Call ${callId} is a call of ${call.name}, not of ${name}`);
    if (digest !== undefined && digest !== digestCall(call.name, call.approvalArguments))
      throw new LoomError("approval_mismatch", `The digest of the answer does not match call ${callId}`, {
        call_id: callId,
      });
    if (decision === "approved" && findToolRule([reply.toolRules], call.name ?? "") === "deny")
      throw new LoomError("forbidden", `The caller may not use ${call.name}, so it cannot approve the call`, {
        call_id: callId,
      });
    // The clock decides, even if the timer is late.
    if (call.expiresAt !== undefined && call.expiresAt <= this.#host.now()) {
      this.expire();
      throw new LoomError("already_answered", `The approval of call ${callId} has expired`, { call_id: callId });
    }
    const edited = decision === "approved" ? reply.arguments : undefined;
    const event = this.#writer.check({
      type: "tool_approval_result",
      ...dropUndefined({ call_id: callId, name: call.name, decision, reason, arguments: edited, actor, code }),
    });
    return this.#writer.write([{ event, nodeId: this.#writer.insideOf(call.nodeId) }], {
      force: true,
      settle: settle === undefined ? [] : [settle(this.#host.sequencer.nextId)],
    });
  }

  /** Updates the expiry timer, and wakes the callers that wait for an answer. */
  onWritten(event: AnyEvent, pushed: PushResult): void {
    if (event.type !== "tool_approval" && event.type !== "tool_approval_result") return;
    this.#waiters.arm(this.#work.waiting);
    if (event.type === "tool_approval") return;
    const { call_id: callId = "" } = event as ToolApprovalResultEvent;
    const answer = this.#work.findCall(callId)?.answer;
    // An answer is visible only after it is durable.
    this.#answering.add(callId);
    pushed.durable.then(
      () => {
        this.#answering.delete(callId);
        if (answer !== undefined) this.#waiters.answer(callId, answer);
      },
      () => undefined,
    );
  }

  /** Answers expired approvals as `expired`. */
  expire(): void {
    const now = this.#host.now();
    try {
      for (const { callId, name, nodeId, expiresAt } of this.#work.waiting) {
        if (callId === undefined || expiresAt === undefined || expiresAt > now) continue;
        const event = {
          type: "tool_approval_result",
          ...dropUndefined({ call_id: callId, name }),
          decision: "expired",
        };
        this.#writer.write([{ event, nodeId: this.#writer.insideOf(nodeId) }], { force: true });
      }
      this.#waiters.arm(this.#work.waiting);
    } catch {
      // The run has ended, or the log failed and the session ends the run.
    }
  }

  /** Resolves when every approval that is open now has been answered. */
  async allAnswered(): Promise<void> {
    const ids = this.#work.waiting.flatMap(({ callId }) => (callId === undefined ? [] : [callId]));
    await Promise.allSettled(ids.map((callId) => this.#waiters.wait(callId)));
  }

  /** Rejects all callers that wait for an approval. */
  close(error: LoomError): void {
    this.#waiters.close(error);
  }
}
