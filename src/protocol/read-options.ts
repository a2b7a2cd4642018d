/**
 * Reads an object of options by a table that declares each option once: its name, what it accepts and its default.
 * Options inside options have a table too. Knows no particular option.
 *
 * Invariant: an unknown name or a wrong value is never ignored. The error has the path of the option, what is wrong
 * with it and, for a misspelled name, a suggestion.
 */
import { describeValue } from "./fault.ts";
import { findNearest } from "./find-nearest.ts";
import type { JsonObject } from "./json.ts";
import { LoomError } from "./loom-error.ts";

/** What an option accepts. */
export interface OptionRule {
  /** Completes the sentence "The option must be …". */
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
  /** The value of an option that is not given. */
  readonly defaultValue?: unknown;
  /** The words that the option accepts, to suggest one of them. */
  readonly words?: readonly string[];
  /** The options inside the option, if its value is an object. */
  readonly inner?: { readonly table: AnyOptionTable; readonly otherNames: OtherNames };
}

/** The rules of all options of a type. A missing name does not compile. */
export type OptionTable<Options> = { readonly [name in keyof Options]-?: OptionRule };

type AnyOptionTable = { readonly [name: string]: OptionRule };

/** Names that users of other libraries may expect, and the name here. */
export type OtherNames = { readonly [name: string]: string };

/** How `readOptions` reports mistakes. */
export interface ReadOptionsContext {
  /** Where the options are, such as `callOptions`. Default: they are the options of the call itself. */
  readonly path?: string;
  /** What the object is called in messages. Default: its path, or `the options`. */
  readonly what?: string;
  /** Default: none. */
  readonly otherNames?: OtherNames;
  /** Explains an unknown name. Default: the nearest known name is suggested. */
  readonly explain?: (name: string) => string | undefined;
  /** The object also has options of other tables; they are not read. Default: false. */
  readonly isPart?: boolean;
}

/**
 * Returns the given options with the defaults of the table. An option that is undefined counts as missing. Throws
 * `invalid_arguments` with the path of the option in `details.option`.
 */
export function readOptions<Options extends object>(
  table: { readonly [name in keyof Options]-?: OptionRule & { readonly defaultValue: unknown } },
  given: unknown,
  context?: ReadOptionsContext,
): Required<Options>;
export function readOptions<Options extends object>(
  table: OptionTable<Options>,
  given: unknown,
  context?: ReadOptionsContext,
): Options;
export function readOptions(
  table: AnyOptionTable,
  given: unknown,
  {
    path = "",
    what = path === "" ? "the options" : `\`${path}\``,
    otherNames = {},
    explain,
    isPart = false,
  }: ReadOptionsContext = {},
): object {
  if (!isObject(given) || Array.isArray(given))
    throw refuse(path, `${what} must be an object, not ${describeValue(given)}`);
  const read: { [name: string]: unknown } = {};
  for (const [name, { defaultValue }] of Object.entries(table))
    if (defaultValue !== undefined) read[name] = defaultValue;
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const option = path === "" ? name : `${path}.${name}`;
    const rule = Object.hasOwn(table, name) ? table[name] : undefined;
    if (rule !== undefined) read[name] = readValue(option, rule, value);
    else if (!isPart) throw describeUnknown(name, path, table, otherNames, explain?.(name));
  }
  return read;
}

function readValue(option: string, { accepts, expected, words, inner }: OptionRule, value: unknown): unknown {
  if (!accepts(value)) {
    const nearest = typeof value === "string" && words !== undefined ? findNearest(value, words) : undefined;
    const message = `\`${option}\` must be ${expected}, not ${describeValue(value)}`;
    throw refuse(option, message, nearest, JSON.stringify(nearest));
  }
  if (inner === undefined || !isObject(value)) return value;
  return readOptions(inner.table, value, { path: option, otherNames: inner.otherNames });
}

/** With at most this many options, all of them are named if none is similar. */
const MAX_LISTED = 12;

function describeUnknown(
  name: string,
  path: string,
  table: AnyOptionTable,
  otherNames: OtherNames,
  explained: string | undefined,
): LoomError {
  const prefix = path === "" ? "" : `${path}.`;
  const option = prefix + name.slice(0, 60);
  if (explained !== undefined) return refuse(option, explained);
  const names = Object.keys(table);
  const nearest = Object.hasOwn(otherNames, name) ? otherNames[name] : findNearest(name, names);
  const message = `Unknown option \`${option}\``;
  if (nearest === undefined)
    return refuse(option, names.length > MAX_LISTED ? message : `${message}; the options are ${names.join(", ")}`);
  return refuse(option, message, prefix + nearest, `\`${prefix}${nearest}\``);
}

