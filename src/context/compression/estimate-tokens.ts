/**
 * How many tokens a text has for a model whose tokenizer is not known: by the script of its characters, in one pass. It
 * looks at no words and knows no vocabulary.
 *
 * Invariant: the cost is linear, whatever the text is. On prose, code and JSON it is above what o200k counts, or below it
 * by 15 % at most; the guide has the figures, and `estimate-tokens.test.ts` holds them.
 */

/** Letters of one word that are one token; what is longer is made of pieces. */
const WORD = 7;
const PIECE = 3;
/** From here on it is no word: a key, a digest, something encoded. */
const LONGEST_WORD = 20;
const SCRAMBLED = 0.7;

/** Tokens of one character, where a script has no words that tokenizers know well. */
const RATES = { han: 1, kana: 0.9, hangul: 0.9, alphabet: 0.45, syllable: 0.65, sign: 1.3, accent: 1.6, rare: 3 };

export function estimateTokens(text: string): number {
  let tokens = 0;
  for (let at = 0; at < text.length;) {
    const from = at;
    const kind = classify(text.charCodeAt(at));
    switch (kind) {
      case "letter":
        while (at < text.length && classify(text.charCodeAt(at)) === "letter") at++;
        tokens += ofWord(text, from, at);
        break;
      case "digit":
        while (at < text.length && classify(text.charCodeAt(at)) === "digit") at++;
        tokens += Math.ceil((at - from) / 3);
        break;
      case "space":
        while (at < text.length && classify(text.charCodeAt(at)) === "space") at++;
        // One before a word belongs to it.
        if (at - from > 1 || text.charCodeAt(from) !== 32) tokens += 1 + Math.floor((at - from) / 16);
        break;
      case "mark":
        while (at < text.length && classify(text.charCodeAt(at)) === "mark") at++;
        tokens += Math.ceil((at - from) / 2);
        break;
      default:
        tokens += RATES[kind];
        at++;
    }
  }
  return Math.ceil(tokens);
}

/** Names in code are made of words, and each begins anew with a capital. */
function ofWord(text: string, from: number, to: number): number {
  const length = to - from;
  let words = 1;
  let changes = 0;
  for (let at = from + 1; at < to; at++) {
    const isCapital = isUpper(text.charCodeAt(at));
    if (isCapital !== isUpper(text.charCodeAt(at - 1))) changes++;
    if (isCapital && !isUpper(text.charCodeAt(at - 1))) words++;
  }
  if ((length > LONGEST_WORD && words === 1) || (length > 2 && changes > length / 3)) return length * SCRAMBLED;
  const perWord = length / words;
  return words * (1 + Math.max(0, Math.ceil((perWord - WORD) / PIECE)) / 2);
}

function isUpper(code: number): boolean {
  return code >= 65 && code <= 90;
}

type CharacterClass = "letter" | "digit" | "space" | "mark" | keyof typeof RATES;

function classify(code: number): CharacterClass {
  if (code < 128) {
    if ((code >= 97 && code <= 122) || (code >= 65 && code <= 90)) return "letter";
    if (code >= 48 && code <= 57) return "digit";
    return code === 32 || (code >= 9 && code <= 13) ? "space" : "mark";
  }
  if (code >= 0x4e00 && code <= 0x9fff) return "han";
  return BLOCKS.find(([last]) => code <= last)?.[1] ?? "rare";
}

/** By the last code of each; most of what is written comes early. */
const BLOCKS: readonly (readonly [number, keyof typeof RATES])[] = [
  [0x00bf, "sign"],
  [0x02ff, "alphabet"],
  // Accents that are characters of their own.
  [0x036f, "accent"],
  // Greek, Cyrillic, Armenian, Hebrew, Arabic.
  [0x06ff, "alphabet"],
  [0x08ff, "rare"],
  // Of India, and Thai.
  [0x0e7f, "syllable"],
  // Lao, Tibetan.
  [0x0fff, "rare"],
  // Burmese, Georgian.
  [0x10ff, "syllable"],
  [0x177f, "rare"],
  // Khmer.
  [0x17ff, "syllable"],
  [0x1dff, "rare"],
  // Vietnamese, and Greek with its accents.
  [0x1fff, "alphabet"],
  // Quotation marks, dashes and dots of prose.
  [0x2027, "han"],
  // Arrows, signs of mathematics, lines of boxes, shapes.
  [0x27bf, "sign"],
  [0x2fff, "rare"],
  // Punctuation of Chinese.
  [0x303f, "han"],
  [0x30ff, "kana"],
  [0xabff, "rare"],
  [0xd7a3, "hangul"],
  // Halves of what is beyond: pictures, most of it.
  [0xdfff, "sign"],
  [0xfeff, "rare"],
  // Wide forms.
  [0xffef, "han"],
];
