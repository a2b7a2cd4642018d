/**
 * Redacts secrets from texts and values before they are logged or traced: by name and by pattern. It does not know
 * events.
 *
 * Invariant: when a text is cut, the word at the cut is removed unless it is longer than secrets are, because half a
 * secret would not be recognized. Values beyond the limits are removed completely.
 */
import type { Json } from "../../protocol/index.ts";
import { redactNamedValues } from "./redact-named-values.ts";
import { createSecretNames } from "./secret-names.ts";
import { cutText } from "../../protocol/cut-text.ts";

/** Secrets to redact in addition to the known ones. */
export interface RedactOptions {
  /**
   * Additional names whose values are redacted, in values and texts. Case, `-`, `_` and spaces are ignored. Default:
   * none.
   */
  readonly keys?: readonly string[];
  /** Additional patterns; every match is redacted. Default: none. */
  readonly patterns?: readonly RegExp[];
}

/** Removes secrets from texts and values. */
export interface Redactor {
  /** Returns the text without secrets, cut to the limit. */
  cleanText(text: string, maxCharacters: number): string;
  /**
   * Returns a copy of the value without secrets, with at most this many characters in all its texts together. What is
   * nested deeper than 8 levels or after 200 items is removed.
   */
  cleanValue(value: unknown, maxCharacters: number): Json;
}

const REDACTED = "[redacted]";
const ELLIPSIS = "…";
/** Levels of nested values, and of JSON inside texts. Deeper values are removed, and deeper texts are not read as JSON. */
const MAX_DEPTH = 8;
const MAX_ITEMS = 200;
/** Maximum characters of a field name. */
const MAX_NAME = 128;
/** Characters read beyond the limit, because redaction shortens the text. */
const LOOK_AHEAD = 4096;
/** Maximum characters searched backwards from a cut for the start of a word. */
const MAX_WORD = 200;

/** Fields of name-value pairs, as in lists of headers or form fields. */
const NAME_KEYS = ["name", "key", "header", "field"];
const VALUE_KEYS: ReadonlySet<string> = new Set(["value", "values", "val", "content", "data", "text"]);

const SECRET_PATTERNS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,32}PRIVATE KEY-----|$)/g,
  // Loom tokens, and the URL parameters that carry one.
  /loom_(?:tok|shr|ses|tkt)_[A-Za-z0-9_-]*/gi,
  /(?<=[?&#;](?:ticket|share|access_token)=)[^\s&#"'<>]+/gi,
  // User name and password in a URL: everything up to the last @ before the path.
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

/** Creates a redactor for the known secrets and those in the options. */
export function createRedactor({ keys = [], patterns = [] }: RedactOptions = {}): Redactor {
  const names = createSecretNames(keys);
  const allPatterns = [
    ...SECRET_PATTERNS,
    ...patterns.map((pattern) => new RegExp(pattern.source, addGlobal(pattern.flags))),
  ];

  const cleanText = (text: string, maxCharacters: number, depth = 0): string => {
    const window = maxCharacters + LOOK_AHEAD;
    const isCut = text.length > window;
    let safe = isCut ? cutBeforeWord(text, window) : cleanJson(text, depth);
    for (const pattern of allPatterns) safe = safe.replaceAll(pattern, REDACTED);
    safe = redactNamedValues(safe, names, REDACTED);
    if (safe.length > maxCharacters) return cutText(safe, maxCharacters) + ELLIPSIS;
    return isCut ? safe + ELLIPSIS : safe;
  };

  /** Redacts JSON inside a text by its structure. Keeps the original text if nothing was redacted. */
  const cleanJson = (text: string, depth: number): string => {
    if (depth >= MAX_DEPTH || !/^\s{0,64}[[{"]/.test(text)) return text;
    try {
      const value: unknown = JSON.parse(text);
      const safe = cleanAt(value, text.length, { maxItems: text.length, start: depth + 1 });
      const written = JSON.stringify(safe);
      return written === JSON.stringify(value) ? text : written;
    } catch {
      // Not JSON, or too deep to serialize.
      return text;
    }
  };

  const cleanAt = (value: unknown, maxCharacters: number, { maxItems = MAX_ITEMS, start = 0 } = {}): Json => {
    let characters = maxCharacters;
    let items = maxItems;
    const cleanWithinLimit = (text: string, depth: number): string => {
      if (characters <= 0) return ELLIPSIS;
      const safe = cleanText(text, characters, depth);
      characters -= safe.length;
      return safe;
    };
    const clean = (inner: unknown, depth: number): Json => {
      if (typeof inner === "string") return cleanWithinLimit(inner, depth);
      if (typeof inner === "number" || typeof inner === "boolean") return inner;
      if (typeof inner !== "object" || inner === null) return null;
      if (depth >= MAX_DEPTH) return ELLIPSIS;
      return Array.isArray(inner) ? cleanList(inner, depth) : cleanMap(inner, depth);
    };
    const cleanList = (list: readonly unknown[], depth: number): Json => {
      const kept: Json[] = [];
      for (const [index, item] of list.entries()) {
        if (items-- <= 0) {
          kept.push(ELLIPSIS);
          break;
        }
        // Alternating names and values, as in raw headers.
        const name = list.length % 2 === 0 && index % 2 === 1 ? list[index - 1] : undefined;
        kept.push(isNameOf(name, item) ? REDACTED : clean(item, depth + 1));
      }
      return kept;
    };
    const cleanMap = (map: object, depth: number): Json => {
      const fields = map as { readonly [field: string]: unknown };
      const kept: [string, Json][] = [];
      for (const field in fields) {
        if (!Object.hasOwn(fields, field)) continue;
        if (items-- <= 0) {
          kept.push([ELLIPSIS, ELLIPSIS]);
          break;
        }
        const item = fields[field];
        const isNamed = VALUE_KEYS.has(field.toLowerCase()) && NAME_KEYS.some((name) => isNameOf(fields[name], item));
        const isSecret = isNamed || names.isSecret(field, item);
        // At this depth, a name that looks like JSON is not read as JSON.
        kept.push([cleanText(field, MAX_NAME, MAX_DEPTH), isSecret ? REDACTED : clean(item, depth + 1)]);
      }
      return Object.fromEntries(kept);
    };
    return clean(value, start);
  };
  const isNameOf = (name: unknown, value: unknown): boolean =>
    typeof name === "string" && name.length <= MAX_NAME && names.isSecret(name, value);

  return {
    cleanText: (text, maxCharacters) => cleanText(text, maxCharacters),
    cleanValue: (value, maxCharacters) => cleanAt(value, maxCharacters),
  };
}

/**
 * Cuts at the start of a word if there is one nearby; some texts have no spaces. Removes the user part of a URL at the
 * cut.
 */
function cutBeforeWord(text: string, end: number): string {
  let start = end;
  while (start > end - MAX_WORD && start > 0 && !/\s/.test(text.charAt(start - 1))) start--;
  return text.slice(0, start).replace(/(?<=:\/\/)[^\s/]{1,512}$/, ELLIPSIS);
}

function addGlobal(flags: string): string {
  return flags.includes("g") ? flags.replace("y", "") : `${flags.replace("y", "")}g`;
}
