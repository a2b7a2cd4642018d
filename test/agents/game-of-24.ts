// Solves the Game of 24 by exhaustive search with exact fractions, to check the answers of agents.

/** The first 28 are hard: only few combinations lead to 24. */
export const SOLVABLE: readonly string[] = listPuzzles(`
  3 3 8 8, 1 5 5 5, 4 9 10 13, 8 11 12 12, 2 8 13 13, 6 12 12 13, 3 6 8 12, 1 4 5 9, 1 1 5 8, 1 7 7 12,
  2 2 9 10, 2 5 11 12, 1 5 7 9, 4 6 8 13, 3 3 7 13, 1 3 8 11, 1 8 12 12, 5 10 10 11, 2 2 7 10, 1 12 13 13,
  1 3 7 8, 2 2 6 9, 1 9 10 13, 5 7 10 11, 4 7 9 9, 4 5 6 13, 3 6 6 10, 2 6 6 13, 2 5 5 13, 4 8 8 12,
  5 8 9 12, 6 6 9 11, 8 8 12 13, 8 9 11 12, 3 5 11 12, 1 5 11 12, 2 2 3 13, 5 9 12 13, 2 7 9 13, 7 7 12 12,
  2 9 10 12, 10 11 11 13, 2 5 8 11, 2 3 5 7, 8 9 12 13, 7 10 10 11, 1 5 5 6, 4 6 8 9, 2 8 9 9, 5 5 5 6,
  2 11 12 13, 1 3 5 9, 2 3 4 12, 2 7 10 11, 5 5 9 11, 1 2 7 8, 2 8 10 12, 6 6 7 9, 2 12 13 13, 8 9 10 12
`);

/** No combination leads to 24. */
export const UNSOLVABLE: readonly string[] = listPuzzles(`
  1 1 2 3, 2 2 5 13, 1 4 10 13, 5 11 11 12, 1 1 1 3, 2 5 5 6, 2 4 11 13, 3 8 8 13, 1 9 9 11, 7 7 9 13,
  4 5 5 13, 4 11 11 11, 7 10 10 13, 5 7 8 13, 6 6 10 11, 1 1 2 2, 4 13 13 13, 3 13 13 13, 4 7 10 13, 5 10 12 12,
  2 5 9 9, 4 6 7 11, 9 9 11 11, 1 8 9 10, 4 9 9 13, 8 9 13 13, 5 7 8 12, 1 1 1 7, 5 9 9 9, 5 9 11 11,
  3 5 9 11, 7 7 10 10, 6 6 6 7, 2 4 12 13, 7 7 8 13, 11 11 11 11, 4 6 8 11, 1 7 11 11, 5 5 6 10, 5 11 13 13
`);

/** Numerator and positive denominator, without a common factor. */
type Rational = readonly [n: number, d: number];

const TARGET: Rational = [24, 1];

function make(n: number, d: number): Rational {
  const sign = d < 0 ? -1 : 1;
  let [a, b] = [Math.abs(n), Math.abs(d)];
  while (b !== 0) [a, b] = [b, a % b];
  return [(sign * n) / (a || 1), (sign * d) / (a || 1)];
}

function combine([an, ad]: Rational, sign: string, [bn, bd]: Rational): Rational | undefined {
  if (sign === "+") return make(an * bd + bn * ad, ad * bd);
  if (sign === "-") return make(an * bd - bn * ad, ad * bd);
  if (sign === "*") return make(an * bn, ad * bd);
  return bn === 0 ? undefined : make(an * bd, ad * bn);
}

function isTarget([n, d]: Rational): boolean {
  return n === TARGET[0] && d === TARGET[1];
}

function listPuzzles(text: string): readonly string[] {
  return text.split(",").map((puzzle) => puzzle.trim());
}

export function readNumbers(puzzle: string): readonly number[] {
  return puzzle.split(" ").map(Number);
}

/** Counts the ways to combine two numbers at a time until 24 is left. */
export function countSolutions(numbers: readonly number[]): number {
  return count(numbers.map((number) => make(number, 1)));
}

function count(left: readonly Rational[]): number {
  const [first] = left;
  if (left.length === 1) return first !== undefined && isTarget(first) ? 1 : 0;
  let found = 0;
  for (const [i, a] of left.entries())
    for (const [j, b] of left.entries()) {
      if (i === j) continue;
      const rest = left.filter((_, at) => at !== i && at !== j);
      for (const sign of i < j ? ["+", "-", "*", "/"] : ["-", "/"]) {
        const result = combine(a, sign, b);
        if (result !== undefined) found += count([...rest, result]);
      }
    }
  return found;
}

/** Describes what is wrong with a claimed solution; undefined if it is correct. */
export function findMistake(answer: string, numbers: readonly number[]): string | undefined {
  const [, expression] = /([\d\s()+\-*/]*[\d)])\s*=\s*24\b/u.exec(answer) ?? [];
  if (expression === undefined) return "there is no expression that equals 24";
  const used = (expression.match(/\d+/gu) ?? []).map(Number);
  if (used.toSorted((a, b) => a - b).join() !== numbers.toSorted((a, b) => a - b).join())
    return `the numbers used are ${used.join(" ")}`;
  const value = new ExpressionParser(expression).read();
  if (value === undefined) return `${expression} cannot be parsed`;
  return isTarget(value) ? undefined : `${expression} is ${value.join("/")}`;
}

/** Parses sums and products of numbers, with parentheses. */
class ExpressionParser {
  readonly #signs: readonly string[];
  #at = 0;

  constructor(expression: string) {
    this.#signs = expression.match(/\d+|[()+\-*/]/gu) ?? [];
  }

  read(): Rational | undefined {
    const value = this.#readSum();
    return this.#at === this.#signs.length ? value : undefined;
  }

  #readSum(): Rational | undefined {
    return this.#readChain(["+", "-"], () => this.#readChain(["*", "/"], () => this.#readOne()));
  }

  #readChain(signs: readonly string[], readNext: () => Rational | undefined): Rational | undefined {
    let value = readNext();
    for (let sign = this.#signs[this.#at]; sign !== undefined && signs.includes(sign); sign = this.#signs[this.#at]) {
      this.#at++;
      const next = readNext();
      value = value === undefined || next === undefined ? undefined : combine(value, sign, next);
    }
    return value;
  }

  #readOne(): Rational | undefined {
    const sign = this.#signs[this.#at++] ?? "";
    if (sign !== "(") return /^\d+$/u.test(sign) ? make(Number(sign), 1) : undefined;
    const value = this.#readSum();
    return this.#signs[this.#at++] === ")" ? value : undefined;
  }
}
