/** A listener that writes down what it is told, for tests of models. */
import type { ModelListener } from "./model.ts";

export type Told = [what: string, first?: unknown, second?: unknown];

export function recordListener(also: Partial<ModelListener> = {}): {
  readonly told: Told[];
  readonly listener: ModelListener;
} {
  const told: Told[] = [];
  const listener: ModelListener = {
    onStart(info) {
      told.push(["start", info.attempt]);
      return also.onStart?.(info);
    },
    onText(delta) {
      told.push(["text", delta]);
      return also.onText?.(delta);
    },
    onReasoning(delta) {
      told.push(["reasoning", delta]);
      return also.onReasoning?.(delta);
    },
    onReasoningEnd() {
      told.push(["reasoningEnd"]);
      also.onReasoningEnd?.();
    },
    onToolInput(call, delta) {
      told.push(["input", call, delta]);
      return also.onToolInput?.(call, delta);
    },
    onToolCall(call) {
      told.push(["call", call]);
      return also.onToolCall?.(call);
    },
  };
  return { told, listener };
}
