/**
 * Reduces English words to a stem, so that `authenticate`, `authenticated` and `authentication` match each other.
 * Porter2 algorithm with British spellings and exceptions for computing terms. A stem need not be a word; it only has
 * to be the same in texts and queries. Words of other languages stay nearly unchanged.
 */

const PLAIN = /^[a-z]{3,32}$/;
const VOWEL = /[aeiouy]/;
const DOUBLED = /(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/;
/** `hop`, `at`: an `e` that was cut off is restored. */
const SHORT_END = /(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy])$/;
/** Suffixes are cut only after these roots, because otherwise different words would become equal. */
const LONG_ROOT = /^(?:gener|commun|arsen|univers|emerg|organ)/;
/** `summarise` becomes `summarize`, but `revise` and `exercise` stay. */
const BRITISH = /^(.{3,}[^aceiouvw])is(e[ds]?|ers?|ing|ations?)$/;

/** Words for which the rules give the wrong stem. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map(
  (
    "alias=alias aliases=alias atlas=atlas bias=bias bus=bus buses=bus canvas=canvas chaos=chaos gas=gas lens=lens " +
    "lenses=lens news=news create=creat creates=creat created=creat creating=creat creation=creat creations=creat " +
    "creator=creat creators=creat dying=die lying=lie tying=tie indices=index skies=sky"
  )
    .split(" ")
    .map((pair) => pair.split("=") as [string, string]),
);
/** Irregular verb forms. */
const IRREGULAR_VERBS: ReadonlyMap<string, string> = new Map(
  (
    "began=begin begun=begin broke=break broken=break built=build chose=choose chosen=choose forgot=forget " +
    "forgotten=forget froze=freeze frozen=freeze gave=give given=give held=hold hid=hide hidden=hide kept=keep knew=know " +
    "known=know lost=lose made=make paid=pay ran=run sent=send spoke=speak spoken=speak threw=throw thrown=throw took=take " +
    "taken=take wrote=write written=write"
  )
    .split(" ")
    .map((pair) => pair.split("=") as [string, string]),
);
/** Words that only lose a plural `s`. */
const UNSTEMMED: ReadonlySet<string> = new Set(
  "embed exceed proceed succeed inning outing herring earring canning".split(" "),
);

/** A suffix, its replacement, and what must precede it. */
type SuffixRule = readonly [ending: string, becomes: string, before?: RegExp];

const readRules = (rules: string): readonly SuffixRule[] =>
  rules
    .split(" ")
    .map((rule): SuffixRule => [rule.split(">")[0] ?? "", rule.split(">")[1] ?? ""])
    .toSorted(([a], [b]) => b.length - a.length);

const JOINED = readRules(
  "tional>tion enci>ence anci>ance abli>able entli>ent izer>ize ization>ize ational>ate ation>ate ator>ate alism>al " +
    "aliti>al alli>al fulness>ful ousli>ous ousness>ous iveness>ive iviti>ive biliti>ble bli>ble fulli>ful lessli>less",
).concat([
  ["ogi", "og", /l$/],
  ["li", "", /[cdeghkmnrt]$/],
]);
const DERIVED = readRules("ational>ate tional>tion alize>al icate>ic iciti>ic ical>ic ful> ness>");
const LAST = readRules(
  "ement> ance> ence> able> ible> ment> ant> ent> ism> ate> iti> ous> ive> ize> al> er> ic>",
).concat([["ion", "", /[st]$/]]);

/** Stems are cached because texts repeat their words. A full cache is cleared. */
const MAX_CACHED = 50_000;
const cache = new Map<string, string>();

/** Returns the stem of a word in lower case. */
export function stemWord(word: string): string {
  if (word.length < 3 || word.length > 32) return word;
  const known = cache.get(word);
  if (known !== undefined) return known;
  // Copy the word: a substring would keep the whole text in memory.
  const own = Buffer.from(word).toString();
  const stem = PLAIN.test(own) ? (EXCEPTIONS.get(own) ?? cutEndings(IRREGULAR_VERBS.get(own) ?? own)) : own;
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(own, stem);
  return stem;
}

function cutEndings(given: string): string {
  // `Y` marks a consonant.
  const marked = given
    .replace(BRITISH, "$1iz$2")
    .replace(/^y/, "Y")
    .replaceAll(/([aeiouy])y/g, "$1Y");
  const plain = cutPlural(marked);
  if (UNSTEMMED.has(plain)) return plain;
  const first = LONG_ROOT.exec(marked)?.[0].length ?? skipSyllable(marked, 0);
  const second = skipSyllable(marked, first);
  let word = cutPast(plain, first);
  if (/.[^aeiouy][yY]$/.test(word)) word = `${word.slice(0, -1)}i`;
  word = replaceEnding(word, JOINED, first);
  word = word.endsWith("ative") && word.length - 5 >= second ? word.slice(0, -5) : replaceEnding(word, DERIVED, first);
  return cutLast(replaceEnding(word, LAST, second), first, second).toLowerCase();
}

/** Returns the index after the first consonant that follows a vowel. */
function skipSyllable(word: string, from: number): number {
  const at = word.slice(from).search(/[aeiouy][^aeiouy]/);
  return at < 0 ? word.length : from + at + 2;
}

function cutPlural(word: string): string {
  if (!word.endsWith("s") && !word.endsWith("ied")) return word;
  if (word.endsWith("sses")) return word.slice(0, -2);
  if (/ie[ds]$/.test(word)) return word.slice(0, word.length > 4 ? -2 : -1);
  return /[us]s$/.test(word) || !VOWEL.test(word.slice(0, -2)) ? word : word.slice(0, -1);
}

function cutPast(word: string, first: number): string {
  const [ending] = /(?:eed|ed|ing)(?:ly)?$/.exec(word) ?? [];
  if (ending === undefined) return word;
  const rest = word.slice(0, -ending.length);
  if (ending.startsWith("eed")) return rest.length >= first ? `${rest}ee` : word;
  if (!VOWEL.test(rest)) return word;
  if (/(?:at|bl|iz)$/.test(rest)) return `${rest}e`;
  // `planned` comes from `plan`, but `added` from `add`.
  if (DOUBLED.test(rest)) return /^[aeo]..$/.test(rest) ? rest : rest.slice(0, -1);
  return rest.length <= first && SHORT_END.test(rest) ? `${rest}e` : rest;
}

/** The longest matching suffix decides, even if it may not be cut. */
function replaceEnding(word: string, rules: readonly SuffixRule[], from: number): string {
  for (const [ending, becomes, before] of rules) {
    if (!word.endsWith(ending)) continue;
    const rest = word.slice(0, -ending.length);
    return rest.length >= from && before?.test(rest) !== false ? rest + becomes : word;
  }
  return word;
}

function cutLast(word: string, first: number, second: number): string {
  const rest = word.slice(0, -1);
  if (word.endsWith("ll")) return rest.length >= second ? rest : word;
  if (!word.endsWith("e")) return word;
  return rest.length >= second || (rest.length >= first && !SHORT_END.test(rest)) ? rest : word;
}
