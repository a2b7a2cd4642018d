/**
 * Remembers what the provider of a model refused, such as a reasoning level or structured output. Requests leave it out
 * until the refusal expires; then the provider is asked again.
 */
import type { LanguageModel } from "./model.ts";

/** When refusals expire, by feature; garbage-collected with the model. */
const expiries = new WeakMap<LanguageModel, Map<string, number>>();

export const STRUCTURED_OUTPUT = "structured output";

export function isRefused(model: LanguageModel, feature: string): boolean {
  return (expiries.get(model)?.get(feature) ?? 0) > performance.now();
}

export function recordRefusal(model: LanguageModel, feature: string, refusalMs: number): void {
  const ofModel = expiries.get(model) ?? new Map<string, number>();
  expiries.set(model, ofModel.set(feature, performance.now() + refusalMs));
}
