/**
 * The Game of 24: makes 24 from three or four numbers, each used once. Moves are rated imperfectly on purpose, so that a
 * search really meets dead ends; only with one or two numbers left a rating is certain.
 */

/** Numerator and positive denominator, in lowest terms. */
type Fraction = readonly [n: number, d: number];
type Operator = "+" | "-" | "*" | "/";

/** A remaining number and the expression it was computed with. */
export interface PuzzleNumber {
  readonly value: Fraction;
  readonly text: string;
  /** The outermost operator of the expression; undefined for a plain number. */
  readonly operator?: Operator;
}

/** Two of the remaining numbers become one. */
export interface PuzzleMove {
  /** `13 - 9 = 4` */
  readonly sum: string;
  readonly left: readonly PuzzleNumber[];
}

const TARGET = 24;
/** At most 999, so that all results stay within the safe integers. */
const GAME =
  /(?:game of 24|24 game|24\s*点)[^\d]{0,20}(?<numbers>\d{1,3}(?:[\s,，、]+\d{1,3}){2,3})(?![\d.]|[\s,，、]+\d)/i;

/** The numbers of a puzzle in the text, if there is one. */
export function readPuzzle(text: string): readonly PuzzleNumber[] | undefined {
  const numbers = GAME.exec(text)?.groups?.["numbers"];
  return numbers?.match(/\d+/g)?.map((one): PuzzleNumber => ({ value: [Number(one), 1], text: one }));
}

function writeFraction([n, d]: Fraction): string {
  return d === 1 ? String(n) : `${n}/${d}`;
}

export function writeNumbers(numbers: readonly PuzzleNumber[]): string {
  return numbers.map(({ value }) => writeFraction(value)).join(" ");
}

function reduce(n: number, d: number): Fraction {
  let [a, b] = [Math.abs(n), d];
  while (b !== 0) [a, b] = [b, a % b];
  return [n / a, d / a];
}

/** Negative results are not needed: every solution can do without them. */
function combine([a, b]: Fraction, operator: Operator, [c, d]: Fraction): Fraction | undefined {
  if (operator === "+") return reduce(a * d + c * b, b * d);
  if (operator === "*") return reduce(a * c, b * d);
  if (operator === "/") return c === 0 ? undefined : reduce(a * d, b * c);
  return a * d < c * b ? undefined : reduce(a * d - c * b, b * d);
}

/** Uses as few parentheses as possible. */
function joinTexts(one: PuzzleNumber, operator: Operator, other: PuzzleNumber): string {
  const isProduct = operator === "*" || operator === "/";
  const isSum = (number: PuzzleNumber): boolean => number.operator === "+" || number.operator === "-";
  const first = isProduct && isSum(one) ? `(${one.text})` : one.text;
  const isLoose = isSum(other) && operator !== "+";
  const second = isLoose || (operator === "/" && other.operator !== undefined) ? `(${other.text})` : other.text;
  return `${first} ${operator} ${second}`;
}

/** Lists the moves with distinct results. */
function listMoves(numbers: readonly PuzzleNumber[]): readonly PuzzleMove[] {
  const moves = new Map<string, PuzzleMove>();
  for (const [i, one] of numbers.entries())
    for (const [j, other] of numbers.entries())
      for (const operator of i > j ? (["+", "*", "-", "/"] as const) : (["-", "/"] as const)) {
        const value = i === j ? undefined : combine(one.value, operator, other.value);
        if (value === undefined) continue;
        const made: PuzzleNumber = { value, text: joinTexts(one, operator, other), operator };
        const left = [...numbers.filter((_, at) => at !== i && at !== j), made].sort(compare);
        const divisor =
          operator === "/" && other.value[1] > 1 ? `(${writeFraction(other.value)})` : writeFraction(other.value);
        const sum = `${writeFraction(one.value)} ${operator} ${divisor} = ${writeFraction(value)}`;
        if (!moves.has(writeNumbers(left))) moves.set(writeNumbers(left), { sum, left });
      }
  return [...moves.values()];
}

function compare({ value: [a, b] }: PuzzleNumber, { value: [c, d] }: PuzzleNumber): number {
  return a * d - c * b;
}

/** Returns at most `max` moves, the best rated first. One that leads to 24 is always among them, if there is one. */
export function proposeMoves(numbers: readonly PuzzleNumber[], max: number): readonly PuzzleMove[] {
  const moves = listMoves(numbers).toSorted((a, b) => rateNumbers(b.left) - rateNumbers(a.left));
  const chosen = moves.slice(0, max);
  if (chosen.some(({ left }) => canReach(left))) return chosen;
  const saving = moves.find(({ left }) => canReach(left));
  return saving === undefined ? chosen : [...chosen.slice(0, -1), saving];
}

/** Whether the numbers were tried before, and lead to 24. */
const KNOWN = new Map<string, boolean>();
const MAX_KNOWN = 20_000;

function canReach(numbers: readonly PuzzleNumber[]): boolean {
  if (numbers.length === 1) return isSolved(numbers);
  const key = writeNumbers(numbers);
  let known = KNOWN.get(key);
  if (known === undefined) {
    known = listMoves(numbers).some(({ left }) => canReach(left));
    if (KNOWN.size < MAX_KNOWN) KNOWN.set(key, known);
  }
  return known;
}

export function isSolved([only, ...others]: readonly PuzzleNumber[]): boolean {
  return others.length === 0 && only?.value[0] === TARGET && only.value[1] === 1;
}

/** From 0, a dead end, to 1. `insight` is how much a position counts that leads to 24. */
export function rateNumbers(numbers: readonly PuzzleNumber[], insight = 0.1): number {
  if (numbers.length === 1) return isSolved(numbers) ? 1 : 0;
  if (numbers.length === 2) return canReach(numbers) ? 0.95 : 0;
  // A guess, as a player makes it: fractions look bad, and the rest is a feeling.
  const isWhole = numbers.every(({ value }) => value[1] === 1);
  const score = 0.35 + 0.25 * guess(writeNumbers(numbers)) + (isWhole ? 0.2 : 0) + (canReach(numbers) ? insight : 0);
  return Math.round(score * 100) / 100;
}

/** A number from 0 to 1 that depends only on the text. */
export function guess(text: string, seed = 0): number {
  let hash = 2166136261 ^ seed;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16777619);
  hash = Math.imul(hash ^ (hash >>> 15), 2246822519);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}

/** The remaining numbers after these steps; undefined if one of them is not a move. */
export function followSteps(
  puzzle: readonly PuzzleNumber[],
  steps: readonly string[],
): readonly PuzzleNumber[] | undefined {
  let left: readonly PuzzleNumber[] | undefined = puzzle;
  for (const step of steps) left = left && listMoves(left).find(({ sum }) => step.startsWith(sum))?.left;
  return left;
}

/** The numbers that are left after the best moves: one number, if there is a solution. */
export function solvePuzzle(puzzle: readonly PuzzleNumber[]): readonly PuzzleNumber[] {
  let left = puzzle;
  while (left.length > 1) {
    const next = listMoves(left).find((move) => canReach(move.left));
    if (next === undefined) return left;
    left = next.left;
  }
  return left;
}
