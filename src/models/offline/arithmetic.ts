/**
 * Arithmetic, in symbols or words, for the tool `calculator`. An expression counts only if the words around it ask for
 * it: a wrong result from half a sentence is worse than none.
 */
import type { FoundTask, Skill } from "./offline-task.ts";
import { NUMBER_WORD, writeDigits } from "./number-words.ts";
import { readExpression } from "./read-expression.ts";

export const arithmetic: Skill = {
  abilities: [
    {
      tool: "calculator",
      can: { en: "do arithmetic", zh: "算术计算" },
      example: { en: "What is 17 * 23?", zh: "12 加 30 再乘以 2 等于多少？" },
    },
  ],
  find(text) {
    const signs = writeSigns(text);
    const found: FoundTask[] = [];
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
      found.push(createTask(chained.expression, at, chained.end));
    }
    return found;
  },
};

/** Maximum number of positions to try; each try may read to the end of the text. */
const MAX_TRIES = 100;
/** Characters before an expression that are checked. */
const AROUND = 60;

/** Start of an operand, not in the middle of a word or a number. */
const START = /(?<![\w.])(?:\d|\.\d|\(|-\s*[\d(]|(?:sqrt|abs|round|floor|ceil|sin|cos|tan|ln|log|exp)\s*\()/gi;

const CUE =
  /(?:\b(?:what(?:'s|’s| is| about)|calculate|compute|evaluate|solve|how much is|(?:result|value) of)|计算|算(?:一下|下|出)?|请问|求)\s*[:：]?\s*$/i;
/** What may come before an expression, and what may follow it. */
const BEFORE =
  /(?:^(?:\s*and)?|[?!.,;:=，。？！；：、"“]|\b(?:is|are|also|so|ok|do|find|me|much|please|equals|think|say)|算|下|问|求|是|把|从|用|出|那|道)\s*$/i;
const AND_MORE = String.raw`\s*(?:[;:]|(?:the )?sqrt|[\d(.][\d.\s()]*[-+*/^]|(?:what|how|tell|say|show|give|please|also|then|calculate|compute|save|write|draw|make)\b|现在|告诉|计算|算|保存|存|写|把|将|画|列|显示)`;
const AFTER = new RegExp(
  String.raw`^\s*(?:$|[?!;:=。？！；、"”]|[,，.](?!\d)|(?:is|equals?|please)\b|then\b|(?:and\b|和|与|并)${AND_MORE}|等于|是|得|的(?:结果|值|答案|和|积|差|商)\s*(?:$|[?!,.;，。？！；]|是|等于|得|呢|多少)|呢|吗|多少)`,
  "i",
);
/** The calculation goes on in words that are not understood; without the rest it would be a different one. */
const BEGUN = new RegExp(
  String.raw`\b(?:${NUMBER_WORD}|plus|minus|times|by|over|add|subtract|from|multiply|divide|root|between)\s+(?:(?:the|value|result|of|and|an?)\s+){0,4}$`,
  "i",
);
const GOES_ON =
  /^\s*[,，]?\s*(?:(?:(?:and|but|then)\s+){0,2}(?:(?:it|that|the result)\s+)?(?:plus|minus|times|multipl|divide|add|subtract|double|triple|halve|square|cube|round|raise|(?:an? |one |three )?(?:half|quarter|third|tenth))|(?:and|then)\s+(?:it|that)\b|(?:然后|再|并|接着|之后)*\s*(?:[加减乘除]|平方|开方|翻倍))/i;
/** "Don't calculate 2+2", in the same clause. */
const FORBIDDEN =
  /(?:\b(?:not|never|don['’]?t|without)\b(?! (?:know|understand|sure))|不要|(?<![分特区个级])别|不用|不必|无需|勿)[^.!?;,，。！？；\n]*$/i;
const EQUALS = /^\s*(?:=|等于|是多少|equals)/i;
const LISTED = /^(?:[\s,，、;?!.？！。]|and|和|与)+$/i;

/** "24/7" and "3-4" are often not arithmetic and need a cue. With spaces, or in words, they do not. */
function isMeant(
  words: string,
  { before, after }: { readonly before: string; readonly after: string },
  isNext: boolean,
): boolean {
  if (!BEFORE.test(before) && !(isNext && LISTED.test(before)) && !CUE.test(before)) return false;
  if (!AFTER.test(after) || BEGUN.test(before) || GOES_ON.test(after) || FORBIDDEN.test(before)) return false;
  if (/[+*^]|sqrt|\s[-/]\s/.test(words) || CUE.test(before) || EQUALS.test(after)) return true;
  const isAlone = before.trim() === "" && /^[\s=?？。.!！]*$/.test(after);
  return (isAlone && !isNext) || (isNext && LISTED.test(before));
}

/** A complete number. The bounds keep matching fast on long runs of digits. */
const N = String.raw`(?<![\d.])(\d{1,40}(?:\.\d{1,40})?)(?!\d|\.\d)`;
/** The same, with no operator before it or after it. */
const FIRST = String.raw`(?<![-+*/^加减乘除上去以]\s{0,4})${N}`;
const LAST = String.raw`${N}(?!\s*(?:[-+*/^%×÷!]|x\s*\d|times|multiplied|divided|over|plus|minus|squared|cubed|to the|percent|的|[加减乘除]))`;
/** Dates, times, versions, phone numbers and idioms that look like arithmetic. */
const NOT_ARITHMETIC =
  /(?<![\d.])(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/])\d{1,2}\2\d{4}|\d{1,2}:\d\d(?::\d\d)?|\d+(?:\.\d+){2,}|(?:\+?\d{1,3}-)?\d{3}-\d{3,4}-\d{4}|\d[\d.]*,\d{1,2}(?!\d)|0[xob][\da-f]+|24\/7|9\/11|50\/50)(?!\d)/gi;

/** Words and symbols for the operations; longer ones first. */
const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/(\d),(?=\d{3}\b)/g, "$1"],
  [sign(`(?:\\bthe )?\\bsquare root of\\s*${N}`), "sqrt($1)"],
  [/(?:\bthe )?\bsquare root of\s*(?=\()/gi, "sqrt"],
  [sign(`${N}\\s*的平方根`), "sqrt($1)"],
  [sign(`(?:根号|√)\\s*${N}`), "sqrt($1)"],
  [sign(`${N}\\s*(?:%|percent) of\\s*${N}`), "($1/100*$2)"],
  [sign(`${N}\\s*的\\s*${N}\\s*%`), "($1*$2/100)"],
  [sign(`${N}\\s*/\\s*${N} of ${N}`), "($1/$2*$3)"],
  [sign(`${N}\\s*的\\s*${N}\\s*次方`), "$1^$2"],
  [sign(`\\b(?:add ${N} (?:and|to|plus)|(?:the )?sum of ${N} (?:and|plus)) ${LAST}`), "($1$2 + $3)"],
  [sign(`\\bsubtract ${N} from ${LAST}`), "($2 - $1)"],
  [sign(`\\b(?:multiply|(?:the )?product of) ${N} (?:by|with|and) ${LAST}`), "($1 * $2)"],
  [sign(`\\bdivide ${N} by ${LAST}`), "($1 / $2)"],
  [sign(`${FIRST}\\s*[和与]\\s*${N}\\s*的和`), "($1 + $2)"],
  [sign(`${FIRST}\\s*[和与]\\s*${N}\\s*的(?:乘)?积`), "($1 * $2)"],
  [/(?<=[\d)])\s*(?:\*\*|to the power of)\s*(?=[\d(.-])/gi, "^"],
  [/(?<=[\d)])\s*(?:squared|的平方)/gi, "^2"],
  [/(?<=[\d)])\s*(?:cubed|的立方)/gi, "^3"],
  [operator("×|x|·|times|multiplied by|乘以|乘上|乘"), " * "],
  [operator("÷|divided by|over|除以"), " / "],
  [operator("plus|加上|加"), " + "],
  [operator("−|minus|减去|减"), " - "],
];

function sign(source: string): RegExp {
  return new RegExp(source, "gi");
}

function operator(words: string): RegExp {
  return sign(String.raw`(?<=[\d)])\s*(?:${words})\s*(?=[\d(.-]|sqrt\()`);
}

/** "…, then times 2", "再乘以 2": applies to the whole expression so far, regardless of precedence. */
const CHAIN =
  /\s{0,4}[,，]?\s{0,4}(?:and then|then|and|然后再|然后|再|并)\s{0,4}(?:(?:it|that)\s{1,4})?(?:(times|multiply (?:it |that |the result )?by|multiplied by|乘以|乘上|乘|\*)|(divide (?:it |that |the result )?by|divided by|除以|\/)|(plus|add|加上|加|\+)|(minus|subtract|减去|减|-))\s{0,4}(\d{1,40}(?:\.\d{1,40})?)/iy;

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
  let signs = writeDigits(text.normalize("NFKC")).replaceAll(NOT_ARITHMETIC, (match) => "#".repeat(match.length));
  for (const [words, operator] of SIGNS) signs = signs.replaceAll(words, operator);
  return signs;
}

/** Removes spaces, and parentheses around the whole expression. */
function tidy(words: string): string {
  const compact = words.replaceAll(/\s+/g, "");
  return /^\(([^()]+)\)$/.exec(compact)?.[1] ?? compact;
}

function createTask(expression: string, at: number, end: number): FoundTask {
  const isAngle = /(?:sin|cos|tan)\(/i.test(expression);
  return {
    tool: "calculator",
    at,
    end,
    about: { en: expression, zh: expression },
    createInput: () => ({ expression }),
    describeResult: (result) => {
      const text = result.includes("=") ? result.trim() : `${expression} = ${result.trim()}`;
      return isAngle
        ? { en: `${text} (angles in radians).`, zh: `${text}（角度以弧度计）。` }
        : { en: `${text}.`, zh: `${text}。` };
    },
  };
}
