/**
 * The tool calls of a live run that the client carries out: handed over with `tool_start`, ended by the first result, or
 * when their time is over. Both are records of the run; `CallWaiters` has the callers that wait for them.
 *
 * Invariant: a call is handed over once, and its `tool_end` is written in one append with the outcome of the command
 * that brought the result. So a result counts once, in whichever process the run continues.
 */
import { dropUndefined } from "../dialects/drop-undefined.ts";
import { type AnyEvent, LoomError } from "../protocol/index.ts";
import type { ToolEndEvent } from "../protocol/events.generated.ts";
import { describeEdit } from "../protocol/describe-edit.ts";
import { copyJson, isDeeperThan } from "../protocol/json.ts";
import { findToolRule } from "../protocol/tool-rules.ts";
import { CallWaiters } from "./call-waiters.ts";
import { digestCall } from "./digest-call.ts";
import type { OpenToolCall, OpenWork } from "./open-work.ts";
import type { ClientCallReply, ClientCallRequest, RunHost, Settle } from "./run-contract.ts";
import type { RunWriter } from "./run-writer.ts";
import type { PushResult } from "./sequencer.ts";

const CLIENT_MS = 60 * 60 * 1000;
const NOTHING = "The client returned nothing.";
const FAILED = "The client could not carry out the call and did not say why.";
const EXPIRED = "The client did not return a result in time.";

export class RunClientCalls {
  readonly #host: RunHost;
  readonly #writer: RunWriter;
  readonly #work: OpenWork;
  readonly #waiters: CallWaiters<ToolEndEvent>;
  /** Open calls, with the node run that waits for each. */
  readonly #nodes = new Map<string, string | undefined>();
  /** Results of the calls that an earlier process handed over. They may arrive before the run waits for them again. */
  readonly #recovered = new Map<string, Promise<ToolEndEvent>>();

  constructor(host: RunHost, writer: RunWriter, work: OpenWork) {
    this.#host = host;
    this.#writer = writer;
    this.#work = work;
    this.#waiters = new CallWaiters(host.now, () => this.expire());
    for (const { callId, nodeId } of work.delegated) {
      if (callId === undefined) continue;
      this.#nodes.set(callId, nodeId);
      this.#recovered.set(callId, this.#waiters.wait(callId));
    }
    this.#arm();
  }

  /** Hands a call to the client. Resolves to its end when that is durable. */
  start({ callId, name, expiresInMs = CLIENT_MS }: ClientCallRequest, nodeId: string | undefined) {
    const expires_at = this.#host.now() + expiresInMs;
    const event = this.#writer.check({ type: "tool_start", call_id: callId, name, executor: "client", expires_at });
    this.#writer.write([{ event, nodeId }], { isHandled: true });
    return this.#waiters.wait(callId);
  }

  /** Returns the result of a call that an earlier process handed over; undefined for any other call. */
  recall(callId: string, nodeId: string | undefined): Promise<ToolEndEvent> | undefined {
    if (this.#nodes.has(callId)) this.#nodes.set(callId, nodeId);
    return this.#recovered.get(callId);
  }

  /** Ends a call with a result; the first one counts. Throws `unknown_call`, `already_answered` or `forbidden`. */
  answer(reply: ClientCallReply, settle: Settle | undefined): PushResult {
    const { callId, toolRules } = reply;
    const call = this.#work.findCall(callId);
    if (call?.state !== "delegated") throw this.#refuse(callId);
    if (findToolRule([toolRules], call.name ?? "") === "deny")
      throw new LoomError(
        "forbidden",
        `The caller may not use ${call.name}, so it cannot send the result of the call`,
        {
          call_id: callId,
        },
      );
    // The clock decides, even if the timer is late.
    if (call.expiresAt !== undefined && call.expiresAt <= this.#host.now()) {
      this.expire();
      throw new LoomError("already_answered", `The time for call ${callId} is over`, { call_id: callId });
    }
    return this.#end(call, reply, settle === undefined ? [] : [settle(this.#host.sequencer.nextId)]);
  }

  #refuse(callId: string): LoomError {
    return this.#work.wasDelegated(callId)
      ? new LoomError("already_answered", `Call ${callId} already has a result`, { call_id: callId })
      : new LoomError("unknown_call", `No call ${callId} waits for a result of the client`, { call_id: callId });
  }

  #end(
    call: OpenToolCall,
    { callId, output, isError = false, code, actor }: ClientCallReply,
    settle: readonly ReturnType<Settle>[] = [],
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
    const nodeId = this.#writer.insideOf(this.#nodes.get(callId) ?? call.nodeId);
    return this.#writer.write([{ event, nodeId }], { force: true, settle });
  }

  /** Updates the timer, and wakes the callers that wait for a result. */
  onWritten(event: AnyEvent, nodeId: string | undefined, pushed: PushResult): void {
    const { type, call_id: callId, executor } = event as { type: string; call_id?: string; executor?: string };
    if (callId === undefined) return;
    if (type === "tool_start" && executor === "client") {
      this.#nodes.set(callId, nodeId);
      this.#arm();
    } else if (type === "tool_end" && this.#nodes.delete(callId)) {
      this.#arm();
      // A result is visible only after it is durable.
      pushed.durable.then(
        () => this.#waiters.answer(callId, event as ToolEndEvent),
        () => undefined,
      );
    }
  }

  #arm(): void {
    this.#waiters.arm(this.#nodes.size === 0 ? [] : this.#work.delegated);
  }

  /** Ends the calls whose time is over, as `tool_timeout`. */
  expire(): void {
    const now = this.#host.now();
    try {
      for (const call of this.#work.delegated) {
        const { callId, expiresAt } = call;
        if (callId === undefined || expiresAt === undefined || expiresAt > now) continue;
        this.#end(call, { callId, output: EXPIRED, isError: true, code: "tool_timeout" });
      }
      this.#arm();
    } catch {
      // The run has ended, or the log failed and the session ends the run.
    }
  }

  /** Resolves when every call that is open now has ended. */
  async allAnswered(): Promise<void> {
    await Promise.allSettled([...this.#nodes.keys()].map((callId) => this.#waiters.wait(callId)));
  }

  /** Rejects all callers that wait for a result. */
  close(error: LoomError): void {
    this.#waiters.close(error);
  }
}
