/**
 * The tool calls of a LangGraph run. Events come out in an order that a run accepts, whatever the framework repeats:
 * interrupted nodes run again.
 */
import { isDeepStrictEqual } from "node:util";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { SourceCall, SourceEvent } from "../source.ts";
import { kindOf, type MessageFields, textOf, toPlainJson } from "./langchain-message.ts";

export interface GraphCall {
  /** ID in the events of the source. */
  readonly callId: string;
  readonly name: string;
  readonly input: JsonObject;
  isStarted: boolean;
  /** True if an approval was requested. */
  isAsked: boolean;
  isRejected: boolean;
}

/** What a new call needs. */
export interface NewGraphCall extends Pick<GraphCall, "callId" | "name" | "input"> {
  /** The text of the model, if it was not a JSON object. */
  readonly rawInput?: string | undefined;
  readonly description?: string | undefined;
  readonly node: string | undefined;
}

export class GraphCalls {
  readonly #emit: (event: SourceEvent, node: string | undefined) => void;
  /** Calls without a result, by the ID of the framework. */
  readonly #open = new Map<string, GraphCall>();

  constructor(emit: (event: SourceEvent, node: string | undefined) => void) {
    this.#emit = emit;
  }

  /** Takes over a call that an earlier process of the run left open. */
  adopt({ callId, name, arguments: input }: SourceCall): void {
    this.#open.set(callId, { callId, name, input: input ?? {}, isStarted: false, isAsked: false, isRejected: false });
  }

  /** Adds a call. `id` is the one by which the framework reports its result. */
  add(id: string, { callId, name, input, rawInput, description, node }: NewGraphCall): GraphCall {
    const call = { callId, name, input, isStarted: false, isAsked: false, isRejected: false };
    this.#open.set(id, call);
    this.#emit(
      dropUndefined({
        type: "tool_call",
        call_id: callId,
        name,
        arguments: input,
        raw_arguments: rawInput,
        description,
      }),
      node,
    );
    return call;
  }

  /** Returns the call with these arguments that may still be asked about. */
  findUnasked(name: string, input: JsonObject): GraphCall | undefined {
    const isIt = (call: GraphCall): boolean =>
      call.name === name && !call.isStarted && !call.isAsked && isDeepStrictEqual(call.input, input);
    return [...this.#open.values()].find(isIt);
  }

  start(id: unknown, node: string | undefined): void {
    const call = this.#open.get(String(id));
    if (call === undefined || call.isStarted) return;
    call.isStarted = true;
    this.#emit({ type: "tool_start", call_id: call.callId, name: call.name }, node);
  }

  /** Adds output of a running call. Returns false if there is no such call. */
  output(id: unknown, content: string, node: string | undefined): boolean {
    const call = this.#open.get(String(id));
    if (call === undefined) return false;
    this.start(id, node);
    this.#emit({ type: "tool_output", call_id: call.callId, name: call.name, content }, node);
    return true;
  }

  /** Ends the call of a tool message. Returns false if there is no such call. */
  finish(message: MessageFields, node: string | undefined): boolean {
    const id = this.#findId(message);
    if (id === undefined) return false;
    const { status, artifact } = message;
    const { isRejected } = this.#open.get(id) as GraphCall;
    const output = artifact === undefined ? undefined : toPlainJson(artifact);
    const isError = status === "error" || isRejected;
    this.end(id, dropUndefined({ result: resultOf(message), isError, output }), node);
    return true;
  }

  /** Ends a call. */
  end(
    id: string,
    { result, isError, output }: { readonly result: string; readonly isError: boolean; readonly output?: unknown },
    node: string | undefined,
  ): void {
    const call = this.#open.get(id);
    if (call === undefined) return;
    this.#open.delete(id);
    this.#emit(
      dropUndefined({
        type: "tool_end",
        call_id: call.callId,
        name: call.name,
        result,
        is_error: isError,
        output,
        ...(call.isRejected ? { error_code: "tool_rejected" } : {}),
      }) as SourceEvent,
      node,
    );
  }

  /** A call that was only known from its approval ends with the first result of its tool. */
  #findId({ tool_call_id: id, name }: MessageFields): string | undefined {
    if (typeof id === "string" && this.#open.has(id)) return id;
    for (const [key, call] of this.#open) if (call.isAsked && key === call.callId && call.name === name) return key;
    return undefined;
  }
}

function resultOf(message: MessageFields): string {
  const text = textOf(message);
  if (text !== "" || typeof message.content === "string") return text;
  return JSON.stringify(toPlainJson(message.content) ?? kindOf(message));
}
