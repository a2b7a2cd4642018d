/**
 * Takes secrets out of what is logged or traced: by the name they stand under, and by how they look. It knows no event.
 *
 * Invariant: of a text that is cut, the word at the cut is left out where it is no longer than a key, so that no half of
 * one is left which looks like none; what lies deeper or is more than the limits is left out whole.
 */
import type { Json } from "../../protocol/index.ts";
import { hideNamed } from "./hide-named.ts";
import { createSecretNames } from "./secret-names.ts";

export interface RedactOptions {
  /** More names whose values are never shown, in values and in texts; case, `-`, `_` and spaces do not matter. */
  readonly keys?: readonly string[];
  /** More looks of secrets: each match is taken out. */
  readonly patterns?: readonly RegExp[];
}

export interface RedactLimits {
  /** Of one text, and of all texts of one value together. */
  readonly maxCharacters: number;
  /** Of a value: what lies deeper is left out. */
  readonly maxDepth?: number;
  /** Items of a value, at all depths. */
  readonly maxItems?: number;
}

export interface Redactor {
  /** The text without secrets, cut. */
  cleanText(text: string, maxCharacters: number): string;
  /** A value of the same shape without secrets, within limits. */
  cleanValue(value: unknown, limits: RedactLimits): Json;
}

const REDACTED = "[redacted]";
const LEFT_OUT = "…";
const MAX_DEPTH = 8;
const MAX_ITEMS = 200;
const MAX_KEY = 128;
/** Looked at beyond what may be shown, since what is taken out makes room. */
const LOOK_AHEAD = 4096;
/** Looked back from a cut for the beginning of a word. */
const MAX_WORD = 200;

/** Words under which one part of a value has the name of the next, and that next: as headers and fields of forms do. */
const NAME_KEYS = ["name", "key", "header", "field"];
const VALUE_KEYS: ReadonlySet<string> = new Set(["value", "values", "val", "content", "data", "text"]);

