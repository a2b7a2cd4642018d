/** The model calls of a run with their tokens, times and frames. It draws nothing. */
import type { TurnView } from "loom-agent/client";
import type { ModelCallView } from "../../../src/client/view.ts";
import type { RunIndex } from "./run-index.ts";
import type { UsageStep } from "./run-recording.ts";

export interface ListedCall extends ModelCallView {
  readonly prompt: number;
  readonly completion: number;
  /** Part of the prompt that the provider read from its cache. */
  readonly cached: number;
  /** The provider reported its tokens. */
  readonly hasUsage: boolean;
  /** Frame of its start, counted from 0. */
  readonly frame: number;
}

export function listCalls(
  turn: Pick<TurnView, "modelCalls"> | undefined,
  index: Pick<RunIndex, "calls">,
  usage: readonly UsageStep[],
): readonly ListedCall[] {
  const tokens = new Map<string, Pick<ListedCall, "prompt" | "completion" | "cached">>();
  for (const { callId, prompt, completion, cached } of usage) {
    if (callId === undefined) continue;
    const known = tokens.get(callId) ?? { prompt: 0, completion: 0, cached: 0 };
    tokens.set(callId, {
      prompt: known.prompt + prompt,
      completion: known.completion + completion,
      cached: known.cached + cached,
    });
  }
  return (turn?.modelCalls ?? []).map((call, i) => {
    const used = tokens.get(call.id);
    const { prompt = 0, completion = 0, cached = 0 } = used ?? {};
    return { ...call, prompt, completion, cached, hasUsage: used !== undefined, frame: index.calls[i]?.frame ?? 0 };
  });
}

/** Returns the latest call that started at or before the frame; the first one if all start later. */
export function findCall(calls: readonly ListedCall[], frame: number): ListedCall | undefined {
  return calls.findLast((call) => call.frame <= frame) ?? calls[0];
}
