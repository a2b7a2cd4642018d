/**
 * A tool call, from the first piece of its arguments to its result. Arguments and output are appended as they arrive
 * and parsed only when the call is shown.
 */
import type { EventOf, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import type { ToolCallEvent } from "../../protocol/events.generated.ts";
import { PartialJson } from "../../protocol/partial-json.ts";
import type { ApprovalView, ToolCall, ToolPart, ToolResult } from "../view.ts";
import type { PartCell } from "./part-cell.ts";
import type { TurnQuota } from "./turn-quota.ts";
import { findDuration, makeView, withFields } from "./with-fields.ts";
import { cutText } from "../../protocol/cut-text.ts";

/** Events that follow a tool_call. */
export type CallEvent = EventOf<
  "tool_approval" | "tool_approval_result" | "tool_start" | "tool_progress" | "tool_output" | "tool_end"
>;

const NO_ARGUMENTS: JsonObject = {};

export class ToolCell implements PartCell {
  readonly #quota: TurnQuota;
  index: number;
  /** Index among the message's tool calls. */
  callIndex: number;
  readonly nodeKey: string | undefined;
  /** Call ID on the wire, if there is one. */
  callId: string | undefined;
  name: string | undefined;
  /** The tool_call was received, so the arguments are complete. */
  isCalled = false;
  isEnded = false;
  isChanged = false;
  nextChanged: PartCell | undefined;
  #isStarted = false;
  /** The attempt that runs the call's node again. */
  #attempt: number | undefined;
  #argumentsText = "";
  #unread = "";
  #reader: PartialJson | undefined;
  #output = "";
  #call: ToolCall;
  #part: ToolPart;

  constructor(
    key: string,
    [index, callIndex]: readonly [part: number, call: number],
    nodeKey: string | undefined,
    toolId: string,
    name: string | undefined,
    quota: TurnQuota,
  ) {
    this.#quota = quota;
    this.index = index;
    this.callIndex = callIndex;
    this.nodeKey = nodeKey;
    this.name = name;
    this.#call = {
      toolId,
      toolName: name ?? "",
      arguments: NO_ARGUMENTS,
      argumentsText: "",
      argumentsInvalid: false,
      status: "streaming",
      output: "",
    };
    this.#part = makeView<ToolPart>({ type: "tool", key, nodeKey, call: this.#call });
  }

  /**
   * A call that had not started is made again by the next attempt, under another ID. A call that had started is not: its
   * result is used, or its outcome is unknown.
   */
  get isSuperseded(): boolean {
    const { status, error } = this.#call;
    if (this.#attempt === undefined) return false;
    if (!this.isEnded) return status === "streaming";
    return !this.#isStarted && (error?.code ?? status) === "interrupted";
  }

  supersede(attempt: number): void {
    this.#attempt = attempt;
  }

  /** Sets the name and ID, which may arrive after the first frame of the call. */
  identify(name: string | undefined, toolId?: string): void {
    this.name ??= name;
    this.#set({ toolName: this.name, toolId });
  }

  /** Appends a piece of the arguments. */
  stream(delta: string): void {
    if (this.isCalled) return;
    const piece = this.#cut(delta, this.#argumentsText);
    this.#argumentsText += piece;
    this.#unread += piece;
  }

  /** Sets the complete arguments. */
  call({ arguments: given, description, server, raw_arguments }: ToolCallEvent): void {
    this.isCalled = true;
    this.#settleArguments(given, raw_arguments);
    this.#set({ status: this.#call.status === "streaming" ? "ready" : undefined, description, server });
  }

  apply(event: CallEvent, ts: number | undefined): void {
    const { status, startedAt, approval } = this.#call;
    const isOpen = status === "streaming" || status === "ready";
    switch (event.type) {
      case "tool_approval": {
        const { arguments: given, expires_at, digest, preview, server } = event;
        // Some dialects announce a call only when it starts, so the approval request comes first.
        if (!this.isCalled) this.#settleArguments(given, undefined);
        this.#set({
          status: isOpen ? "awaiting_approval" : undefined,
          server,
          approval: withFields<ApprovalView>(
            { decision: "pending", arguments: given },
            { expiresAt: expires_at, digest, preview },
          ),
        });
        return;
      }
      case "tool_approval_result": {
        const { decision, reason, arguments: edited, actor } = event;
        if (edited !== undefined) this.#settleArguments(edited, undefined);
        this.#read();
        const known = approval ?? { decision, arguments: this.#call.arguments };
        this.#set({
          status:
            isOpen || status === "awaiting_approval" ? (decision === "approved" ? "ready" : "rejected") : undefined,
          approval: withFields<ApprovalView>(known, { decision, arguments: edited, reason, actor }),
        });
        return;
      }
      case "tool_start":
        this.#isStarted = true;
        if (!this.isEnded)
          this.#set({ status: event.executor === "client" ? "awaiting_client" : "running", startedAt: ts });
        this.#decide("approved");
        return;
      case "tool_progress":
        this.#set({ progress: event.progress, progressMessage: event.message });
        return;
      case "tool_output":
        this.#output += this.#cut(event.content, this.#output);
        return;
      default: {
        const { result: text, is_error, output: data, summary, error_code: code, duration_ms } = event;
        const isAsked = status === "awaiting_approval";
        const isRefused = isAsked || status === "rejected" || code === "tool_rejected" || code === "approval_expired";
        this.isEnded = true;
        this.#decide(!isAsked || !is_error ? "approved" : code === "approval_expired" ? "expired" : "rejected");
        this.#set({
          status: !is_error ? "success" : isRefused ? "rejected" : "failed",
          result: makeView<ToolResult>({ text, data }),
          summary,
          error: is_error ? makeView<NonNullable<ToolCall["error"]>>({ message: text, code }) : undefined,
          durationMs: findDuration(duration_ms, startedAt, ts),
        });
      }
    }
  }

  finish(): boolean {
    const before = this.#call;
    this.#decide("expired");
    if (!this.isEnded && before.status !== "rejected") this.#set({ status: "interrupted" });
    this.isEnded = true;
    return this.#call !== before;
  }

  show(): ToolPart {
    this.#read();
    // A text only grows, so comparing lengths is enough.
    if (this.#call.output.length !== this.#output.length) this.#set({ output: this.#output });
    const call = this.#call;
    const { type, key, nodeKey, call: before, supersededBy: marked } = this.#part;
    const supersededBy = this.isSuperseded ? this.#attempt : undefined;
    if (call !== before || supersededBy !== marked)
      this.#part = makeView<ToolPart>({ type, key, nodeKey, call, supersededBy });
    return this.#part;
  }

  /** Parses the argument pieces received since the last call. */
  #read(): void {
    if (this.#unread === "") return;
    const reader = (this.#reader ??= new PartialJson());
    reader.push(this.#unread);
    this.#unread = "";
    const { value } = reader;
    const isObject = isJsonObject(value);
    const given = isObject ? value : NO_ARGUMENTS;
    const argumentsText = this.#argumentsText;
    const argumentsInvalid = reader.state === "invalid" || (value !== undefined && !isObject);
    this.#call = { ...this.#call, arguments: given, argumentsText, argumentsInvalid };
  }

  #set(fields: { readonly [K in keyof ToolCall]?: ToolCall[K] | undefined }): void {
    this.#call = withFields(this.#call, fields);
  }

  /** Infers a pending decision from what happened next. */
  #decide(decision: ApprovalView["decision"]): void {
    const { approval } = this.#call;
    if (approval?.decision === "pending") this.#set({ approval: { ...approval, decision } });
  }

  #settleArguments(given: JsonObject, raw: string | undefined): void {
    this.#unread = "";
    this.#reader = undefined;
    if (raw !== undefined) this.#argumentsText = cutText(raw, this.#quota.maxText);
    this.#set({ arguments: given, argumentsText: this.#argumentsText, argumentsInvalid: raw !== undefined });
  }

  /** Shortens a piece so that `text` stays within the limit. */
  #cut(piece: string, { length }: string): string {
    const quota = this.#quota.maxText - length;
    if (piece.length > quota) this.#quota.omit();
    return cutText(piece, quota);
  }
}
