/** The model calls of a run with their tokens, times and frames. It draws nothing. */
import type { TurnView } from "loom-agent/client";
import type { ModelCallView } from "../../../src/client/view.ts";
import type { RunIndex } from "./run-index.ts";
import type { UsageStep } from "./run-recording.ts";

export interface ListedCall extends ModelCallView {
  /** Empty: tokens that were reported without a call. */
  readonly id: string;
  readonly prompt: number;
  readonly completion: number;
  /** Part of the prompt that the provider read from its cache. */
  readonly cached: number;
  /** The provider reported its tokens. */
  readonly hasUsage: boolean;
  /** Frame of its start, counted from 0. */
  readonly frame: number;
}

type Tokens = Pick<ListedCall, "prompt" | "completion" | "cached">;

const NO_TOKENS: Tokens = { prompt: 0, completion: 0, cached: 0 };

/** In the order of their frames. */
export function listCalls(
  turn: Pick<TurnView, "modelCalls"> | undefined,
  index: Pick<RunIndex, "calls">,
  usage: readonly UsageStep[],
): readonly ListedCall[] {
  const calls = turn?.modelCalls ?? [];
  const known = new Set(calls.map(({ id }) => id));
  const tokens = new Map<string, Tokens>();
  const others: ListedCall[] = [];
  for (const { callId, frame, prompt, completion, cached } of usage) {
    if (callId === undefined || !known.has(callId)) {
      others.push({ id: "", status: "ok", prompt, completion, cached, hasUsage: true, frame });
      continue;
    }
    const before = tokens.get(callId) ?? NO_TOKENS;
    tokens.set(callId, {
      prompt: before.prompt + prompt,
      completion: before.completion + completion,
      cached: before.cached + cached,
    });
  }
  const listed = calls.map((call, i) => {
    const used = tokens.get(call.id);
    return { ...call, ...(used ?? NO_TOKENS), hasUsage: used !== undefined, frame: index.calls[i]?.frame ?? 0 };
  });
  return [...listed, ...others].toSorted((a, b) => a.frame - b.frame);
}

/** Returns the latest call that started at or before the frame; the first one if all start later. */
export function findCall(calls: readonly ListedCall[], frame: number): ListedCall | undefined {
  const own = calls.filter(({ id }) => id !== "");
  return own.findLast((call) => call.frame <= frame) ?? own[0];
}

/** Shortens a model name whose provider has the same name: `offline/offline` becomes `offline`. */
export function nameModel(model: string): string {
  return model.replace(/^([^/]+)\/\1$/, "$1");
}
