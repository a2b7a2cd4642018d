/**
 * Moves of a Game of 24: two of the remaining numbers become one. A step is written as a line and parsed again; the
 * remaining numbers are always recomputed, never read from the line.
 */
import type { OfflineLanguage } from "../offline-task.ts";
import { combine, type Fraction, isSame, type Operator, readFraction, toNumber, writeFraction } from "./fraction.ts";
import type { Puzzle } from "./read-puzzle.ts";

/** A remaining number and the expression it was computed with. */
export interface PuzzleNumber {
  readonly value: Fraction;
  readonly expression: string;
  /** The outermost operator of the expression; undefined for a plain number. */
  readonly operator?: Operator;
}

export interface Move {
  readonly a: Fraction;
  readonly operator: Operator;
  readonly b: Fraction;
  readonly result: Fraction;
  /** The remaining numbers after the move, smallest first. */
  readonly left: readonly Fraction[];
}

/** Lists moves with distinct results. Negative results are not needed: every solution can do without them. */
export function listMoves(left: readonly Fraction[]): readonly Move[] {
  const moves = new Map<string, Move>();
  for (const [i, one] of left.entries()) {
    for (const [j, other] of left.entries()) {
      if (i >= j) continue;
      const [a, b] = toNumber(one) >= toNumber(other) ? [one, other] : [other, one];
      const rest = left.filter((_, at) => at !== i && at !== j);
      for (const [x, operator, y] of [
        [a, "+", b],
        [a, "-", b],
        [a, "*", b],
        [a, "/", b],
        [b, "/", a],
      ] as const) {
        const result = combine(x, operator, y);
        if (result === undefined) continue;
        const after = sortNumbers([...rest, result]);
        const key = writeNumbers(after);
        if (!moves.has(key)) moves.set(key, { a: x, operator, b: y, result, left: after });
      }
    }
  }
  return [...moves.values()];
}

export function sortNumbers(numbers: readonly Fraction[]): readonly Fraction[] {
  return [...numbers].sort((a, b) => toNumber(a) - toNumber(b));
}

export function writeNumbers(numbers: readonly Fraction[]): string {
  return numbers.map(writeFraction).join(" ");
}

export function writeSum({ a, operator, b, result }: Omit<Move, "left">): string {
  const second = operator === "/" && b.d > 1 ? `(${writeFraction(b)})` : writeFraction(b);
  return `${writeFraction(a)} ${operator} ${second} = ${writeFraction(result)}`;
}

export function writeMove(move: Move, language: OfflineLanguage): string {
  const left = writeNumbers(move.left);
  return language === "zh" ? `${writeSum(move)}（剩下：${left}）` : `${writeSum(move)} (left: ${left})`;
}

const STEP = /(-?\d+(?:\/\d+)?)\)? ?([-+*/×÷x−]) ?\(?(-?\d+(?:\/\d+)?)\)? ?= ?(-?\d+(?:\/\d+)?)/;
const SIGNS: Readonly<Record<string, Operator>> = { "×": "*", x: "*", "÷": "/", "−": "-" };
/** Longer steps are invalid. */
const MAX_STEP = 400;

/** Returns the remaining numbers after these steps; undefined if a step is invalid. */
export function followSteps(puzzle: Puzzle, steps: readonly string[]): readonly PuzzleNumber[] | undefined {
  let items: readonly PuzzleNumber[] = puzzle.numbers.map((value) => ({ value, expression: writeFraction(value) }));
  for (const step of steps) {
    const next = takeStep(items, step);
    if (next === undefined) return undefined;
    items = next;
  }
  return items;
}

function takeStep(items: readonly PuzzleNumber[], step: string): readonly PuzzleNumber[] | undefined {
  const [, first = "", sign = "", second = "", gives = ""] = STEP.exec(step.slice(0, MAX_STEP)) ?? [];
  const [a, b, result] = [first, second, gives].map(readFraction);
  const operator = SIGNS[sign] ?? (sign as Operator);
  if (a === undefined || b === undefined || result === undefined) return undefined;
  const one = items.find(({ value }) => isSame(value, a));
  const other = items.find((item) => item !== one && isSame(item.value, b));
  if (one === undefined || other === undefined) return undefined;
  const value = combine(a, operator, b);
  if (value === undefined || !isSame(value, result)) return undefined;
  const made = { value, expression: joinExpressions(one, operator, other), operator };
  return [...items.filter((item) => item !== one && item !== other), made];
}

/** Uses as few parentheses as possible. */
function joinExpressions(one: PuzzleNumber, operator: Operator, other: PuzzleNumber): string {
  const isTight = operator === "*" || operator === "/";
  const isLoose = ({ operator: top }: PuzzleNumber): boolean => top === "+" || top === "-";
  const left = isTight && isLoose(one) ? `(${one.expression})` : one.expression;
  const needs =
    other.operator !== undefined &&
    (operator === "/" || (isTight && isLoose(other)) || (operator === "-" && isLoose(other)));
  return `${left} ${operator} ${needs ? `(${other.expression})` : other.expression}`;
}
