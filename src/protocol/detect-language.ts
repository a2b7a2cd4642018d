/** Decides in which language a user is addressed, from the text of the user's message. */

/** Languages that texts for users are available in. */
export type Language = "en" | "zh";

/** Characters examined at the start of a text. */
const MAX_EXAMINED = 2000;

/**
 * Returns `zh` for a Chinese text, otherwise `en`. A text with Chinese characters counts as English if it has more words
 * in Latin letters ("What does 你好 mean?"), and as Japanese, so not Chinese, if it has kana.
 */
export function detectLanguage(text: string): Language {
  const head = text.slice(0, MAX_EXAMINED);
  const characters = head.match(/\p{Script=Han}/gu)?.length ?? 0;
  if (characters === 0 || /[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(head)) return "en";
  const words = head.match(/\p{Script=Latin}+/gu)?.length ?? 0;
  return characters >= words ? "zh" : "en";
}
