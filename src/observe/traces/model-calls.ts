/**
 * The model calls of a run, each with its span. A call that is tried again keeps its span: it is one thing to whoever
 * waits for it. It starts no span itself.
 *
 * A failed try is therefore kept until it is known whether another follows: the end of its node run says that none does.
 */
import type { EventOf, StampedRecord } from "../../protocol/index.ts";
import type { OpenSpan } from "./open-span.ts";

export interface ModelCall {
  /** See `nameModelCall`. */
  readonly key: string;
  readonly span: OpenSpan;
  readonly nodeId: string;
  readonly startedAt: number;
  /** What it says is in no record: a summary. */
  readonly isSilent: boolean;
  attempts: number;
  firstChunkAt: number | undefined;
  inputTokens: number;
  outputTokens: number;
  hasUsage: boolean;
  /** How the latest try failed, and when. */
  failed: { readonly at: number; readonly message: string; readonly code: string } | undefined;
  /** What was said, where contents are kept. */
  said: SaidPart[];
  characters: number;
}

export interface SaidPart {
  readonly type: "text" | "reasoning" | "tool_call";
  text: string;
  readonly call?: { readonly id: string | undefined; readonly name: string };
}

export class ModelCalls {
  readonly #calls = new Map<string, ModelCall>();
  /** Open calls of a node run: pieces of an answer do not name theirs. */
  readonly #byNode = new Map<string, Set<ModelCall>>();

  get size(): number {
    return this.#calls.size;
  }

  values(): IterableIterator<ModelCall> {
    return this.#calls.values();
  }

  find(key: string): ModelCall | undefined {
    return this.#calls.get(key);
  }

  /** For an end or a usage, which do not say which try they are of. */
  findEnded(llmCallId: string): ModelCall | undefined {
    return this.#calls.get(llmCallId) ?? this.#calls.get(llmCallId.replace(/\.\d+$/, ""));
  }

  add(call: ModelCall): void {
    this.#calls.set(call.key, call);
    let siblings = this.#byNode.get(call.nodeId);
    if (siblings === undefined) this.#byNode.set(call.nodeId, (siblings = new Set()));
    siblings.add(call);
  }

  delete(call: ModelCall): void {
    this.#calls.delete(call.key);
    const siblings = this.#byNode.get(call.nodeId);
    siblings?.delete(call);
    if (siblings?.size === 0) this.#byNode.delete(call.nodeId);
  }

  /** The only call that speaks in the node run of a record; undefined where several do. */
  findOnly({ envelope }: StampedRecord): ModelCall | undefined {
    let only: ModelCall | undefined;
    for (const call of this.#byNode.get(envelope.node_id ?? "") ?? []) {
      if (call.isSilent) continue;
      if (only !== undefined) return undefined;
      only = call;
    }
    return only;
  }

  listFailed(nodeId: string): readonly ModelCall[] {
    return [...(this.#byNode.get(nodeId) ?? [])].filter(({ failed }) => failed !== undefined);
  }
}

/** All tries of a call have one name: the id without the number of the try, where it ends with it. */
export function nameModelCall({ llm_call_id, attempt }: EventOf<"llm_start">): string {
  const end = `.${attempt ?? ""}`;
  return attempt !== undefined && llm_call_id.endsWith(end) ? llm_call_id.slice(0, -end.length) : llm_call_id;
}
