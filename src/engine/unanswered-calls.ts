/**
 * The tool calls of a live run that wait for an answer: for the approval of a user, or for the result of a client that
 * carries them out. Requests and answers are records of the run. The first answer counts; without one in time, the
 * approval expires, or the call ends as `tool_timeout`.
 *
 * Invariant: an answer is written in one append with the outcome of the command that brought it, and the callers that
 * wait for it continue after that. So an answer counts once, in whichever process the run continues.
 */
import { dropUndefined } from "../protocol/drop-undefined.ts";
import type { Settlement } from "../log/log.ts";
import { describeEdit } from "../protocol/describe-edit.ts";
import type { ToolApprovalEvent, ToolEndEvent } from "../protocol/events.generated.ts";
import { type AnyEvent, LoomError } from "../protocol/index.ts";
import { copyJson, isDeeperThan } from "../protocol/json.ts";
import { limitTimer } from "../protocol/limit-timer.ts";
import { findToolRule } from "../protocol/tool-rules.ts";
import { digestCall } from "./digest-call.ts";
import type { ApprovalAnswer, OpenToolCall, OpenWork } from "./open-work.ts";
import type {
  ApprovalReply,
  ApprovalRequest,
  ClientCallReply,
  ClientCallRequest,
  RunHost,
  Settle,
} from "./run-contract.ts";
import type { RunOrigin } from "./run-origin.ts";
import type { RunWriter } from "./run-writer.ts";
import { markHandled, type PushResult } from "./sequencer.ts";

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

/** How long a call waits unless its request says otherwise. */
const ANSWER_MS = 60 * 60 * 1000;
const NOTHING = "The client returned nothing.";
const FAILED = "The client could not carry out the call and did not say why.";
const EXPIRED = "The client did not return a result in time.";

