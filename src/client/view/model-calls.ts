/** The model calls of one turn, in the order they began. */
import type { LlmEndEvent, LlmStartEvent } from "../../protocol/index.ts";
import type { ModelCallView } from "../view.ts";
import { changeEntry, GrowingList, type Room } from "./growing-list.ts";
import { findDuration, withFields } from "./with-fields.ts";

export class ModelCalls {
  readonly list: GrowingList<ModelCallView>;
  /** Places of those that are open. */
  readonly #open = new Map<string, number>();

  constructor(room: Room) {
    this.list = new GrowingList(room);
  }

  start({ llm_call_id: id, model, attempt }: LlmStartEvent, ts: number | undefined): void {
    const place = this.list.length;
    const call = { id, model, attempt, status: "running", startedAt: ts } as const;
    if (this.list.push(withFields({} as ModelCallView, call))) this.#open.set(id, place);
  }

  end(event: LlmEndEvent, ts: number | undefined): void {
    const { llm_call_id: id, model, finish_reason, error, duration_ms } = event;
    // Its beginning may not have been received.
    if (!this.#open.has(id)) this.start({ type: "llm_start", llm_call_id: id }, undefined);
    const place = this.#open.get(id);
    if (place === undefined) return;
    this.#open.delete(id);
    changeEntry(this.list, place, {
      model,
      status: error !== undefined || finish_reason === "error" ? "failed" : "ok",
      finishReason: finish_reason,
      error,
      durationMs: findDuration(duration_ms, this.list.at(place)?.startedAt, ts),
    });
  }
}
