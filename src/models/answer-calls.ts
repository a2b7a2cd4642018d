/**
 * Collects the tool calls of one model answer. Provider IDs may be missing or repeated, so each call gets an ID that is
 * unique within the answer and the conversation before it, and an index.
 */
import type { JsonObject } from "../protocol/index.ts";
import { isDeeperThan, isJsonObject, mayHaveUnpairedSurrogate, repairJson } from "../protocol/json.ts";
import { ProviderMetadata } from "./provider-metadata.ts";
import type { ModelRequest, ModelToolCall, ToolCallPart } from "./model.ts";

/** A tool call while it is streamed. */
export interface StreamedToolCall {
  /** The ID the provider sent; empty if it sent none. */
  readonly id: string;
  /** What the listener receives with each delta of this call. */
  readonly info: { readonly callId: string; readonly name: string; readonly index: number };
  /** Whether the deltas are the JSON text of the arguments. */
  readonly isJson: boolean;
  readonly deltas: string[];
  /** Total length of the deltas. */
  characters: number;
  readonly metadata: ProviderMetadata;
  completed: ModelToolCall | undefined;
}

export class AnswerCalls {
  readonly #request: ModelRequest;
  readonly #calls: StreamedToolCall[] = [];
  /** Incomplete calls by provider ID. A list, because a provider may repeat an ID. */
  readonly #open = new Map<string, StreamedToolCall[]>();
  readonly #ignored = new Set<string>();
  #used: Set<string> | undefined;

  constructor(request: ModelRequest) {
    this.#request = request;
  }

  get size(): number {
    return this.#calls.length;
  }

  begin(id: string | undefined, name: string, isJson: boolean): StreamedToolCall {
    const call: StreamedToolCall = {
      id: id ?? "",
      info: { callId: this.#chooseId(id), name, index: this.#calls.length },
      isJson,
      deltas: [],
      characters: 0,
      metadata: new ProviderMetadata(),
      completed: undefined,
    };
    const same = this.#open.get(call.id);
    if (same === undefined) this.#open.set(call.id, [call]);
    else same.push(call);
    this.#calls.push(call);
    this.#ignored.delete(call.id);
    return call;
  }

  /** Returns the call a delta with this ID belongs to: the one that began last. */
  find(id: string | undefined): StreamedToolCall | undefined {
    return this.#open.get(id ?? "")?.at(-1);
  }

  /** Returns the call that a complete call with this ID and name finishes. Calls finish in the order they began. */
  findFirst(id: string | undefined, name: string | undefined): StreamedToolCall | undefined {
    return this.#open.get(id ?? "")?.find(({ info }) => info.name === name);
  }

  /** Ignores everything with this id: the provider runs that tool itself. */
  ignore(id: string | undefined): void {
    this.#ignored.add(id ?? "");
  }

  isIgnored(id: string | undefined): boolean {
    return this.#ignored.has(id ?? "") && !this.#open.has(id ?? "");
  }

  complete(call: StreamedToolCall, rawInput: string): ModelToolCall {
    const same = this.#open.get(call.id) ?? [];
    if (same.length > 1) same.splice(same.indexOf(call), 1);
    else this.#open.delete(call.id);
    return (call.completed = { ...call.info, input: readToolInput(rawInput), rawInput });
  }

  /** Completes the calls that are still open from their deltas. */
  completeAll(): ModelToolCall[] {
    return this.#calls
      .filter((call) => call.completed === undefined)
      .map((call) => this.complete(call, call.deltas.join("")));
  }

  list(): ModelToolCall[] {
    return this.#calls.flatMap((call) => call.completed ?? []);
  }

  /** Returns the call as a part of the conversation. */
  toPart(index: number): ToolCallPart {
    const { info, completed, metadata } = this.#calls[index] as StreamedToolCall;
    const input = completed?.input ?? {};
    return { type: "tool-call", toolCallId: info.callId, toolName: info.name, input, ...metadata.toOptions() };
  }

  #chooseId(id: string | undefined): string {
    const used = (this.#used ??= listCallIds(this.#request));
    let chosen = id ?? "";
    while (chosen.trim() === "" || used.has(chosen)) {
      chosen = `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
    }
    used.add(chosen);
    return chosen;
  }
}

/** Some servers count their call IDs from 0 in every answer, so IDs of earlier calls are taken. */
function listCallIds({ messages }: ModelRequest): Set<string> {
  const ids = new Set<string>();
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const part of message.content) if (part.type === "tool-call") ids.add(part.toolCallId);
  }
  return ids;
}

/**
 * Reads the arguments of a call. Returns undefined if they are not a JSON object. Some providers send an empty text for
 * a call without arguments.
 */
export function readToolInput(text: string): JsonObject | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value) || isDeeperThan(value)) return undefined;
    // The tool receives what the log shows, which has no unpaired surrogates.
    return mayHaveUnpairedSurrogate(text) ? repairJson(value) : value;
  } catch {
    return undefined;
  }
}
