/**
 * The parts of a provider's stream, for versions 2 to 4 of the AI SDK specification. Differences between the versions
 * are handled only here.
 */
import type { FinishReason, ModelUsage } from "./model.ts";

/** Any field may be missing or have another type, because the parts come from third-party packages. */
export interface StreamPart {
  readonly type: string;
  readonly id?: string;
  readonly delta?: unknown;
  readonly toolName?: string;
  readonly toolCallId?: string;
  readonly input?: unknown;
  readonly inputEncoding?: string;
  readonly providerExecuted?: boolean;
  readonly providerMetadata?: unknown;
  readonly modelId?: unknown;
  readonly finishReason?: unknown;
  readonly usage?: unknown;
  readonly error?: unknown;
}

const FINISH_REASONS: ReadonlyMap<unknown, FinishReason | "error" | "interrupted"> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool-calls", "tool_calls"],
  ["content-filter", "content_filter"],
  ["error", "error"],
  ["interrupted", "interrupted"],
] as const);

/**
 * Reads a finish reason: a string in version 2, an object since. `interrupted` means that the stream was cut, `error`
 * that the provider failed.
 */
export function readFinishReason(reason: unknown): FinishReason | "error" | "interrupted" {
  const { unified = reason } = isRecord(reason) ? reason : {};
  return FINISH_REASONS.get(unified) ?? "other";
}

/** Reads token counts: numbers in version 2, objects since. */
export function readUsage(usage: unknown): ModelUsage {
  const { inputTokens, outputTokens, totalTokens, cachedInputTokens } = isRecord(usage) ? usage : {};
  const promptTokens = readCount(inputTokens);
  const completionTokens = readCount(outputTokens);
  const sum =
    promptTokens === undefined || completionTokens === undefined ? undefined : promptTokens + completionTokens;
  const cachedTokens = readCount(isRecord(inputTokens) ? inputTokens["cacheRead"] : cachedInputTokens);
  return {
    promptTokens,
    completionTokens,
    totalTokens: readCount(totalTokens) ?? sum,
    ...(cachedTokens === undefined ? {} : { cachedTokens }),
  };
}

function readCount(tokens: unknown): number | undefined {
  const count = isRecord(tokens) ? tokens["total"] : tokens;
  return typeof count === "number" && Number.isFinite(count) && count >= 0 ? Math.round(count) : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
