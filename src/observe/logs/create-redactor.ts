/**
 * Takes secrets out of what is logged or traced: by the name they stand under, and by how they look. It knows no event.
 *
 * Invariant: of a text that is cut, the word at the cut is left out, so that no half of a key is left which looks like
 * none; what lies deeper or is more than the limits is left out whole.
 */
import type { Json } from "../../protocol/index.ts";

export interface RedactOptions {
  /** More names whose values are never shown; case, `-`, `_` and spaces do not matter. */
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

/** Parts of names, written small and without marks. */
const SECRET_NAMES = [
  "authorization",
  "apikey",
  "accesskey",
  "privatekey",
  "signingkey",
  "encryptionkey",
  "sshkey",
  "password",
  "passwd",
  "passphrase",
  "secret",
  "token",
  "cookie",
  "credential",
  "bearer",
  "jwt",
  "signature",
  "密码",
  "口令",
  "令牌",
  "密钥",
];
/** Names that are meant only as a whole. */
const SECRET_WORDS = new Set(["auth", "pwd", "pass", "pin", "otp", "sig", "key", "csrf", "xsrf"]);

/** Names before `=` or `:` in a text, and those that are in front of many a harmless word. */
const NAMED =
  "[\\w.-]{0,64}(?:api[-_. ]?key|access[-_. ]?key|private[-_. ]?key|authorization|passw(?:or)?d|passphrase|pwd|secret|token|cookie|credentials?|signature|jwt)[\\w-]{0,32}";
const VAGUELY_NAMED = "[\\w.-]{0,64}(?:key|auth|sig|otp|pass)";
/** A name may be quoted, and the whole may be JSON within JSON. */
const IS = "[\"'\\\\]{0,4}\\s{0,8}(?:=>|[:=])\\s{0,8}";

const LOOKS_SECRET: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,32}PRIVATE KEY-----|$)/g,
  // Who asks, in an address.
  /(?<=:\/\/)[^\s/@"']{1,256}(?=@)/g,
  /(?<=\b(?:bearer|basic|digest|negotiate)\s{1,8})[^\s"',;]{4,}/gi,
  // A name, and what stands after it: in quotation marks up to the next one, otherwise up to the end of the word.
  new RegExp(`(?<=\\b${NAMED}${IS})\\\\{0,3}(?:"(?:[^"\\\\]|\\\\.)*"?|'(?:[^'\\\\]|\\\\.)*'?)`, "gis"),
  new RegExp(`(?<=\\b${NAMED}${IS})(?!["'\\\\{[]|(?:bearer|basic|digest|negotiate)\\b)[^\\s"',;&}\\]]{2,}`, "gi"),
  new RegExp(`(?<=\\b${VAGUELY_NAMED}${IS}\\\\{0,3}["']?)[A-Za-z0-9+/_=.-]{16,}`, "gi"),
  /(?<=(?:密码|口令|令牌|密钥)["'\\]{0,4}\s{0,8}(?:[:：=]|是|为)\s{0,8}["'\\]{0,4})[^\s"'\\,;，。；]{2,}/g,
  /\b(?:sk|pk|rk|gsk|xai|whsec|glpat|shpat|dop_v1|npm|hf|r8|pplx)[-_][A-Za-z0-9_*.-]{6,}/g,
  /\b(?:gh[opsur]|github_pat)_[A-Za-z0-9_]{10,}/g,
  /\bxox[a-z]-[A-Za-z0-9-]{6,}/g,
  /\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{12,}/g,
  /\b(?:AIza|ya29\.)[A-Za-z0-9_.-]{16,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}/g,
];

export function createRedactor({ keys = [], patterns = [] }: RedactOptions = {}): Redactor {
  const more = new Set(keys.map((key) => simplify(key)));
  const looks = [...LOOKS_SECRET, ...patterns.map((pattern) => new RegExp(pattern.source, addGlobal(pattern.flags)))];

  const isSecretName = (key: string, value: unknown): boolean => {
    const name = simplify(key);
    if (more.has(name) || SECRET_WORDS.has(name)) return true;
    // `max_tokens` and its like count something.
    if (typeof value === "number" && name.endsWith("tokens")) return false;
    return SECRET_NAMES.some((part) => name.includes(part));
  };

  const cleanText = (text: string, maxCharacters: number): string => {
    let safe = text;
    const window = maxCharacters + LOOK_AHEAD;
    const isCut = safe.length > window;
    // The word that the cut goes through may be half a key.
    if (isCut) safe = safe.slice(0, findWordStart(safe, window));
    for (const look of looks) safe = safe.replaceAll(look, REDACTED);
    if (safe.length > maxCharacters) return safe.slice(0, maxCharacters).toWellFormed() + LEFT_OUT;
    return isCut ? safe + LEFT_OUT : safe;
  };

  const cleanValue = (value: unknown, limits: RedactLimits): Json => {
    const { maxDepth = MAX_DEPTH, maxItems = MAX_ITEMS } = limits;
    let characters = limits.maxCharacters;
    let items = maxItems;
    const say = (text: string): string => {
      if (characters <= 0) return LEFT_OUT;
      const safe = cleanText(text, characters);
      characters -= safe.length;
      return safe;
    };
    const clean = (inner: unknown, depth: number): Json => {
      if (typeof inner === "string") return say(inner);
      if (typeof inner === "number" || typeof inner === "boolean") return inner;
      if (typeof inner !== "object" || inner === null) return null;
      if (depth >= maxDepth) return LEFT_OUT;
      return Array.isArray(inner) ? cleanList(inner, depth) : cleanMap(inner, depth);
    };
    const cleanList = (list: readonly unknown[], depth: number): Json => {
      const kept: Json[] = [];
      for (const item of list) {
        if (items-- <= 0) {
          kept.push(LEFT_OUT);
          break;
        }
        kept.push(clean(item, depth + 1));
      }
      return kept;
    };
    const cleanMap = (map: object, depth: number): Json => {
      const kept: [string, Json][] = [];
      for (const key in map) {
        if (!Object.hasOwn(map, key)) continue;
        if (items-- <= 0) {
          kept.push([LEFT_OUT, LEFT_OUT]);
          break;
        }
        const item: unknown = (map as { readonly [key: string]: unknown })[key];
        kept.push([cleanText(key, MAX_KEY), isSecretName(key, item) ? REDACTED : clean(item, depth + 1)]);
      }
      return Object.fromEntries(kept);
    };
    return clean(value, 0);
  };

  return { cleanText, cleanValue };
}

/** Where the word begins that goes through `end`. */
function findWordStart(text: string, end: number): number {
  let start = end;
  while (start > 0 && !/\s/.test(text.charAt(start - 1))) start--;
  return start;
}

function simplify(key: string): string {
  return key.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
}

function addGlobal(flags: string): string {
  return flags.includes("g") ? flags.replace("y", "") : `${flags.replace("y", "")}g`;
}
