/** The parts a provider would stream for a text, some reasoning, or a call, cut into deltas. */
import type { FinishReason, ModelUsage } from "./model.ts";
import type { StreamPart } from "./stream-part.ts";

export type SpecificationVersion = "v2" | "v3" | "v4";

export function* speakBlock(
  type: "text" | "reasoning",
  id: string,
  deltas: Iterable<string>,
): Generator<StreamPart, void, undefined> {
  yield { type: `${type}-start`, id };
  for (const delta of deltas) yield { type: `${type}-delta`, id, delta };
  yield { type: `${type}-end`, id };
}

export function* speakCall(
  id: string,
  toolName: string,
  deltas: Iterable<string>,
): Generator<StreamPart, void, undefined> {
  yield { type: "tool-input-start", id, toolName };
  let input = "";
  for (const delta of deltas) {
    input += delta;
    yield { type: "tool-input-delta", id, delta };
  }
  yield { type: "tool-input-end", id };
  yield { type: "tool-call", toolCallId: id, toolName, input };
}

/** Versions say the same in different shapes. */
export function speakFinish(reason: FinishReason, usage: ModelUsage, version: SpecificationVersion): StreamPart {
  const unified = reason.replaceAll("_", "-");
  const { promptTokens, completionTokens, totalTokens } = usage;
  return version === "v2"
    ? {
        type: "finish",
        finishReason: unified,
        usage: { inputTokens: promptTokens, outputTokens: completionTokens, totalTokens },
      }
    : {
        type: "finish",
        finishReason: { unified, raw: undefined },
        usage: { inputTokens: { total: promptTokens }, outputTokens: { total: completionTokens } },
      };
}

/** Pieces of at most `size` characters; no character is cut in two. */
export function* cutText(text: string, size: number): Generator<string, void, undefined> {
  let piece = "";
  let length = 0;
  for (const character of text) {
    piece += character;
    if (++length < size) continue;
    yield piece;
    piece = "";
    length = 0;
  }
  if (piece !== "") yield piece;
}

/**
 * Tokens as the models here count them: one for each Chinese character, one for every four of the others. An estimate,
 * so that usage is not empty; no provider counts like this.
 */
function estimateTokens(text: string): number {
  const han = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  return han + Math.ceil((text.length - han) / 4);
}

export function countUsage(prompt: string, answer: string): ModelUsage {
  const promptTokens = estimateTokens(prompt);
  const completionTokens = estimateTokens(answer);
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}
