/**
 * The kinds of settings: how a value is parsed and printed. A value is text (from a flag or a variable) or JSON (from
 * the configuration file). This module does not know individual settings.
 */
import { describeValue } from "../../protocol/fault.ts";
import { CliError } from "../command.ts";
import { type Environment, hideCredentials } from "../find-store.ts";
import { MAX_TIMER_MS } from "../../protocol/limit-timer.ts";

export interface SettingKind<T> {
  /** Placeholder of the value in the help text; absent for a boolean. */
  readonly placeholder?: string;
  /** Returns undefined if the value is invalid. */
  read(given: unknown): T | undefined;
  /** Says what is wrong with an invalid value, if there is more to say than `expected`. */
  readonly explain?: (given: unknown) => string | undefined;
  /** Completes the error "VALUE is not …", for example `a port number from 0 to 65535`. */
  readonly expected: string;
  /** All accepted values, if there are few. */
  readonly choices?: readonly string[];
  /** Formats a value so that `read` accepts it. */
  show(value: T): string;
  /** Combines values of two sources. Without it, the first source that has a value wins. */
  merge?(low: T, high: T): T;
  /** In the configuration file, the path is relative to that file. */
  readonly isPath?: boolean;
  /** Values of a path setting that are not paths. */
  readonly words?: readonly string[];
}

export interface Setting<T> {
  readonly kind: SettingKind<T>;
  readonly about: string;
  /** Undefined if there is none; `defaultLabel` then says what applies. */
  readonly defaultValue: T | undefined;
  /** Text shown as the default in Markdown, for a setting without a `defaultValue`. */
  readonly defaultLabel?: string;
  /** Computes the default from the environment, and from the store if that is set. */
  readonly findDefault?: (env: Environment, store?: string) => T;
  /** Has no flag, because other users can see flags, and is never printed. */
  readonly isSecret?: boolean;
}

export interface SettingWithDefault<T> extends Setting<T> {
  readonly defaultValue: T;
}

export interface OptionalSetting<T> extends Setting<T> {
  readonly defaultValue: undefined;
}

/** The type of the value of a setting. */
export type ValueOf<S> =
  S extends SettingWithDefault<infer T> ? T : S extends OptionalSetting<infer T> ? T | undefined : never;

export function define<T>(kind: Setting<T>["kind"], defaultValue: T, about: string): SettingWithDefault<T> {
  return { kind, defaultValue, about };
}

/** Defines a setting without a default value. */
export function defineOptional<T>(kind: Setting<T>["kind"], about: string, defaultLabel?: string): OptionalSetting<T> {
  return { kind, defaultValue: undefined, about, ...(defaultLabel === undefined ? {} : { defaultLabel }) };
}

export const text: SettingKind<string> = {
  placeholder: "TEXT",
  expected: "a non-empty string",
  read: (given) => (typeof given === "string" && given.trim() !== "" ? given : undefined),
  show: (value) => value,
};

/** A string that must pass `isValid`. */
export function textOf(placeholder: string, form: string, isValid: (text: string) => boolean): SettingKind<string> {
  return {
    ...text,
    placeholder,
    expected: form,
    read: (given) => (typeof given === "string" && isValid(given) ? given : undefined),
  };
}

