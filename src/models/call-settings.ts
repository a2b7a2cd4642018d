/** The options of a call with their defaults. A number that makes no sense is refused, before anybody is asked. */
import { LoomError } from "../protocol/index.ts";
import type { ModelCallOptions } from "./model.ts";

export type CallSettings = Omit<Required<ModelCallOptions>, "signal">;

export const MODEL_CALL_DEFAULTS = {
  maxRetries: 3,
  retryMs: 500,
  maxRetryMs: 60_000,
  // Some providers give no sign of life before the first token, and reasoning may take its time.
  connectTimeoutMs: 120_000,
  idleTimeoutMs: 120_000,
  maxOutputCharacters: 4_000_000,
  maxToolCalls: 128,
} as const satisfies CallSettings;

/** `Infinity` is no limit; only tries must come to an end. A time of 0 would be over before it began. */
const RULES: { readonly [name in keyof CallSettings]: readonly [(value: number) => boolean, string] } = {
  maxRetries: [(value) => Number.isSafeInteger(value) && value >= 0, "a whole number from 0 on"],
  retryMs: [(value) => value >= 0, "a number from 0 on"],
  maxRetryMs: [(value) => value >= 0, "a number from 0 on"],
  connectTimeoutMs: [(value) => value > 0, "a number above 0; Infinity is no limit"],
  idleTimeoutMs: [(value) => value > 0, "a number above 0; Infinity is no limit"],
  maxOutputCharacters: [(value) => value >= 0, "a number from 0 on"],
  maxToolCalls: [(value) => value >= 0, "a number from 0 on"],
};

/** An option that is there and undefined is not there: it would switch a limit off. */
export function completeOptions(given: ModelCallOptions): CallSettings {
  const settings: { -readonly [name in keyof CallSettings]: number } = { ...MODEL_CALL_DEFAULTS };
  for (const [name, [isRight, what]] of Object.entries(RULES) as [keyof CallSettings, (typeof RULES)["retryMs"]][]) {
    const value: unknown = given[name] ?? settings[name];
    if (typeof value !== "number" || !isRight(value)) {
      throw new LoomError("invalid_arguments", `The option ${name} of a model's call has to be ${what}.`, {
        option: name,
      });
    }
    settings[name] = value;
  }
  return settings;
}
