/**
 * Reads an object of options by a table that declares each option once: its name, what it accepts and its default.
 * Options inside options have a table too. Knows no particular option.
 *
 * ```ts
 * const TABLE = { retries: withDefault(acceptInteger(0), 3), mode: acceptOneOf(["slow", "fast"]) };
 * readOptions(TABLE, { mode: "fast" }); // { retries: 3, mode: "fast" }
 * readOptions(TABLE, { retrys: 5 }); // throws: Unknown option `retrys`; did you mean `retries`?
 * ```
 *
 * Invariant: an unknown name or a wrong value is never ignored. The error has the path of the option, what is wrong
 * with it and, for a misspelled name, a suggestion.
 */
import type { ErrorCode } from "./error-codes.ts";
import { describeValue } from "./fault.ts";
import { findNearest } from "./find-nearest.ts";
import type { JsonObject } from "./json.ts";
import { LoomError } from "./loom-error.ts";

/** What an option accepts. `Value` is the type of its values; `never` for a rule that does not know their type. */
export interface OptionRule<Value = unknown> {
  /** Completes the sentence "The option must be …". */
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
  /** The value of an option that is not given. */
  readonly defaultValue?: Value;
  /** The words that the option accepts, to suggest one of them. */
  readonly words?: readonly string[];
  /** What a list accepts as an item, to name the item that is wrong. */
  readonly acceptsItem?: (item: unknown) => boolean;
  /** The options inside the option, if its value is an object. Their defaults apply only if the object is given. */
  readonly inner?: { readonly table: AnyOptionTable; readonly otherNames: OtherNames };
}

/** The rules of all options of a type. A missing name and a rule for values of another type do not compile. */
export type OptionTable<Options> = {
  readonly [name in keyof Options]-?: OptionRule<Exclude<Options[name], undefined>>;
};

type AnyOptionTable = { readonly [name: string]: OptionRule };

/** The options that a table reads. Those with a default are always there. */
export type OptionsOf<Table extends AnyOptionTable> = {
  readonly [name in keyof Table as HasDefault<Table[name]> extends true ? name : never]: OptionValue<Table[name]>;
} & {
  readonly [name in keyof Table as HasDefault<Table[name]> extends true ? never : name]?: OptionValue<Table[name]>;
};

type HasDefault<Rule> = Rule extends { readonly defaultValue: unknown } ? true : false;
type OptionValue<Rule> = Rule extends OptionRule<infer Value> ? Value : never;

/** Names that users of other libraries may expect, and the name here. */
export type OtherNames = { readonly [name: string]: string };

/** How `readOptions` reports mistakes. */
export interface ReadOptionsContext {
  /** Where the options are, such as `callOptions`. Default: they are the options of the call itself. */
  readonly path?: string;
  /** Default: none. */
  readonly otherNames?: OtherNames;
  /** Explains an unknown name. Default: the nearest known name is suggested. */
  readonly explain?: (name: string) => string | undefined;
  /** The object also has options of other tables; they are not read. Default: false. */
  readonly isPart?: boolean;
  /** Default: `invalid_arguments`. */
  readonly code?: ErrorCode;
  /** What the names stand for, in messages. Default: `option`. */
  readonly noun?: string;
  /** What the options belong to, such as `Tool "search"`. Messages begin with it. Default: they begin with the option. */
  readonly subject?: string;
}

/**
 * Returns the given options with the defaults of the table. An option that is undefined counts as missing. Throws
 * `invalid_arguments`, or the code of the context, with the path of the option in `details.option`.
 */
export function readOptions<Table extends AnyOptionTable>(
  table: Table,
  given: unknown,
  context: ReadOptionsContext = {},
): OptionsOf<Table> {
  const { path = "", isPart = false } = context;
  if (!isOptionsObject(given))
    throw refuse(
      context,
      path,
      `${path === "" ? "The options" : `\`${path}\``} must be an object, not ${describe(given)}`,
    );
  const read: { [name: string]: unknown } = {};
  for (const [name, { defaultValue }] of Object.entries(table))
    if (defaultValue !== undefined) read[name] = defaultValue;
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const option = path === "" ? name : `${path}.${name}`;
    const rule = Object.hasOwn(table, name) ? table[name] : undefined;
    if (rule !== undefined) read[name] = readValue(option, rule, value, context);
    else if (!isPart) throw describeUnknown(name, table, context);
  }
  return read as OptionsOf<Table>;
}

function readValue(option: string, rule: OptionRule, value: unknown, context: ReadOptionsContext): unknown {
  const { accepts, acceptsItem, expected, words, inner } = rule;
  if (!accepts(value)) {
    const isList = acceptsItem !== undefined && Array.isArray(value);
    const found = isList ? `an array with ${describe(value.find((item) => !acceptsItem(item)))}` : describe(value);
    const nearest = typeof value === "string" && words !== undefined ? findNearest(value, words) : undefined;
    throw refuse(context, option, `\`${option}\` must be ${expected}, not ${found}`, nearest, JSON.stringify(nearest));
  }
  if (inner === undefined || !isOptionsObject(value)) return value;
  const { code = "invalid_arguments" } = context;
  return readOptions(inner.table, value, { code, path: option, otherNames: inner.otherNames });
}

/** With at most this many options, all of them are named if none is similar. */
const MAX_LISTED = 12;