/** A path. Some settings also take the URL of a database, whose password is not shown. */
export const path: SettingKind<string> = {
  ...text,
  placeholder: "PATH",
  expected: "a path",
  isPath: true,
  show: (value) => (/^postgres(?:ql)?:\/\//i.test(value) ? hideCredentials(value) : value),
};

/** Value of a path setting that turns the feature off. */
export const NONE = "none";
export const pathOrNone = pathOr(NONE);

/** A path or one of these words. */
export function pathOr(...words: readonly string[]): SettingKind<string> {
  return { ...path, expected: ["a path", ...words].join(" or "), words };
}

/** An http or https URL. `show` hides the user name and password. */
export const url: SettingKind<string> = {
  ...text,
  show(value) {
    const shown = new URL(value);
    if (shown.username === "" && shown.password === "") return value;
    shown.username = "hidden";
    shown.password = "";
    return shown.href;
  },
  placeholder: "URL",
  expected: "an http:// or https:// URL",
  read: (given) =>
    typeof given === "string" && /^https?:$/.test(URL.parse(given)?.protocol ?? "") ? given : undefined,
};

const WORDS: ReadonlyMap<unknown, boolean> = new Map([
  ...["true", "1", "yes", "on"].map((word) => [word, true] as const),
  ...["false", "0", "no", "off"].map((word) => [word, false] as const),
]);

export const toggle: SettingKind<boolean> = {
  expected: "true or false",
  read: (given) => (typeof given === "boolean" ? given : WORDS.get(typeof given === "string" && given.toLowerCase())),
  show: String,
};

export function chooseOf<T extends string>(...values: readonly T[]): SettingKind<T> {
  return {
    placeholder: "CHOICE",
    expected: `one of ${values.join(", ")}`,
    choices: values,
    read: (given) => values.find((value) => value === given),
    show: (value) => value,
  };
}

export function wholeNumber(noun: string, least: number, most = Number.MAX_SAFE_INTEGER): SettingKind<number> {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  return {
    placeholder: "N",
    expected: `${noun} ${range}`,
    read: (given) => bound(typeof given === "string" && /^\d{1,16}$/.test(given) ? Number(given) : given, least, most),
    show: String,
  };
}

const BYTES: readonly (readonly [unit: string, size: number])[] = [
  ["GB", 1024 ** 3],
  ["MB", 1024 ** 2],
  ["KB", 1024],
];
const TIMES: readonly (readonly [unit: string, size: number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
];

/** A number without a unit is in bytes. */
export const bytes = measure("SIZE", "a size such as 64KB or 10MB", BYTES, 1);
/** A number without a unit is in milliseconds. */
export const duration = measure("TIME", "a duration such as 500ms, 15s, 10m, 24h or 30d", TIMES, 1);
export const durationOrNone = measure("TIME", "a duration such as 500ms, 15s or 10m, or 0", TIMES, 0, MAX_TIMER_MS);
export const timer = measure(
  "TIME",
  "a duration such as 500ms, 15s, 10m or 24h, at most 24 days",
  TIMES,
  1,
  MAX_TIMER_MS,
);

/** A duration of at least `least` milliseconds. */
export function timerFrom(least: number): SettingKind<number> {
  return measure(
    "TIME",
    `a duration from ${timer.show(least)} to 24 days, such as 15s or 10m`,
    TIMES,
    least,
    MAX_TIMER_MS,
  );
}

function measure(
  placeholder: string,
  form: string,
  units: readonly (readonly [unit: string, size: number])[],
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): SettingKind<number> {
  return {
    placeholder,
    expected: form,
    read(given) {
      if (typeof given !== "string") return bound(given, least, most);
      const parts = /^(?<count>\d{1,16})\s*(?<unit>[a-z]*)$/i.exec(given)?.groups ?? {};
      const { count, unit = "" } = parts;
      const size = unit === "" ? 1 : units.find(([name]) => name.toLowerCase() === unit.toLowerCase())?.[1];
      return count === undefined || size === undefined ? undefined : bound(Number(count) * size, least, most);
    },
    show(value) {
      const found = value === 0 ? undefined : units.find(([, size]) => value % size === 0);
      return found === undefined ? String(value) : `${value / found[1]}${found[0]}`;
    },
  };
}

function bound(value: unknown, least: number, most: number): number | undefined {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) return undefined;
  return value >= least && value <= most ? value : undefined;
}

/** A comma-separated list as text, an array in JSON. */
export function listOf(noun: string, isItem: (item: string) => boolean): SettingKind<readonly string[]> {
  return {
    placeholder: "LIST",
    expected: `a comma-separated list of ${noun}`,
    read(given) {
      const items: readonly unknown[] | undefined =
        typeof given === "string"
          ? given.split(",").map((item) => item.trim())
          : Array.isArray(given)
            ? given
            : undefined;
      const isValid = (item: unknown): item is string => typeof item === "string" && item !== "" && isItem(item);
      return items?.every(isValid) === true ? items : undefined;
    },
    show: (value) => value.join(","),
  };
}

/** The environment variable of a setting. */
export function variableOf(key: string): string {
  return `LOOM_${key.toUpperCase().replaceAll("-", "_")}`;
}

/** Reads the value of a setting. `name` is how the user named it. Throws a CliError. */
export function readValue<T>({ kind, isSecret = false }: Setting<T>, name: string, given: unknown): T {
  const value = kind.read(given);
  if (value !== undefined) return value;
  const why = kind.explain?.(given) ?? `${describeGivenValue(given, isSecret)} is not ${kind.expected}`;
  throw new CliError(`${name}: ${why}`);
}

/** Formats an invalid value for an error message: shortened, and never a secret. */
export function describeGivenValue(given: unknown, isSecret: boolean): string {
  if (isSecret) return "the given value";
  return typeof given === "string" ? given.slice(0, 60) : describeValue(given);
}
