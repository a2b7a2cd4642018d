/** Defaults and validation of the options of a model call. */
import { LoomError } from "../protocol/index.ts";
import type { ModelCallOptions } from "./model.ts";

export type CallSettings = Omit<Required<ModelCallOptions>, "signal">;

/** Defaults of `ModelCallOptions`. */
const MODEL_CALL_DEFAULTS = {
  maxRetries: 3,
  retryMs: 500,
  maxRetryMs: 60_000,
  // Some providers send nothing before the first token, and reasoning can take minutes.
  connectTimeoutMs: 120_000,
  idleTimeoutMs: 120_000,
  refusalMs: 600_000,
  maxOutputCharacters: 4_000_000,
  maxToolCalls: 128,
} as const satisfies CallSettings;

/** `Infinity` switches a limit off, except for retries, which must be finite. Timeouts must be above 0. */
const RULES: { readonly [name in keyof CallSettings]: readonly [(value: number) => boolean, string] } = {
  maxRetries: [(value) => Number.isSafeInteger(value) && value >= 0, "an integer of at least 0"],
  retryMs: [(value) => value >= 0, "a number of at least 0"],
  maxRetryMs: [(value) => value >= 0, "a number of at least 0"],
  connectTimeoutMs: [(value) => value > 0, "a number above 0 (Infinity: no limit)"],
  idleTimeoutMs: [(value) => value > 0, "a number above 0 (Infinity: no limit)"],
  refusalMs: [(value) => value >= 1000, "a number of at least 1000 (Infinity: never ask again)"],
  maxOutputCharacters: [(value) => value >= 0, "a number of at least 0"],
  maxToolCalls: [(value) => value >= 0, "a number of at least 0"],
};

/** Fills in the defaults, also for options that are undefined. Throws `invalid_arguments` for an invalid value. */
export function resolveCallSettings(given: ModelCallOptions): CallSettings {
  const settings: { -readonly [name in keyof CallSettings]: number } = { ...MODEL_CALL_DEFAULTS };
  for (const [name, [isRight, what]] of Object.entries(RULES) as [keyof CallSettings, (typeof RULES)["retryMs"]][]) {
    const value: unknown = given[name] ?? settings[name];
    if (typeof value !== "number" || !isRight(value)) {
      throw new LoomError("invalid_arguments", `The model call option ${name} must be ${what}`, {
        option: name,
      });
    }
    settings[name] = value;
  }
  return settings;
}