export class UnansweredCalls {
  readonly #host: RunHost;
  readonly #writer: RunWriter;
  readonly #work: OpenWork;
  readonly #approvals = new AnswerWaiters<ApprovalAnswer>();
  readonly #results = new AnswerWaiters<ToolEndEvent>();
  /** Approvals whose answer is written but not yet durable. */
  readonly #answering = new Set<string>();
  /** Calls that the client carries out, with the node run that waits for each. */
  readonly #nodes = new Map<string, string | undefined>();
  /** Results of the calls that an earlier process handed over. They may arrive before the run waits for them again. */
  readonly #recovered = new Map<string, Promise<ToolEndEvent>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(host: RunHost, writer: RunWriter, work: OpenWork) {
    this.#host = host;
    this.#writer = writer;
    this.#work = work;
    for (const { callId, nodeId } of work.delegated) {
      if (callId === undefined) continue;
      this.#nodes.set(callId, nodeId);
      this.#recovered.set(callId, this.#results.wait(callId));
    }
    this.#arm();
  }

  /** Requests an approval unless it was requested before. Resolves to the answer when it is durable. */
  requestApproval(request: ApprovalRequest, nodeId: string | undefined): Promise<ApprovalAnswer> {
    if (this.isAllowed(request)) return Promise.resolve({ decision: "approved", arguments: request.arguments });
    const { preview, server, expiresInMs = ANSWER_MS } = request;
    const event = this.#writer.check({
      type: "tool_approval",
      call_id: request.callId,
      name: request.name,
      arguments: request.arguments,
      expires_at: this.#host.now() + expiresInMs,
      ...dropUndefined({ preview, server }),
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
    return this.#approvals.wait(callId);
  }

  /** True if a user allowed all calls of the tool. Questions that are not tool calls are always asked. */
  isAllowed({ callId, name }: ApprovalRequest): boolean {
    const call = this.#work.findCall(callId);
    return call?.called === true && call.approvalArguments === undefined && this.#host.isAllowed(name);
  }

  /** True if an approval expired before the call was started, for example because the process was down. */
  #hasLapsed(call: OpenToolCall): boolean {
    return call.state === "approved" && isOver(call, this.#host.now());
  }

  /** Throws `unknown_call`, `already_answered`, `approval_mismatch` or `forbidden`. */
  answerApproval(reply: ApprovalReply, settle: Settle | undefined): PushResult {
    const { callId, name, decision, digest, reason, actor, code } = reply;
    const call = this.#work.findCall(callId);
    if (call?.approvalArguments === undefined && !this.#work.hadApproval(callId))
      throw new LoomError("unknown_call", `No approval was requested for call ${callId}`, { call_id: callId });
    if (call?.state !== "waiting") throw alreadyAnswered(callId, `Call ${callId} was already answered`);
    if (name !== undefined && name !== call.name)
      throw new LoomError("approval_mismatch", `Call ${callId} is a call of ${call.name}, not of ${name}`);
    if (digest !== undefined && digest !== digestCall(call.name, call.approvalArguments))
      throw new LoomError("approval_mismatch", `The digest of the answer does not match call ${callId}`, {
        call_id: callId,
      });
    if (decision === "approved") assertMayUse(call, reply, "approve the call");
    if (this.#expireIfLate(call)) throw alreadyAnswered(callId, `The approval of call ${callId} has expired`);
    const edited = decision === "approved" ? reply.arguments : undefined;
    const event = this.#writer.check({
      type: "tool_approval_result",
      ...dropUndefined({ call_id: callId, name: call.name, decision, reason, arguments: edited, actor, code }),
    });
    return this.#write(event, call.nodeId, settle);
  }

  /** Hands a call to the client. Resolves to its end when that is durable. */
  callClient({ callId, name, expiresInMs = ANSWER_MS }: ClientCallRequest, nodeId: string | undefined) {
    const expires_at = this.#host.now() + expiresInMs;
    const event = this.#writer.check({ type: "tool_start", call_id: callId, name, executor: "client", expires_at });
    this.#writer.write([{ event, nodeId }], { isHandled: true });
    return this.#results.wait(callId);
  }

  /** Returns the result of a call that an earlier process handed over; undefined for any other call. */
  recallClient(callId: string, nodeId: string | undefined): Promise<ToolEndEvent> | undefined {
    if (this.#nodes.has(callId)) this.#nodes.set(callId, nodeId);
    return this.#recovered.get(callId);
  }

  /** Ends a call with the result of the client. Throws `unknown_call`, `already_answered` or `forbidden`. */
  answerCall(reply: ClientCallReply, settle: Settle | undefined): PushResult {
    const { callId } = reply;
    const call = this.#work.findCall(callId);
    if (call?.state !== "delegated")
      throw this.#work.wasDelegated(callId)
        ? alreadyAnswered(callId, `Call ${callId} already has a result`)
        : new LoomError("unknown_call", `No call ${callId} waits for a result of the client`, { call_id: callId });
    assertMayUse(call, reply, "send the result of the call");
    if (this.#expireIfLate(call)) throw alreadyAnswered(callId, `The time for call ${callId} is over`);
    return this.#endCall(call, reply, settle);
  }

  #endCall(
    call: OpenToolCall,
    { callId, output, isError = false, code, actor }: ClientCallReply,
    settle?: Settle,
  ): PushResult {
    // A deeper or circular value would overflow the stack of JSON.stringify.
    if (isDeeperThan(output)) throw new LoomError("invalid_command", "The result of the call is nested too deeply");
    const isText = output === undefined || output === null || typeof output === "string";
    const text = isText ? (output ?? (isError ? FAILED : NOTHING)) : JSON.stringify(output);
    const { approvalArguments, answer, name } = call;
    const isEdited = answer !== undefined && digestCall(name, approvalArguments) !== digestCall(name, answer.arguments);
    const event = this.#writer.check({
      type: "tool_end",
      call_id: callId,
      name: name ?? "",
      result: isEdited ? `${describeEdit(answer.arguments)}\n${text}` : text,
      is_error: isError,
      ...dropUndefined({ output: isText ? undefined : copyJson(output), error_code: code, actor }),
    });
    return this.#write(event, this.#nodes.get(callId) ?? call.nodeId, settle);
  }

  #write(event: AnyEvent, nodeId: string | undefined, settle?: Settle): PushResult {
    const settled: readonly Settlement[] = settle === undefined ? [] : [settle(this.#host.sequencer.nextId)];
    const unit = { event, nodeId: this.#writer.insideOf(nodeId) };
    return this.#writer.write([unit], { force: true, settle: settled });
  }

  /** The clock decides, even if the timer is late. */
  #expireIfLate(call: OpenToolCall): boolean {
    const isLate = isOver(call, this.#host.now());
    if (isLate) this.expire();
    return isLate;
  }

  /** Updates the timer, and wakes the callers that wait for the answer. */
  onWritten(event: AnyEvent, nodeId: string | undefined, pushed: PushResult): void {
    const { type, call_id: callId = "", executor } = event as { type: string; call_id?: string; executor?: string };
    if (type === "tool_approval") this.#arm();
    else if (type === "tool_approval_result") {
      this.#arm();
      const answer = this.#work.findCall(callId)?.answer;
      this.#answering.add(callId);
      whenDurable(pushed, () => {
        this.#answering.delete(callId);
        if (answer !== undefined) this.#approvals.resolve(callId, answer);
      });
    } else if (type === "tool_start" && executor === "client") {
      this.#nodes.set(callId, nodeId);
      this.#arm();
    } else if (type === "tool_end" && this.#nodes.delete(callId)) {
      this.#arm();
      whenDurable(pushed, () => this.#results.resolve(callId, event as ToolEndEvent));
    }
  }

  /** Sets the timer for the call that expires first. */
  #arm(): void {
    clearTimeout(this.#timer);
    const ends = this.#open.flatMap(({ expiresAt }) => (expiresAt === undefined ? [] : [expiresAt]));
    if (ends.length === 0) return;
    const delay = Math.max(1, Math.min(...ends) - this.#host.now());
    this.#timer = setTimeout(() => this.expire(), limitTimer(delay));
    // The call is in the log, so it need not keep the process alive.
    this.#timer.unref();
  }

  get #open(): readonly OpenToolCall[] {
    return [...this.#work.waiting, ...this.#work.delegated];
  }

  /** Answers the calls whose time is over: approvals as `expired`, calls of the client as `tool_timeout`. */
  expire(): void {
    const now = this.#host.now();
    try {
      for (const call of this.#open) {
        const { callId, name, nodeId, state } = call;
        if (callId === undefined || !isOver(call, now)) continue;
        if (state === "delegated")
          this.#endCall(call, { callId, output: EXPIRED, isError: true, code: "tool_timeout" });
        else {
          const answer = { ...dropUndefined({ call_id: callId, name }), decision: "expired" };
          this.#write({ type: "tool_approval_result", ...answer }, nodeId);
        }
      }
      this.#arm();
    } catch {
      // The run has ended, or the log failed and the session ends the run.
    }
  }

  /** Resolves when every call that waits now has an answer. */
  async allAnswered(): Promise<void> {
    const answers = this.#open.flatMap(({ callId, state }): Promise<unknown>[] => {
      if (callId === undefined) return [];
      return [state === "delegated" ? this.#results.wait(callId) : this.#approvals.wait(callId)];
    });
    await Promise.allSettled(answers);
  }

  /** Rejects all callers that wait for an answer. */
  close(error: LoomError): void {
    clearTimeout(this.#timer);
    this.#approvals.close(error);
    this.#results.close(error);
  }
}

/** The callers that wait for answers, by call ID. */
class AnswerWaiters<Answer> {
  readonly #waiters = new Map<string, PromiseWithResolvers<Answer>>();

  wait(callId: string): Promise<Answer> {
    let waiter = this.#waiters.get(callId);
    if (waiter === undefined) {
      waiter = Promise.withResolvers<Answer>();
      this.#waiters.set(callId, waiter);
    }
    return markHandled(waiter.promise);
  }

  resolve(callId: string, answer: Answer): void {
    this.#waiters.get(callId)?.resolve(answer);
    this.#waiters.delete(callId);
  }

  close(error: LoomError): void {
    for (const waiter of this.#waiters.values()) waiter.reject(error);
    this.#waiters.clear();
  }
}

function isOver({ expiresAt }: OpenToolCall, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

/** An answer is visible only after it is durable. */
function whenDurable({ durable }: PushResult, act: () => void): void {
  durable.then(act, () => undefined);
}

/** Throws `forbidden` if the caller that answers may not use the tool. */
function assertMayUse(
  { name }: OpenToolCall,
  { callId, toolRules }: Pick<ApprovalReply, "callId" | "toolRules">,
  what: string,
): void {
  if (findToolRule([toolRules], name ?? "") !== "deny") return;
  throw new LoomError("forbidden", `The caller may not use ${name}, so it cannot ${what}`, { call_id: callId });
}

function alreadyAnswered(callId: string, message: string): LoomError {
  return new LoomError("already_answered", message, { call_id: callId });
}
