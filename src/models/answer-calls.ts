/**
 * The calls of tools in one answer. Providers tell them apart by ids that may be missing, or come twice; here each has an
 * id that no other call of the answer or of the conversation before it has, and a place.
 */
import { isDeeperThan, isJsonObject, type JsonObject } from "../protocol/index.ts";
import { KeptMetadata } from "./kept-metadata.ts";
import type { ModelRequest, ModelToolCall, ToolCallPart } from "./model.ts";

/** A call that was begun. */
export interface OpenCall {
  /** The provider's own for it; empty where it has none. */
  readonly id: string;
  /** What the listener is told it by. */
  readonly told: { readonly callId: string; readonly name: string; readonly index: number };
  /** Whether its deltas are the text of its arguments. */
  readonly isJson: boolean;
  readonly deltas: string[];
  /** Of its deltas. */
  characters: number;
  readonly metadata: KeptMetadata;
  whole: ModelToolCall | undefined;
}

export class AnswerCalls {
  readonly #request: ModelRequest;
  readonly #calls: OpenCall[] = [];
  /** Those that are not whole, by the provider's id. More than one where an id came twice. */
  readonly #open = new Map<string, OpenCall[]>();
  readonly #ignored = new Set<string>();
  #used: Set<string> | undefined;

  constructor(request: ModelRequest) {
    this.#request = request;
  }

  get size(): number {
    return this.#calls.length;
  }

  begin(id: string | undefined, name: string, isJson: boolean): OpenCall {
    const call: OpenCall = {
      id: id ?? "",
      told: { callId: this.#chooseId(id), name, index: this.#calls.length },
      isJson,
      deltas: [],
      characters: 0,
      metadata: new KeptMetadata(),
      whole: undefined,
    };
    const same = this.#open.get(call.id);
    if (same === undefined) this.#open.set(call.id, [call]);
    else same.push(call);
    this.#calls.push(call);
    this.#ignored.delete(call.id);
    return call;
  }

  /** The call that a delta under this id belongs to: the one begun last. */
  find(id: string | undefined): OpenCall | undefined {
    return this.#open.get(id ?? "")?.at(-1);
  }

  /** The call that a whole call under this id is: they end in the order they began. */
  findFirst(id: string | undefined, name: string | undefined): OpenCall | undefined {
    return this.#open.get(id ?? "")?.find(({ told }) => told.name === name);
  }

  /** It is the provider's own: what comes under this id is not for us. */
  ignore(id: string | undefined): void {
    this.#ignored.add(id ?? "");
  }

  isIgnored(id: string | undefined): boolean {
    return this.#ignored.has(id ?? "") && !this.#open.has(id ?? "");
  }

  complete(call: OpenCall, rawInput: string): ModelToolCall {
    const same = this.#open.get(call.id) ?? [];
    if (same.length > 1) same.splice(same.indexOf(call), 1);
    else this.#open.delete(call.id);
    return (call.whole = { ...call.told, input: readInput(rawInput), rawInput });
  }

  /** Completes those that are still open, from their deltas. */
  completeAll(): ModelToolCall[] {
    return this.#calls
      .filter((call) => call.whole === undefined)
      .map((call) => this.complete(call, call.deltas.join("")));
  }

  list(): ModelToolCall[] {
    return this.#calls.flatMap((call) => call.whole ?? []);
  }

  /** A call as the conversation holds it. */
  describe(index: number): ToolCallPart {
    const { told, whole, metadata } = this.#calls[index] as OpenCall;
    const input = whole?.input ?? {};
    return { type: "tool-call", toolCallId: told.callId, toolName: told.name, input, ...metadata.describe() };
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

/** Some servers count their calls from 0 in every answer. */
function listCallIds({ messages }: ModelRequest): Set<string> {
  const ids = new Set<string>();
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const part of message.content) if (part.type === "tool-call") ids.add(part.toolCallId);
  }
  return ids;
}

/** Nothing at all is how some providers say that there are no arguments. */
function readInput(text: string): JsonObject | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && !isDeeperThan(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
