/** Markdown documents in English and Chinese, and questions about them. The same in every run. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FILE_BYTES = 2000;
const FILES_PER_FOLDER = 250;

/** Pseudo-random numbers. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const random = createRandom(7);
const pick = (from: string): string => from[Math.floor(random() * from.length)] ?? "";
const ENGLISH = Array.from({ length: 8000 }, () =>
  Array.from({ length: 2 + Math.floor(random() * 3) }, () => pick("bcdfghklmnprstvw") + pick("aeiou")).join(""),
);
const CHINESE = Array.from({ length: 5000 }, () =>
  String.fromCharCode(0x4e00 + Math.floor(random() * 2500), 0x4e00 + Math.floor(random() * 2500)),
);

/** Draws a word with a Zipf distribution, as in real texts: the n-th word is n times as rare as the first. */
function drawWord(words: readonly string[]): string {
  return words[Math.floor(words.length ** random()) - 1] ?? words[0] ?? "";
}

function writeSentence(isChinese: boolean): string {
  if (isChinese) return `${Array.from({ length: 9 }, () => drawWord(CHINESE)).join("")}。`;
  return `${Array.from({ length: 12 }, () => drawWord(ENGLISH)).join(" ")}. `;
}

function writeDocument(isChinese: boolean): string {
  const heading = (): string => [1, 2, 3].map(() => drawWord(isChinese ? CHINESE : ENGLISH)).join(isChinese ? "" : " ");
  let text = `# ${heading()}\n\n`;
  for (let part = 1; Buffer.byteLength(text) < FILE_BYTES; part++) {
    for (let sentence = 0; sentence < 4; sentence++) text += writeSentence(isChinese);
    text += part % 2 === 0 ? `\n\n## ${heading()}\n\n` : "\n\n";
  }
  return text;
}

/** Writes documents of 2 kB into folders below `root`. */
export function writeDocuments(root: string, count: number): void {
  for (let at = 0; at < count; at++) {
    const folder = join(root, String(Math.floor(at / FILES_PER_FOLDER)));
    if (at % FILES_PER_FOLDER === 0) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${at}.md`), writeDocument(at % 2 === 0));
  }
}

export function writeQuestions(count: number): string[] {
  return Array.from({ length: count }, (_, at) => {
    const draw = (words: readonly string[]): string[] => Array.from({ length: 2 + (at % 3) }, () => drawWord(words));
    return at % 2 === 0 ? `如何${draw(CHINESE).join("")}` : `how do I ${draw(ENGLISH).join(" ")}`;
  });
}
