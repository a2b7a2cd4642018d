/** Folds the model calls of one turn, in the order they began. */
import type { LlmEndEvent, LlmStartEvent } from "../../protocol/events.generated.ts";
import type { ModelCallView } from "../view.ts";
import { changeEntry, GrowingList, type ViewQuota } from "./growing-list.ts";
import { findDuration, withFields } from "./with-fields.ts";

export class ModelCallFold {
  readonly list: GrowingList<ModelCallView>;
  /** Indexes of the open calls, by call ID. */
  readonly #open = new Map<string, number>();

  constructor(quota: ViewQuota) {
    this.list = new GrowingList(quota);
  }

  start({ llm_call_id: id, model, attempt }: LlmStartEvent, ts: number | undefined): void {
    const index = this.list.length;
    const call = { id, model, attempt, status: "running", startedAt: ts } as const;
    if (this.list.push(withFields({} as ModelCallView, call))) this.#open.set(id, index);
  }

  end(event: LlmEndEvent, ts: number | undefined): void {
    const { llm_call_id: id, model, finish_reason, error, duration_ms } = event;
    // The start may not have been received.
    if (!this.#open.has(id)) this.start({ type: "llm_start", llm_call_id: id }, undefined);
    const index = this.#open.get(id);
    if (index === undefined) return;
    this.#open.delete(id);
    changeEntry(this.list, index, {
      model,
      status: error !== undefined || finish_reason === "error" ? "failed" : "ok",
      finishReason: finish_reason,
      error,
      durationMs: findDuration(duration_ms, this.list.at(index)?.startedAt, ts),
    });
  }
}
