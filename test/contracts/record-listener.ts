/** A listener for tests that records its calls. */
import type { ModelListener } from "../../src/models/model.ts";

export type ListenerCall = [what: string, first?: unknown, second?: unknown];

export function recordListener(also: Partial<ModelListener> = {}): {
  readonly recorded: ListenerCall[];
  readonly listener: ModelListener;
} {
  const recorded: ListenerCall[] = [];
  const listener: ModelListener = {
    onStart(info) {
      recorded.push(["start", info.attempt]);
      return also.onStart?.(info);
    },
    onText(delta) {
      recorded.push(["text", delta]);
      return also.onText?.(delta);
    },
    onReasoning(delta) {
      recorded.push(["reasoning", delta]);
      return also.onReasoning?.(delta);
    },
    onReasoningEnd() {
      recorded.push(["reasoningEnd"]);
      also.onReasoningEnd?.();
    },
    onToolInput(call, delta) {
      recorded.push(["input", call, delta]);
      return also.onToolInput?.(call, delta);
    },
    onToolCall(call) {
      recorded.push(["call", call]);
      return also.onToolCall?.(call);
    },
  };
  return { recorded, listener };
}
