/**
 * Checks the tool calls of one run:
 *
 *   chunk* → call → (approval → result) → start → (output | progress)* → end
 *
 * A call may end in an error without having started. Frames without a call_id are matched by tool name.
 */
import { BoundedMap } from "../bounded-map.ts";
import { CallKeys, slotOf } from "../call-keys.ts";
import type { LoomEvent, ToolCallEvent } from "../events.generated.ts";
import { isSameJson, type Json, parseJson } from "../json.ts";
import type { IssueReporter } from "./lifecycle-rules.ts";

type CheckedCallState = "streaming" | "called" | "waiting" | "approved" | "rejected" | "started" | "ended";

interface CheckedCall {
  name: string | undefined;
  state: CheckedCallState;
  /**
   * True once tool_call was received. An approval may come earlier, because some dialects show a call only when it
   * starts.
   */
  called: boolean;
  /** Streamed arguments; undefined once they are too long to store. */
  text: string | undefined;
}

const MAX_CALLS = 10_000;
/** In characters, over all open calls of a run. */
const MAX_ARGUMENT_TEXT = 256 * 1024;

export class ToolCallChecker {
  readonly #calls = new BoundedMap<CheckedCall>(MAX_CALLS);
  /** Key of the call whose arguments are being streamed, by node run and index. */
  readonly #streaming = new BoundedMap<string>(MAX_CALLS);
  readonly #keys = new CallKeys();
  /** Characters of streamed arguments in memory, over all open calls. */
  #held = 0;
  readonly #expectsStart: boolean;
  count = 0;

  constructor(expectsStart: boolean) {
    this.#expectsStart = expectsStart;
  }

