/**
 * Brings English words that differ only in their ending to one form: `authenticate`, `authenticated` and
 * `authentication` are found by each other. It is Porter's second algorithm for English, with British spellings and a few
 * words of computing that it takes apart. The form need be in no dictionary: it only has to be the same in a text and in
 * a question about it. It knows no other language; their words pass nearly as they are.
 */

const PLAIN = /^[a-z]{3,32}$/;
const VOWEL = /[aeiouy]/;
const DOUBLED = /(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/;
/** `hop`, `at`: where an `e` was cut off, it is put back. */
const SHORT_END = /(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy])$/;
/** What the rules would bring too close to other words begins only after these. */
const LONG_ROOT = /^(?:gener|commun|arsen|univers|emerg|organ)/;
/** `summarise` is `summarize`, but `revise` and `exercise` have no other form. */
const BRITISH = /^(.{3,}[^aceiouvw])is(e[ds]?|ers?|ing|ations?)$/;

/** The rules are wrong for them. */
const KNOWN: ReadonlyMap<string, string> = new Map(
  (
    "alias=alias aliases=alias atlas=atlas bias=bias bus=bus buses=bus canvas=canvas chaos=chaos gas=gas lens=lens " +
    "lenses=lens news=news create=creat creates=creat created=creat creating=creat creation=creat creations=creat " +
    "creator=creat creators=creat dying=die lying=lie tying=tie indices=index skies=sky"
  )
    .split(" ")
    .map((pair) => pair.split("=") as [string, string]),
);
/** Verbs whose forms have no endings. */
const VERBS: ReadonlyMap<string, string> = new Map(
  (
    "began=begin begun=begin broke=break broken=break built=build chose=choose chosen=choose forgot=forget " +
    "forgotten=forget froze=freeze frozen=freeze gave=give given=give held=hold hid=hide hidden=hide kept=keep knew=know " +
    "known=know lost=lose made=make paid=pay ran=run sent=send spoke=speak spoken=speak threw=throw thrown=throw took=take " +
    "taken=take wrote=write written=write"
  )
    .split(" ")
    .map((pair) => pair.split("=") as [string, string]),
);
/** Without an `s` they are whole. */
const WHOLE: ReadonlySet<string> = new Set(
  "embed exceed proceed succeed inning outing herring earring canning".split(" "),
);

/** An ending, what it becomes, and what must stand before it. */
type Rule = readonly [ending: string, becomes: string, before?: RegExp];

const readRules = (rules: string): readonly Rule[] =>
  rules
    .split(" ")
    .map((rule): Rule => [rule.split(">")[0] ?? "", rule.split(">")[1] ?? ""])
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

/** Texts repeat their words: each is worked out once. When this is full it begins anew. */
const MAX_KEPT = 50_000;
const kept = new Map<string, string>();

/** A word in small letters, without its ending. */
export function stemWord(word: string): string {
  if (word.length < 3 || word.length > 32) return word;
  const known = kept.get(word);
  if (known !== undefined) return known;
  // A word is a piece of its text, and would keep all of it.
  const own = Buffer.from(word).toString();
  const stem = PLAIN.test(own) ? (KNOWN.get(own) ?? cutEndings(VERBS.get(own) ?? own)) : own;
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(own, stem);
  return stem;
}

function cutEndings(given: string): string {
  // `Y` is a consonant.
  const marked = given
    .replace(BRITISH, "$1iz$2")
    .replace(/^y/, "Y")
    .replaceAll(/([aeiouy])y/g, "$1Y");
  const plain = cutPlural(marked);
  if (WHOLE.has(plain)) return plain;
  const first = LONG_ROOT.exec(marked)?.[0].length ?? skipSyllable(marked, 0);
  const second = skipSyllable(marked, first);
  let word = cutPast(plain, first);
  if (/.[^aeiouy][yY]$/.test(word)) word = `${word.slice(0, -1)}i`;
  word = replaceEnding(word, JOINED, first);
  word = word.endsWith("ative") && word.length - 5 >= second ? word.slice(0, -5) : replaceEnding(word, DERIVED, first);
  return cutLast(replaceEnding(word, LAST, second), first, second).toLowerCase();
}

/** Behind the first consonant that follows a vowel. */
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
  // `planned` is of `plan`, but `added` of `add`.
  if (DOUBLED.test(rest)) return /^[aeo]..$/.test(rest) ? rest : rest.slice(0, -1);
  return rest.length <= first && SHORT_END.test(rest) ? `${rest}e` : rest;
}

/** The longest ending that fits decides, even where it may not be cut. */
function replaceEnding(word: string, rules: readonly Rule[], from: number): string {
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
