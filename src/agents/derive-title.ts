/** The title that a session gets with its first message. A model may replace it after the first answer. */
import { stripMarkdown } from "../protocol/strip-markdown.ts";
import { cutLine, toPlainLine } from "../tools/cut-line.ts";

export const MAX_TITLE_CHARACTERS = 80;
/** Characters of a line that are looked at. */
const MAX_READ = 2000;
/** A shorter sentence, such as a greeting, does not say what the conversation is about. */
const MIN_SENTENCE_CHARACTERS = 12;
/** Chinese and Japanese need fewer characters. */
const MIN_IDEOGRAPHS = 6;

/**
 * Derives a title from a message: the first line with text, without Markdown, up to the end of its first full sentence, cut at a word
 * boundary if it is too long. A message without text gets the names of its files, and undefined without files. The
 * limit counts graphemes, so no visible character is split.
 */
export function deriveTitle(
  message: string,
  files: readonly { readonly name?: string | undefined }[] = [],
): string | undefined {
  for (const [line] of message.matchAll(/[^\r\n\u2028\u2029]+/gu)) {
    const plain = toPlainLine(stripMarkdown(line.slice(0, MAX_READ)), MAX_TITLE_CHARACTERS);
    if (plain !== "") return cutLine(cutSentence(plain), MAX_TITLE_CHARACTERS);
  }
  const names = files.flatMap(({ name = "" }) => (name.trim() === "" ? [] : [toPlainLine(name, MAX_TITLE_CHARACTERS)]));
  return names.length === 0 ? undefined : cutLine(names.join(", "), MAX_TITLE_CHARACTERS);
}

/** Returns the line up to its first full sentence, without its full stop. */
function cutSentence(line: string): string {
  for (const { index } of line.matchAll(/(?<=[.!?]) (?=\S)|(?<=[。！？])(?=[^。！？”’」』）)])/gu)) {
    const sentence = line.slice(0, index);
    const ideographs = sentence.match(/\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}/gu)?.length ?? 0;
    if (sentence.length >= MIN_SENTENCE_CHARACTERS || ideographs >= MIN_IDEOGRAPHS)
      return sentence.replace(/[.。]+$/u, "");
  }
  return line;
}
