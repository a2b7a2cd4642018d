/**
 * How much a model reasons before it answers. `auto` asks for visible reasoning where the model has it, `off` asks for
 * none, and the others set the effort.
 */
export const REASONING_LEVELS = ["auto", "off", "low", "medium", "high"] as const;

/** How much a model reasons before it answers. */
export type ReasoningLevel = (typeof REASONING_LEVELS)[number];

export function isReasoningLevel(value: unknown): value is ReasoningLevel {
  return (REASONING_LEVELS as readonly unknown[]).includes(value);
}
