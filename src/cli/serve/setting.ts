/**
 * The kinds of settings: how each is written, read and shown. A value comes as text (a flag, a variable) or as JSON (the
 * file); it is read in one way. It knows no setting by name.
 */
import { describeValue } from "../../protocol/index.ts";
import type { Environment } from "../find-store.ts";

export interface SettingKind<T> {
  /** What stands for the value in the usage text; absent for a switch. */
  readonly placeholder?: string;
  /** Undefined for what is no such value. */
  read(given: unknown): T | undefined;
  /** The end of "…is not": `a port, a number from 0 to 65535`. */
  readonly form: string;
  /** As it would be written. */
  show(value: T): string;
  /** Relative to the file it is written in. */
  readonly isPath?: boolean;
  /** The word `none` is no path. */
  readonly allowsNone?: boolean;
}

export interface Setting<T> {
  readonly kind: SettingKind<T>;
  readonly about: string;
  /** Undefined: there is none, and what that means is said by `about`. */
  readonly fallback: T | undefined;
  /** What is in force where there is none, and the environment decides: in words, and as it is here. */
  readonly standIn?: { readonly words: string; find(env: Environment): T };
  /** Never taken from a flag, where everybody sees it, and never shown. */
  readonly isSecret?: boolean;
  readonly group: string;
}

export const text: SettingKind<string> = {
  placeholder: "TEXT",
  form: "a text",
  read: (given) => (typeof given === "string" && given.trim() !== "" ? given : undefined),
  show: (value) => value,
};

/** A text of a form of its own. */
export function textOf(placeholder: string, form: string, isRight: (text: string) => boolean): SettingKind<string> {
  return {
    ...text,
    placeholder,
    form,
    read: (given) => (typeof given === "string" && isRight(given) ? given : undefined),
  };
}

export const path: SettingKind<string> = { ...text, placeholder: "PATH", form: "a path", isPath: true };

/** For a path that may be left out: without one. */
export const NONE = "none";
export const pathOrNone: SettingKind<string> = { ...path, form: "a path, or none", allowsNone: true };

/** An http or https address. A name and a password in it are nobody's to read. */
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
  form: "an address that begins with http:// or https://",
  read: (given) =>
    typeof given === "string" && /^https?:$/.test(URL.parse(given)?.protocol ?? "") ? given : undefined,
};

const WORDS: ReadonlyMap<unknown, boolean> = new Map([
  ...["true", "1", "yes", "on"].map((word) => [word, true] as const),
  ...["false", "0", "no", "off"].map((word) => [word, false] as const),
]);

export const toggle: SettingKind<boolean> = {
  form: "true or false",
  read: (given) => (typeof given === "boolean" ? given : WORDS.get(typeof given === "string" && given.toLowerCase())),
  show: String,
};

export function chooseOf<T extends string>(...values: readonly T[]): SettingKind<T> {
  return {
    placeholder: "WORD",
    form: `one of ${values.join(", ")}`,
    read: (given) => values.find((value) => value === given),
    show: (value) => value,
  };
}

export function wholeNumber(what: string, least: number, most = Number.MAX_SAFE_INTEGER): SettingKind<number> {
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`;
  return {
    placeholder: "N",
    form: `${what}, a number ${range}`,
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

/** Plain numbers are bytes. */
export const bytes = measure("SIZE", "a size as 64KB or 10MB", BYTES, 1);
/** Plain numbers are milliseconds. A longer one than a timer can wait would be none. */
export const duration = measure("TIME", "a time as 500ms, 15s, 10m, 24h or 30d", TIMES, 1);
export const durationOrNone = measure("TIME", "a time as 500ms, 15s or 10m, or 0 for none", TIMES, 0, 2 ** 31 - 1);
export const timer = measure("TIME", "a time as 500ms, 15s, 10m or 24h, of at most 24 days", TIMES, 1, 2 ** 31 - 1);

function measure(
  placeholder: string,
  form: string,
  units: readonly (readonly [unit: string, size: number])[],
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): SettingKind<number> {
  return {
    placeholder,
    form,
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

/** As text with commas between, as JSON a list. */
export function listOf(what: string, isItem: (item: string) => boolean): SettingKind<readonly string[]> {
  return {
    placeholder: "LIST",
    form: `a list of ${what}, with commas between`,
    read(given) {
      const items: readonly unknown[] | undefined =
        typeof given === "string"
          ? given.split(",").map((item) => item.trim())
          : Array.isArray(given)
            ? given
            : undefined;
      const isRight = (item: unknown): item is string => typeof item === "string" && item !== "" && isItem(item);
      return items?.every(isRight) === true ? items : undefined;
    },
    show: (value) => value.join(","),
  };
}

/** For people, short, and never a secret. */
export function describeGiven(given: unknown, isSecret: boolean): string {
  if (isSecret) return "what is given";
  return typeof given === "string" ? given.slice(0, 60) : describeValue(given);
}