const LOOKS_SECRET: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,32}PRIVATE KEY-----|$)/g,
  // Those of a server of ours, and what stands in its addresses for one.
  /loom_(?:tok|shr|ses|tkt)_[A-Za-z0-9_-]*/gi,
  /(?<=[?&#;](?:ticket|share|access_token)=)[^\s&#"'<>]+/gi,
  // Who asks, in an address: up to the last @ before the path.
  /(?<=:\/\/)[^\s/"]{1,512}(?=@)/g,
  /(?<=\b(?:bearer|basic|digest|negotiate)\s{1,8})[^\s"',;]{4,}/gi,
  /(?<=(?:密码|口令|令牌|密钥)(?:是|为)\s{0,8}["'\\]{0,4})[^\s"'\\,;，。；]{2,}/g,
  /\b(?:sk|pk|rk|gsk|xai|whsec|glpat|shpat|dop_v1|npm|hf|r8|pplx)[-_][A-Za-z0-9_*.-]{6,}/g,
  /\b(?:gh[opsur]|github_pat)_[A-Za-z0-9_]{10,}/g,
  /\bxox[a-z]-[A-Za-z0-9-]{6,}/g,
  /\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{12,}/g,
  /\b(?:AIza|ya29\.)[A-Za-z0-9_.-]{16,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}/g,
];

export function createRedactor({ keys = [], patterns = [] }: RedactOptions = {}): Redactor {
  const names = createSecretNames(keys);
  const looks = [...LOOKS_SECRET, ...patterns.map((pattern) => new RegExp(pattern.source, addGlobal(pattern.flags)))];

  const cleanText = (text: string, maxCharacters: number, depth = 0): string => {
    const window = maxCharacters + LOOK_AHEAD;
    const isCut = text.length > window;
    let safe = isCut ? cutText(text, window) : cleanJson(text, depth);
    for (const look of looks) safe = safe.replaceAll(look, REDACTED);
    safe = hideNamed(safe, names, REDACTED);
    if (safe.length > maxCharacters) return safe.slice(0, maxCharacters).toWellFormed() + LEFT_OUT;
    return isCut ? safe + LEFT_OUT : safe;
  };

  /** A text that is JSON is cleaned as what it says, and stays as it is written where nothing was taken out. */
  const cleanJson = (text: string, depth: number): string => {
    if (depth >= MAX_DEPTH || !/^\s{0,64}[[{"]/.test(text)) return text;
    try {
      const value: unknown = JSON.parse(text);
      const safe = cleanAt(value, { maxCharacters: text.length, maxItems: text.length }, depth + 1);
      const written = JSON.stringify(safe);
      return written === JSON.stringify(value) ? text : written;
    } catch {
      // No JSON, or too deep to be written again.
      return text;
    }
  };

  const cleanAt = (value: unknown, limits: RedactLimits, start: number): Json => {
    const { maxDepth = MAX_DEPTH, maxItems = MAX_ITEMS } = limits;
    let characters = limits.maxCharacters;
    let items = maxItems;
    const say = (text: string, depth: number): string => {
      if (characters <= 0) return LEFT_OUT;
      const safe = cleanText(text, characters, depth);
      characters -= safe.length;
      return safe;
    };
    const clean = (inner: unknown, depth: number): Json => {
      if (typeof inner === "string") return say(inner, depth);
      if (typeof inner === "number" || typeof inner === "boolean") return inner;
      if (typeof inner !== "object" || inner === null) return null;
      if (depth >= maxDepth) return LEFT_OUT;
      return Array.isArray(inner) ? cleanList(inner, depth) : cleanMap(inner, depth);
    };
    const cleanList = (list: readonly unknown[], depth: number): Json => {
      const kept: Json[] = [];
      for (const [index, item] of list.entries()) {
        if (items-- <= 0) {
          kept.push(LEFT_OUT);
          break;
        }
        // Names and values by turns, as headers are listed.
        const name = list.length % 2 === 0 && index % 2 === 1 ? list[index - 1] : undefined;
        kept.push(isNameOf(name, item) ? REDACTED : clean(item, depth + 1));
      }
      return kept;
    };
    const cleanMap = (map: object, depth: number): Json => {
      const fields = map as { readonly [key: string]: unknown };
      const kept: [string, Json][] = [];
      for (const key in fields) {
        if (!Object.hasOwn(fields, key)) continue;
        if (items-- <= 0) {
          kept.push([LEFT_OUT, LEFT_OUT]);
          break;
        }
        const item = fields[key];
        const isNamed = VALUE_KEYS.has(key.toLowerCase()) && NAME_KEYS.some((name) => isNameOf(fields[name], item));
        const isSecret = isNamed || names.isSecret(key, item);
        kept.push([cleanText(key, MAX_KEY, MAX_DEPTH), isSecret ? REDACTED : clean(item, depth + 1)]);
      }
      return Object.fromEntries(kept);
    };
    return clean(value, start);
  };
  const isNameOf = (name: unknown, value: unknown): boolean =>
    typeof name === "string" && name.length <= MAX_KEY && names.isSecret(name, value);

  return {
    cleanText: (text, maxCharacters) => cleanText(text, maxCharacters),
    cleanValue: (value, limits) => cleanAt(value, limits, 0),
  };
}

/** Cut where a word begins, if one does nearby: some texts have no spaces. What is left of an address hides who asks. */
function cutText(text: string, end: number): string {
  let start = end;
  while (start > end - MAX_WORD && start > 0 && !/\s/.test(text.charAt(start - 1))) start--;
  return text.slice(0, start).replace(/(?<=:\/\/)[^\s/]{1,512}$/, LEFT_OUT);
}

function addGlobal(flags: string): string {
  return flags.includes("g") ? flags.replace("y", "") : `${flags.replace("y", "")}g`;
}
