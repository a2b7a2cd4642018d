/**
 * The skill of arithmetic: expressions, in signs or in words, for the tool `calculator`. A sum is one only where the words
 * around it say so: a wrong one, made of half a sentence, is worse than none.
 */
import type { FoundErrand, Skill } from "./errand.ts";
import { writeDigits } from "./number-words.ts";
import { readExpression } from "./read-expression.ts";

export const arithmetic: Skill = {
  abilities: [
    {
      tool: "calculator",
      can: { en: "do arithmetic", zh: "做算术" },
      example: { en: "What is 17 * 23?", zh: "12 加 30 再乘以 2 等于多少？" },
    },
  ],
  find(text) {
    const signs = writeSigns(text);
    const found: FoundErrand[] = [];
    let tries = 0;
    for (const { index: at } of signs.matchAll(START)) {
      const last = found.at(-1)?.end ?? 0;
      if (last > at) continue;
      if (++tries > MAX_TRIES) break;
      const expression = readExpression(signs, at);
      if (expression === undefined || expression.operations === 0) continue;
      const words = signs.slice(at, expression.end).trim();
      const chained = readChain(signs, tidy(words), expression.end);
      const around = { before: signs.slice(Math.max(last, at - AROUND), at), after: signs.slice(chained.end) };
      if (!isMeant(words, around, last > 0)) continue;
      found.push(createErrand(chained.expression, at, chained.end));
    }
    return found;
  },
};

/** Places where an expression may begin; each may take all that follows. */
const MAX_TRIES = 100;
/** Characters before an expression that are looked at. */
const AROUND = 40;

