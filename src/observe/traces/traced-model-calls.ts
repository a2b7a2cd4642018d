/**
 * The model calls of a run and their spans. All attempts of a call share one span. It does not start spans.
 *
 * A failed attempt stays open until it is known whether another one follows; the end of its node run means that none
 * does.
 */
import type { EventOf, StampedRecord } from "../../protocol/index.ts";
import type { TraceSpan } from "./trace-span.ts";

export interface TracedModelCall {
  /** See `keyOfModelCall`. */
  readonly key: string;
  readonly span: TraceSpan;
  readonly nodeId: string;
  readonly startedAt: number;
  /** True for a summary, whose output is not recorded. */
  readonly isSilent: boolean;
  attempts: number;
  firstChunkAt: number | undefined;
  inputTokens: number;
  outputTokens: number;
  hasUsage: boolean;
  /** The failure of the latest attempt. */
  failed: { readonly at: number; readonly message: string; readonly code: string } | undefined;
  /** The output, if content capture is enabled. */
  output: OutputPart[];
  characters: number;
}

export interface OutputPart {
  readonly type: "text" | "reasoning" | "tool_call";
  text: string;
  readonly call?: { readonly id: string | undefined; readonly name: string };
}

export class TracedModelCalls {
  readonly #calls = new Map<string, TracedModelCall>();
  /** Open calls by node run, because output chunks do not name their call. */
  readonly #byNode = new Map<string, Set<TracedModelCall>>();

  get size(): number {
    return this.#calls.size;
  }

  values(): IterableIterator<TracedModelCall> {
    return this.#calls.values();
  }

  find(key: string): TracedModelCall | undefined {
    return this.#calls.get(key);
  }

  /** Finds the call of an `llm_end` or `usage` event, which does not name the attempt. */
  findEnded(llmCallId: string): TracedModelCall | undefined {
    return this.#calls.get(llmCallId) ?? this.#calls.get(llmCallId.replace(/\.\d+$/, ""));
  }

  add(call: TracedModelCall): void {
    this.#calls.set(call.key, call);
    let siblings = this.#byNode.get(call.nodeId);
    if (siblings === undefined) this.#byNode.set(call.nodeId, (siblings = new Set()));
    siblings.add(call);
  }

  delete(call: TracedModelCall): void {
    this.#calls.delete(call.key);
    const siblings = this.#byNode.get(call.nodeId);
    siblings?.delete(call);
    if (siblings?.size === 0) this.#byNode.delete(call.nodeId);
  }

  /** Returns the only call with recorded output in the node run of a record; undefined if there are several. */
  findOnly({ envelope }: StampedRecord): TracedModelCall | undefined {
    let only: TracedModelCall | undefined;
    for (const call of this.#byNode.get(envelope.node_id ?? "") ?? []) {
      if (call.isSilent) continue;
      if (only !== undefined) return undefined;
      only = call;
    }
    return only;
  }

  listFailed(nodeId: string): readonly TracedModelCall[] {
    return [...(this.#byNode.get(nodeId) ?? [])].filter(({ failed }) => failed !== undefined);
  }
}

/** Returns the key shared by all attempts of a call: its ID without the attempt number. */
export function keyOfModelCall({ llm_call_id, attempt }: EventOf<"llm_start">): string {
  const end = `.${attempt ?? ""}`;
  return attempt !== undefined && llm_call_id.endsWith(end) ? llm_call_id.slice(0, -end.length) : llm_call_id;
}
