/**
 * Brings English words that differ only in their ending to one form: `deploys`, `deployed` and `deployment` are found by
 * `deploy`. It is light on purpose: it only has to do the same to a text and to a question about it, and a form that no
 * dictionary has does no harm. It knows no other language; their words pass as they are.
 */

const PLAIN = /^[a-z]{4,32}$/;
const VOWEL = /[aeiouy]/;
/** `planned` is of `plan`, but `called` of `call`. */
const DOUBLED = /([bdgkmnprtvz])\1$/;

/** Texts repeat their words: each is worked out once. When this is full it begins anew. */
const MAX_KEPT = 50_000;
const kept = new Map<string, string>();

/** A word in small letters, without its ending. */
export function stemWord(word: string): string {
  if (word.length < 4) return word;
  const known = kept.get(word);
  if (known !== undefined) return known;
  const stem = PLAIN.test(word) ? cutE(cutSuffix(cutPlural(word))) : word;
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(word, stem);
  return stem;
}

function cutPlural(word: string): string {
  if (!word.endsWith("s")) return word;
  if (word.endsWith("ies")) return word.length > 4 ? `${word.slice(0, -3)}y` : word;
  if (/(?:s|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return /(?:ss|us|is)$/.test(word) ? word : word.slice(0, -1);
}

/** Endings, the letters that must be left before them, and what may stand there. */
const SUFFIXES: readonly (readonly [ending: string, least: number, before?: RegExp])[] = [
  ["ation", 5],
  ["ment", 4],
  ["ness", 4],
  ["ing", 3, VOWEL],
  ["ion", 5, /[st]$/],
  ["ed", 3, VOWEL],
  ["ly", 4],
  ["al", 5],
];

function cutSuffix(word: string): string {
  for (const [ending, least, before] of SUFFIXES) {
    if (!word.endsWith(ending)) continue;
    const rest = word.slice(0, -ending.length);
    if (rest.length < least || before?.test(rest) === false) return word;
    return DOUBLED.test(rest) ? rest.slice(0, -1) : rest;
  }
  return word;
}

/** `compile` and `compiling`, `policy` and `policies` meet here. */
function cutE(word: string): string {
  if (word.length > 3 && word.endsWith("e")) return word.slice(0, -1);
  return word.length > 3 && word.endsWith("y") ? `${word.slice(0, -1)}i` : word;
}