function describeUnknown(name: string, table: AnyOptionTable, context: ReadOptionsContext): LoomError {
  const { path = "", otherNames = {}, explain, noun = "option", subject } = context;
  const prefix = path === "" ? "" : `${path}.`;
  const option = prefix + name.slice(0, 60);
  const explained = explain?.(name);
  if (explained !== undefined) return refuse(context, option, explained);
  const names = Object.keys(table);
  const nearest = Object.hasOwn(otherNames, name) ? otherNames[name] : findNearest(name, names);
  const message = `${subject === undefined ? "Unknown" : "unknown"} ${noun} \`${option}\``;
  if (nearest !== undefined) return refuse(context, option, message, prefix + nearest, `\`${prefix}${nearest}\``);
  const isLong = names.length > MAX_LISTED;
  return refuse(context, option, isLong ? message : `${message}; the ${noun}s are ${names.join(", ")}`);
}

function refuse(
  { code = "invalid_arguments", subject }: ReadOptionsContext,
  option: string,
  message: string,
  suggestion?: string,
  quoted = "",
): LoomError {
  const details: JsonObject = {
    ...(option === "" ? {} : { option }),
    ...(suggestion === undefined ? {} : { suggestion }),
  };
  const hint = suggestion === undefined ? "" : `; did you mean ${quoted}?`;
  const start = subject === undefined ? "" : `${subject}: `;
  return new LoomError(code, start + message + hint, details);
}

function describe(value: unknown): string {
  return value === undefined ? "undefined" : describeValue(value);
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null;
}

/** A promise has no options, so that one without `await` would count as an object without mistakes. */
function isOptionsObject(value: unknown): value is object {
  return isObject(value) && !Array.isArray(value) && typeof value["then"] !== "function";
}

/** Accepts every value: the code that uses the option checks it. */
export const ANY_OPTION: OptionRule<never> = { expected: "a value", accepts: () => true };
export const BOOLEAN_OPTION: OptionRule<boolean> = { expected: "true or false", accepts: isBoolean };
export const TEXT_OPTION: OptionRule<string> = { expected: "a string", accepts: isText };
export const TEXTS_OPTION: OptionRule<readonly string[]> = acceptListOf("an array of strings", isText);
/** Accepts a time. `Infinity` means no limit. */
export const MILLISECONDS_OPTION: OptionRule<number> = {
  ...acceptNumber(0),
  expected: "a number of milliseconds from 0",
};
export const FUNCTION_OPTION: OptionRule<never> = { expected: "a function", accepts: isFunction };
/** Accepts an object with any names, such as HTTP headers. */
export const OBJECT_OPTION: OptionRule<never> = { expected: "an object", accepts: isOptionsObject };

export function acceptInteger(from: number = -Infinity, to: number = Infinity): OptionRule<number> {
  const accepts = (value: unknown): boolean => Number.isSafeInteger(value) && isWithin(value, from, to);
  return { expected: `an integer${describeRange(from, to)}`, accepts };
}

/** Without an upper limit, `Infinity` is accepted. */
export function acceptNumber(from: number = -Infinity, to: number = Infinity): OptionRule<number> {
  return { expected: `a number${describeRange(from, to)}`, accepts: (value) => isWithin(value, from, to) };
}

/** Like `acceptNumber`, without the lower limit itself. */
export function acceptNumberAbove(limit: number, to: number = Infinity): OptionRule<number> {
  const end = to === Infinity ? "" : ` and at most ${to}`;
  return {
    expected: `a number above ${limit}${end}`,
    accepts: (value) => value !== limit && isWithin(value, limit, to),
  };
}

export function acceptOneOf<const Word extends string>(words: readonly Word[]): OptionRule<Word> {
  const last = words.at(-1) ?? "";
  const isShort = words.length < 4;
  const expected = isShort ? `${words.slice(0, -1).join(", ")} or ${last}` : `one of ${words.join(", ")}`;
  return { expected, words, accepts: (value) => words.some((word) => word === value) };
}

/** Accepts an object with these methods. */
export function acceptMethods(expected: string, ...methods: readonly string[]): OptionRule<never> {
  return { expected, accepts: (value) => hasMethods(value, ...methods) };
}

/** Accepts a list of such items. */
export function acceptListOf(expected: string, acceptsItem: (item: unknown) => boolean): OptionRule<never> {
  return {
    expected,
    acceptsItem,
    accepts: (value) => Array.isArray(value) && value.every((item) => acceptsItem(item)),
  };
}

/** Accepts an object with the options of a table. */
export function acceptObject<Options extends object>(
  table: OptionTable<Options>,
  otherNames: OtherNames = {},
): OptionRule<Options> {
  return { expected: "an object", accepts: isOptionsObject, inner: { table, otherNames } };
}

/** Also accepts other values. `others` describes them, such as `true, false`. */
export function orElse<Value, Other>(
  rule: OptionRule<Value>,
  others: string,
  isOther: (value: unknown) => value is Other,
): OptionRule<Value | Other> {
  const accepts = (value: unknown): boolean => isOther(value) || rule.accepts(value);
  return { ...rule, expected: `${others} or ${rule.expected}`, accepts };
}

export function withDefault<Value>(
  rule: OptionRule<Value>,
  defaultValue: NoInfer<Value>,
): OptionRule<Value> & { readonly defaultValue: Value } {
  return { ...rule, defaultValue };
}

function isWithin(value: unknown, from: number, to: number): boolean {
  return typeof value === "number" && value >= from && value <= to;
}

function describeRange(from: number, to: number): string {
  if (from === -Infinity) return "";
  return to === Infinity ? ` from ${from}` : ` from ${from} to ${to}`;
}

export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => isFunction(value[name]));
}

export function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}
