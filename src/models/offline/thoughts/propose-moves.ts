/**
 * Ranks the moves of a Game of 24 by simple heuristics: whole numbers of a useful size, and some known tricks. It looks
 * one move ahead.
 */
import { combine, type Fraction, isSame, toNumber } from "./fraction.ts";
import { rateNumbers } from "./judge-puzzle.ts";
import { listMoves, type Move } from "./puzzle-steps.ts";

/** Returns at most `max` moves, the most promising first. */
export function proposeMoves(left: readonly Fraction[], target: Fraction, max: number): readonly Move[] {
  return listMoves(left)
    .map((move) => ({ move, rank: rankMove(move, target) }))
    .sort((a, b) => b.rank - a.rank)
    .slice(0, max)
    .map(({ move }) => move);
}

/** Tuned on all puzzles of four cards: the first 16 moves always contain a right one. */
const WEIGHTS = {
  divisors: 1.1,
  divides: 0.25,
  fraction: -0.5,
  large: -0.35,
  huge: -0.7,
  zero: -1.6,
  even: 1.35,
  unit: 0.8,
  lifted: 0.4,
  operator: { "+": 0.25, "-": 0.3, "*": -0.1, "/": 0 },
} as const;

function rankMove({ result, operator, left }: Move, target: Fraction): number {
  if (left.length === 1) return isSame(result, target) ? 1 : 0;
  const rest = left.filter((number) => number !== result);
  const size = toNumber(result);
  const goal = Math.abs(toNumber(target));
  let rank = WEIGHTS.operator[operator] + WEIGHTS.divisors * rateNumbers(left, target);
  if (size === 0) rank += WEIGHTS.zero;
  if (size > 3 * goal) rank += WEIGHTS.huge;
  else if (size > goal) rank += WEIGHTS.large;
  if (result.d > 1) return rank + rankFraction(result, rest);
  if (rateNumbers([result], target) === 1) rank += WEIGHTS.divides;
  return rest.some((number) => comesOutEven(result, number, target)) ? rank + WEIGHTS.even : rank;
}

/** A fraction is useful next to a number that leaves a unit fraction, or one that cancels its denominator. */
function rankFraction(made: Fraction, rest: readonly Fraction[]): number {
  let rank: number = WEIGHTS.fraction;
  if (rest.some((number) => Math.abs(combine(made, "-", number)?.n ?? 0) === 1)) rank += WEIGHTS.unit;
  if (rest.some(({ n, d }) => d === 1 && n !== 0 && n % made.d === 0)) rank += WEIGHTS.lifted;
  return rank;
}

/** A large number is useful for a division at the end. */
function comesOutEven(made: Fraction, other: Fraction, target: Fraction): boolean {
  return (["+", "-"] as const).some((operator) => {
    const { n = 0, d = 0 } = combine(made, operator, other) ?? {};
    return d === 1 && target.n !== 0 && n > target.n && n % target.n === 0;
  });
}