/** An operand begins here, and not in the middle of a word or a number. */
const START = /(?<![\w.])(?:\d|\.\d|\(|-\s*[\d(]|(?:sqrt|abs|round|floor|ceil|sin|cos|tan|ln|log|exp)\s*\()/gi;

const CUE =
  /(?:\b(?:what(?:'s|’s| is)|calculate|compute|evaluate|solve|how much is|(?:result|value) of)|计算|算(?:一下|下|出)?|请问|求)\s*[:：]?\s*$/i;
/** What may stand before a sum, and what after it. */
const BEFORE =
  /(?:^|[?!.,;:=，。？！；：、"“]|\b(?:is|are|of|the|and|then|also|so|ok|do|find|me|much|please|equals|think|say)|算|下|问|求|是|和|与|把|从|用|出|及|那|道)\s*$/i;
const AFTER =
  /^\s*(?:$|[?!;:=。？！；、"”]|[,，.](?!\d)|(?:and|is|equals?|please)\b|then\b(?! (?:it|that|times|multipl|divide|plus|add|minus|subtract))|等于|是|得|的(?:结果|值|答案|和|积|差|商)|和|与|并|呢|吗|多少)/i;
const EQUALS = /^\s*(?:=|等于|是多少|equals)/i;
const LISTED = /^\s*(?:[,，、;]|and|和|与)+\s*$/i;

/** "24/7" and "3-4" are often no sums: there somebody has to ask. With spaces, or as words, they are. */
function isMeant(
  words: string,
  { before, after }: { readonly before: string; readonly after: string },
  isNext: boolean,
): boolean {
  if (!BEFORE.test(before) && !(isNext && LISTED.test(before)) && !CUE.test(before)) return false;
  if (!AFTER.test(after)) return false;
  if (/[+*^]|sqrt|\s[-/]\s/.test(words) || CUE.test(before) || EQUALS.test(after)) return true;
  const isAlone = before.trim() === "" && /^[\s=?？。.!！]*$/.test(after);
  return (isAlone && !isNext) || (isNext && LISTED.test(before));
}

const N = String.raw`(\d+(?:\.\d+)?)`;
/** What looks like a sum and is a date, a time of day, a version, a number of a telephone, or a way of speaking. */
const NO_SUMS =
  /(?<![\d.])(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/])\d{1,2}\2\d{4}|\d{1,2}:\d\d(?::\d\d)?|\d+(?:\.\d+){2,}|(?:\+?\d{1,3}-)?\d{3}-\d{3,4}-\d{4}|\d+,\d{1,2}(?!\d)|24\/7|9\/11|50\/50)(?!\d)/g;

/** Words and signs of their own for the operations; longer ones first. */
const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/(\d),(?=\d{3}\b)/g, "$1"],
  [/\bsquare root of\s*(\d+(?:\.\d+)?)/gi, "sqrt($1)"],
  [/(\d+(?:\.\d+)?)\s*的平方根/g, "sqrt($1)"],
  [/(?:根号|√)\s*(\d+(?:\.\d+)?)/g, "sqrt($1)"],
  [sign(`${N}\\s*(?:%|percent) of\\s*${N}`), "($1/100*$2)"],
  [sign(`${N}\\s*的\\s*${N}\\s*%`), "($1*$2/100)"],
  [sign(`${N}\\s*/\\s*${N} of ${N}`), "($1/$2*$3)"],
  [sign(`${N}\\s*的\\s*${N}\\s*次方`), "$1^$2"],
  [sign(`\\b(?:add|sum of) ${N} (?:and|to|plus) ${N}`), "($1 + $2)"],
  [sign(`\\bsubtract ${N} from ${N}`), "($2 - $1)"],
  [sign(`\\b(?:multiply|product of) ${N} (?:by|with|and) ${N}`), "($1 * $2)"],
  [sign(`\\bdivide ${N} by ${N}`), "($1 / $2)"],
  [sign(`${N}\\s*[和与]\\s*${N}\\s*的和`), "($1 + $2)"],
  [sign(`${N}\\s*[和与]\\s*${N}\\s*的(?:乘)?积`), "($1 * $2)"],
  [/(?<=[\d)])\s*(?:\*\*|to the power of)\s*(?=[\d(.-])/gi, "^"],
  [/(?<=[\d)])\s*(?:squared|的平方)/gi, "^2"],
  [/(?<=[\d)])\s*(?:cubed|的立方)/gi, "^3"],
  [/(?<=[\d)])\s*(?:×|x|·|times|multiplied by|乘以|乘上|乘)\s*(?=[\d(.-])/gi, " * "],
  [/(?<=[\d)])\s*(?:÷|divided by|over|除以)\s*(?=[\d(.-])/gi, " / "],
  [/(?<=[\d)])\s*(?:plus|加上|加)\s*(?=[\d(.-])/gi, " + "],
  [/(?<=[\d)])\s*(?:−|minus|减去|减)\s*(?=[\d(.-])/gi, " - "],
];

function sign(source: string): RegExp {
  return new RegExp(source, "gi");
}

/** "…, then times 2", "再乘以 2": it goes on with what came before, whatever binds tighter. */
const CHAIN =
  /\s*[,，]?\s*(?:and then|then|然后再|然后|再)\s*(?:(?:it|that)\s*)?(?:(times|multiply by|multiplied by|乘以|乘上|乘|\*)|(divide by|divided by|除以|\/)|(plus|add|加上|加|\+)|(minus|subtract|减去|减|-))\s*(\d+(?:\.\d+)?)/iy;

function readChain(signs: string, first: string, from: number): { readonly expression: string; readonly end: number } {
  let expression = first;
  for (let end = from; ;) {
    CHAIN.lastIndex = end;
    const step = CHAIN.exec(signs);
    if (step === null) return { expression, end };
    const [, times, over, plus] = step;
    const operator = times !== undefined ? "*" : over !== undefined ? "/" : plus !== undefined ? "+" : "-";
    expression = `(${expression})${operator}${step[5] ?? ""}`;
    end = CHAIN.lastIndex;
  }
}

function writeSigns(text: string): string {
  let signs = writeDigits(text.normalize("NFKC")).replaceAll(NO_SUMS, (match) => "#".repeat(match.length));
  for (const [words, operator] of SIGNS) signs = signs.replaceAll(words, operator);
  return signs;
}

/** Without spaces, and without parentheses around all of it. */
function tidy(words: string): string {
  const compact = words.replaceAll(/\s+/g, "");
  return /^\(([^()]+)\)$/.exec(compact)?.[1] ?? compact;
}

function createErrand(expression: string, at: number, end: number): FoundErrand {
  return {
    tool: "calculator",
    at,
    end,
    about: { en: expression, zh: expression },
    createInput: () => ({ expression }),
    tell: (result) => {
      const text = result.includes("=") ? result.trim() : `${expression} = ${result.trim()}`;
      return { en: `${text}.`, zh: `${text}。` };
    },
  };
}
