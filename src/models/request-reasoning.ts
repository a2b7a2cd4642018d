/**
 * Translates a reasoning level into the settings of each provider. A model that refuses them is called again without
 * them, and they are left out until the refusal expires.
 *
 * Invariant: settings that the caller chose for a provider are never replaced.
 */
import { isReasoningLevel, type ReasoningLevel } from "../protocol/reasoning-level.ts";
import type { LanguageModel, ModelRequest, ModelSettings } from "./model.ts";
import { isRefused, type ModelFault } from "./model-fault.ts";

const REFUSAL_STATUS: ReadonlySet<unknown> = new Set([400, 403, 404, 422]);

/** Models of Anthropic without thinking. Newer ones have it. */
const WITHOUT_THINKING = /claude-(?:instant|v?2|3(?!-7))/;

/** Returns the settings of a request with its reasoning level in the form of the provider. */
export function translateReasoning(model: LanguageModel, request: ModelRequest): ModelSettings {
  const { settings = {} } = request;
  const { reasoning: level, ...others } = settings;
  if (level === undefined || !isReasoningLevel(level)) return settings;
  const isOff = request.isReasoningRefused === true;
  const effort = isOff ? undefined : findEffort(model, request, level);
  const given = effort === undefined ? others : { ...others, reasoning: effort };
  if (!model.provider.endsWith(".responses")) return given;
  // Without `store` the encrypted reasoning is part of the answer, so that the conversation does not depend on what
  // the provider keeps.
  const own = { store: false, ...(isOff ? {} : { reasoningSummary: level === "off" ? null : "auto" }) };
  const { providerOptions } = others;
  return { ...given, providerOptions: { ...providerOptions, openai: { ...own, ...providerOptions?.["openai"] } } };
}

/** The `reasoning` of AI SDK version 4, or undefined to leave the effort to the provider. */
function findEffort(model: LanguageModel, request: ModelRequest, level: ReasoningLevel): string | undefined {
  if (model.provider.includes("anthropic")) {
    if (WITHOUT_THINKING.test(model.modelId)) return undefined;
    // Thinking and a forced tool call exclude each other.
    const { toolChoice = "auto" } = request;
    if (level !== "off" && toolChoice !== "auto" && toolChoice !== "none") return undefined;
    // Without an effort there is no thinking.
    if (level === "auto") return "medium";
  }
  if (level === "auto") return undefined;
  return level === "off" ? "none" : level;
}

/** Returns the request without its reasoning level while the provider refuses it. */
export function leaveOutRefused(model: LanguageModel, request: ModelRequest): ModelRequest {
  const level = request.settings?.reasoning;
  const isOff = isReasoningLevel(level) && isRefused(model, nameLevel(level));
  return isOff ? { ...request, isReasoningRefused: true } : request;
}

/** Returns the reasoning that the provider probably refused in this request, as a name for users. */
export function findRefusedReasoning(
  model: LanguageModel,
  request: ModelRequest,
  { error }: ModelFault,
): string | undefined {
  const level = request.settings?.reasoning;
  if (!isReasoningLevel(level) || request.isReasoningRefused === true) return undefined;
  const isSent = model.provider.endsWith(".responses") || findEffort(model, request, level) !== undefined;
  if (!isSent || !REFUSAL_STATUS.has(error.details["status"])) return undefined;
  return /reasoning|thinking|effort/i.test(error.message) ? nameLevel(level) : undefined;
}

function nameLevel(level: ReasoningLevel): string {
  return `the reasoning level ${level}`;
}
