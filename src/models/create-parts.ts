/** Creates the parts a provider streams for text, reasoning and tool calls. */
import type { FinishReason, ModelUsage } from "./model.ts";
import type { StreamPart } from "./stream-part.ts";

export type SpecificationVersion = "v2" | "v3" | "v4";

/** A complete answer of a model in this process. */
export interface WrittenAnswer {
  readonly modelId: string;
  readonly version: SpecificationVersion;
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: string }[];
  /** Default: `tool_calls` if there are calls, otherwise `stop`. */
  readonly finishReason?: FinishReason | undefined;
  /** What the prompt is counted as; with `usage` for what is known better. */
  readonly prompt: string;
  readonly usage?: Partial<ModelUsage> | undefined;
  /** Splits texts into deltas, and arguments. */
  readonly split: (text: string, isInput: boolean) => Iterable<string>;
}

/** Creates the parts that a provider streams for an answer, after `stream-start`. */
export function* createAnswerParts(answer: WrittenAnswer): Generator<StreamPart, void, undefined> {
  const { modelId, version, reasoning, text, calls, prompt, split, usage, finishReason } = answer;
  yield { type: "response-metadata", modelId };
  if (reasoning !== "") yield* createBlockParts("reasoning", "reasoning", split(reasoning, false));
  if (text !== "") yield* createBlockParts("text", "text", split(text, false));
  for (const { id, name, input } of calls) yield* createCallParts(id, name, split(input, true));
  const counted = countUsage(prompt, [reasoning, text, ...calls.map(({ input }) => input)].join(""));
  const reason = finishReason ?? (calls.length > 0 ? "tool_calls" : "stop");
  yield createFinishPart(reason, { ...counted, ...usage }, version);
}

function* createBlockParts(
  type: "text" | "reasoning",
  id: string,
  deltas: Iterable<string>,
): Generator<StreamPart, void, undefined> {
  yield { type: `${type}-start`, id };
  for (const delta of deltas) yield { type: `${type}-delta`, id, delta };
  yield { type: `${type}-end`, id };
}

function* createCallParts(
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

/** The versions of the specification differ in the format. */
function createFinishPart(reason: FinishReason, usage: ModelUsage, version: SpecificationVersion): StreamPart {
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

/** Splits a text into pieces of at most `size` characters. Surrogate pairs stay together. */
export function* splitText(text: string, size: number): Generator<string, void, undefined> {
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

/** Estimates tokens: one per Chinese character, one per four other characters. No provider counts exactly like this. */
function estimateTokens(text: string): number {
  const han = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  return han + Math.ceil((text.length - han) / 4);
}

function countUsage(prompt: string, answer: string): ModelUsage {
  const promptTokens = estimateTokens(prompt);
  const completionTokens = estimateTokens(answer);
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}
