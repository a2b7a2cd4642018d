/** Folds what users decided in a session outside its runs: tools they allowed, and feedback on answers. */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { FeedbackEvent, ToolPermissionEvent } from "../../protocol/events.generated.ts";
import type { FeedbackView } from "../view.ts";
import { makeView } from "./with-fields.ts";

export class DecisionFold {
  readonly #allowed: BoundedMap<true>;
  readonly #feedback: BoundedMap<FeedbackView>;
  /** Undefined until the first permission. */
  allowedTools: readonly string[] | undefined;
  /** Undefined until the first feedback. */
  feedback: readonly FeedbackView[] | undefined;

  constructor(maxItems: number) {
    this.#allowed = new BoundedMap(maxItems);
    this.#feedback = new BoundedMap(maxItems);
  }

  apply(event: ToolPermissionEvent | FeedbackEvent): void {
    if (event.type === "tool_permission") {
      this.#allowed.delete(event.name);
      if (event.rule === "allow") this.#allowed.set(event.name, true);
      this.allowedTools = [...this.#allowed.keys()];
      return;
    }
    const { target_run_id: runId, rating, comment, actor } = event;
    this.#feedback.delete(runId);
    if (rating !== "none") this.#feedback.set(runId, makeView<FeedbackView>({ runId, rating, comment, actor }));
    this.feedback = [...this.#feedback.values()];
  }
}