function refuse(option: string, message: string, suggestion?: string, quoted = ""): LoomError {
  const details: JsonObject = {
    ...(option === "" ? {} : { option }),
    ...(suggestion === undefined ? {} : { suggestion }),
  };
  const hint = suggestion === undefined ? "" : `; did you mean ${quoted}?`;
  return new LoomError("invalid_arguments", message + hint, details);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Accepts every value: the code that uses the option checks it. */
export const ANY_OPTION: OptionRule = { expected: "a value", accepts: () => true };
export const BOOLEAN_OPTION: OptionRule = {
  expected: "true or false",
  accepts: (value) => typeof value === "boolean",
};
export const TEXT_OPTION: OptionRule = { expected: "a string", accepts: (value) => typeof value === "string" };
export const FUNCTION_OPTION: OptionRule = {
  expected: "a function",
  accepts: (value) => typeof value === "function",
};
export const TEXTS_OPTION: OptionRule = {
  expected: "an array of strings",
  accepts: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
};

export function acceptInteger(from: number, to: number = Infinity): OptionRule {
  const accepts = (value: unknown): boolean => Number.isSafeInteger(value) && isWithin(value, from, to);
  return { expected: `an integer${describeRange(from, to)}`, accepts };
}

/** Without an upper limit, `Infinity` is accepted. */
export function acceptNumber(from: number, to: number = Infinity): OptionRule {
  return { expected: `a number${describeRange(from, to)}`, accepts: (value) => isWithin(value, from, to) };
}

/** Like `acceptNumber`, without the lower limit itself. */
export function acceptNumberAbove(limit: number, to: number = Infinity): OptionRule {
  const end = to === Infinity ? "" : ` and at most ${to}`;
  return {
    expected: `a number above ${limit}${end}`,
    accepts: (value) => value !== limit && isWithin(value, limit, to),
  };
}

export function acceptOneOf(words: readonly string[]): OptionRule {
  const last = words.at(-1) ?? "";
  const isShort = words.length < 4;
  const expected = isShort ? `${words.slice(0, -1).join(", ")} or ${last}` : `one of ${words.join(", ")}`;
  return { expected, words, accepts: (value) => typeof value === "string" && words.includes(value) };
}

/** Accepts an object with these methods. */
export function acceptMethods(expected: string, ...methods: readonly string[]): OptionRule {
  return { expected, accepts: (value) => hasMethods(value, methods) };
}

/** Accepts a list of objects with these methods. */
export function acceptListOf(expected: string, ...methods: readonly string[]): OptionRule {
  return { expected, accepts: (value) => Array.isArray(value) && value.every((item) => hasMethods(item, methods)) };
}

/** Accepts an object with the options of a table. */
export function acceptObject<Options extends object>(
  table: OptionTable<Options>,
  otherNames: OtherNames = {},
): OptionRule {
  const accepts = (value: unknown): boolean => isObject(value) && !Array.isArray(value);
  return { expected: "an object", accepts, inner: { table, otherNames } };
}

/** Also accepts other values. `others` describes them, such as `true, false`. */
export function orElse(rule: OptionRule, others: string, isOther: (value: unknown) => boolean): OptionRule {
  return {
    ...rule,
    expected: `${others} or ${rule.expected}`,
    accepts: (value) => isOther(value) || rule.accepts(value),
  };
}

export function withDefault<T>(rule: OptionRule, defaultValue: T): OptionRule & { readonly defaultValue: T } {
  return { ...rule, defaultValue };
}

function isWithin(value: unknown, from: number, to: number): boolean {
  return typeof value === "number" && value >= from && value <= to;
}

function describeRange(from: number, to: number): string {
  if (from === -Infinity) return "";
  return to === Infinity ? ` from ${from}` : ` from ${from} to ${to}`;
}

function hasMethods(value: unknown, methods: readonly string[]): boolean {
  return (
    isObject(value) &&
    methods.every((name) => typeof (value as { readonly [name: string]: unknown })[name] === "function")
  );
}