  check(event: LoomEvent, node: string, report: IssueReporter): void {
    switch (event.type) {
      case "tool_call_chunk": {
        const slot = slotOf(node, event.index);
        const latest = this.#streaming.get(slot);
        const joins =
          latest !== undefined && (event.name === undefined || this.#calls.get(latest)?.name === event.name);
        const key = event.call_id ?? (joins ? latest : `name:${event.name ?? ""}`);
        this.#streaming.set(slot, key);
        let call = this.#calls.get(key);
        if (call === undefined || (call.state === "ended" && event.call_id === undefined))
          call = this.#open(key, event.name, "streaming");
        if (call.state !== "streaming")
          report("tool-call-twice", `arguments of ${label(event)} continue after the call`);
        this.#gather(call, event.arguments_delta);
        this.#checkName(call, event.name, report);
        return;
      }
      case "tool_call": {
        const streamed = event.call_id === undefined ? this.#calls.get(`name:${event.name}`) : undefined;
        const key = this.#keys.keyOf(event, "call");
        let call = this.#calls.get(key);
        // Arguments streamed under the tool name alone belong to the next call of that tool.
        if (streamed?.state === "streaming") {
          this.#calls.delete(`name:${event.name}`);
          this.#calls.set(key, streamed);
          call = streamed;
        }
        if (call !== undefined && (call.called || call.state === "ended")) {
          if (event.call_id !== undefined) report("tool-call-twice", `${label(event)} was already called`);
          call = undefined;
        }
        call ??= this.#open(key, event.name, "streaming");
        this.count++;
        this.#checkName(call, event.name, report);
        checkArguments(call, event, report);
        this.#held -= call.text?.length ?? 0;
        if (call.state === "streaming") call.state = "called";
        call.called = true;
        call.text = "";
        return;
      }
      case "tool_approval": {
        const key = this.#keys.keyOf(event, "before");
        const call = this.#calls.get(key) ?? this.#open(key, event.name, "called");
        this.#checkName(call, event.name, report);
        if (call.state === "started" || call.state === "ended")
          report("tool-approval-late", `${label(event)} has already started`);
        else call.state = "waiting";
        return;
      }
      case "tool_approval_result": {
        const call = this.#calls.get(this.#keys.keyOf(event, "before"));
        if (call?.state !== "waiting") report("tool-approval-unasked", `${label(event)} does not wait for approval`);
        else call.state = event.decision === "approved" ? "approved" : "rejected";
        return;
      }
      case "tool_start":
        this.#start(event, report);
        return;
      case "tool_output":
      case "tool_progress": {
        const call = this.#calls.get(this.#keys.keyOf(event, "running"));
        if (call === undefined && this.#calls.evicted) return;
        if (call?.state !== "started") report("tool-output-unstarted", `${label(event)} is not running`);
        else this.#checkName(call, event.name, report);
        return;
      }
      case "tool_end": {
        const key = this.#keys.keyOf(event, "end");
        const call = this.#calls.get(key);
        if (call === undefined) {
          if (!this.#calls.evicted) report("tool-end-uncalled", `${label(event)} was neither called nor started`);
        } else {
          this.#checkName(call, event.name, report);
          if (call.state === "ended") report("tool-end-twice", `${label(event)} has already ended`);
          else if (call.state !== "started" && !event.is_error && this.#expectsStart) {
            report("tool-end-unstarted", `${label(event)} succeeds without having started`);
          }
        }
        (call ?? this.#open(key, event.name, "ended")).state = "ended";
        return;
      }
      default:
    }
  }

  /** Reports calls that are unfinished at the end of the run. */
  close(report: IssueReporter): void {
    for (const call of this.#calls.values()) {
      const name = call.name ?? "a tool";
      if (call.state === "started") report("tool-unended", `${name} was still running`);
      else if (call.state !== "ended") report("tool-unanswered", `${name} was called but never executed`);
    }
  }

  #start(event: Extract<LoomEvent, { type: "tool_start" }>, report: IssueReporter): void {
    const key = this.#keys.keyOf(event, "start");
    const call = this.#calls.get(key);
    if (call === undefined) {
      if (!this.#calls.evicted) report("tool-start-uncalled", `${label(event)} was not called`);
      this.#open(key, event.name, "started");
      return;
    }
    this.#checkName(call, event.name, report);
    if (call.state === "started") report("tool-start-twice", `${label(event)} is already running`);
    else if (call.state === "ended") report("tool-start-twice", `${label(event)} has ended`);
    else if (call.state === "rejected") report("tool-start-rejected", `${label(event)} was not approved`);
    call.state = "started";
  }

  /** Stores streamed arguments for comparison with the call, up to the limit. */
  #gather(call: CheckedCall, delta: string): void {
    if (call.text === undefined) return;
    if (this.#held + delta.length <= MAX_ARGUMENT_TEXT) {
      this.#held += delta.length;
      call.text += delta;
      return;
    }
    this.#held -= call.text.length;
    call.text = undefined;
  }

  #open(key: string, name: string | undefined, state: CheckedCallState): CheckedCall {
    const call: CheckedCall = { name, state, called: false, text: "" };
    this.#calls.set(key, call);
    return call;
  }

  #checkName(call: CheckedCall, name: string | undefined, report: IssueReporter): void {
    if (name === undefined) return;
    if (call.name !== undefined && call.name !== name)
      report("tool-name", `the call is for ${call.name}, but this frame names ${name}`);
    call.name ??= name;
  }
}

function label(event: { readonly call_id?: string; readonly name?: string }): string {
  if (event.call_id === undefined) return `\`${event.name ?? "a tool"}\``;
  return event.name === undefined ? `call ${event.call_id}` : `\`${event.name}\` (call ${event.call_id})`;
}

/** Checks that the arguments of the call equal the streamed ones. */
function checkArguments(call: CheckedCall, event: ToolCallEvent, report: IssueReporter): void {
  if (call.text === undefined || call.text === "") return;
  if (event.raw_arguments !== undefined) {
    if (event.raw_arguments !== call.text) report("tool-arguments", "raw_arguments differs from the streamed text");
    return;
  }
  const streamed = parseJson(call.text);
  if (streamed === undefined) report("tool-arguments", "the streamed arguments are not JSON");
  else if (!isSameJson(streamed as Json, event.arguments))
    report("tool-arguments", "the arguments differ from the streamed arguments");
}
