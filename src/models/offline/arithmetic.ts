/** The skill of arithmetic: expressions, in signs or in words, for the tool `calculator`. */
import type { FoundErrand, Skill } from "./errand.ts";
import { readExpression } from "./read-expression.ts";

export const arithmetic: Skill = {
  abilities: [{ tool: "calculator", can: { en: "do arithmetic", zh: "做算术" } }],
  find(text) {
    const signs = writeSigns(text);
    const isAsked = CUE.test(text);
    const found: FoundErrand[] = [];
    for (const { index: at } of signs.matchAll(START)) {
      if ((found.at(-1)?.end ?? 0) > at) continue;
      const expression = readExpression(signs, at);
      if (expression === undefined || expression.operations === 0) continue;
      const { end } = expression;
      const words = signs.slice(at, end).trim();
      if (/^\d{4}-\d{1,2}-\d{1,2}$/.test(words)) continue;
      // "24/7" and "3-4 days" are no sums, unless somebody asks.
      const isAlone = signs.slice(0, at).trim() === "" && /^[\s=?？。.!！]*$/.test(signs.slice(end));
      if (!isAsked && !isAlone && !/[+*^]|sqrt/.test(words)) continue;
      const chained = readChain(signs, words.replaceAll(/\s+/g, ""), end);
      found.push(createErrand(chained.expression, at, chained.end));
    }
    return found;
  },
};

/** An operand begins here, and not in the middle of a word or a number. */
const START = /(?<![\w.])(?:\d|\.\d|\(|-\s*[\d(]|(?:sqrt|abs|round|floor|ceil|sin|cos|tan|ln|log|exp)\s*\()/gi;
const CUE =
  /\b(?:what(?:'s|’s| is| are)|calculate|compute|evaluate|solve|how much|result of|sum of)\b|=|计算|等于|多少|算/i;

/** Words and signs of their own for the four operations; longer ones first. Each keeps its length where it can. */
const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/(\d),(?=\d{3}\b)/g, "$1"],
  [/\bsquare root of\s*(\d+(?:\.\d+)?)/gi, "sqrt($1)"],
  [/(\d+(?:\.\d+)?)\s*的平方根/g, "sqrt($1)"],
  [/根号\s*(\d+(?:\.\d+)?)/g, "sqrt($1)"],
  [/(\d+(?:\.\d+)?)\s*(?:%|percent) of\s*(\d+(?:\.\d+)?)/gi, "($1/100*$2)"],
  [/(\d+(?:\.\d+)?)\s*的\s*(\d+(?:\.\d+)?)\s*%/g, "($1*$2/100)"],
  [/(?<=[\d)])\s*(?:\*\*|to the power of|的次方)\s*(?=[\d(.-])/gi, "^"],
  [/(?<=[\d)])\s*(?:squared|的平方)/gi, "^2"],
  [/(?<=[\d)])\s*(?:cubed|的立方)/gi, "^3"],
  [/(?<=[\d)])\s*(?:×|x|·|times|multiplied by|乘以|乘上|乘)\s*(?=[\d(.-])/gi, "*"],
  [/(?<=[\d)])\s*(?:÷|divided by|over|除以)\s*(?=[\d(.-])/gi, "/"],
  [/(?<=[\d)])\s*(?:plus|加上|加)\s*(?=[\d(.-])/gi, "+"],
  [/(?<=[\d)])\s*(?:−|–|minus|减去|减)\s*(?=[\d(.-])/gi, "-"],
];

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
    const sign = times !== undefined ? "*" : over !== undefined ? "/" : plus !== undefined ? "+" : "-";
    expression = `(${expression})${sign}${step[5] ?? ""}`;
    end = CHAIN.lastIndex;
  }
}

function writeSigns(text: string): string {
  let signs = text.normalize("NFKC");
  for (const [words, sign] of SIGNS) signs = signs.replaceAll(words, sign);
  return signs;
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
