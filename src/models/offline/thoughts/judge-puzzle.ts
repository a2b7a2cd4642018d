/**
 * Judges the remaining numbers of a Game of 24. With two numbers it tries every operation, with more only a few
 * combinations. It can therefore be wrong about three or more numbers, but "impossible" is always right.
 */
import { pseudoRandom } from "./pseudo-random.ts";
import { combine, type Fraction, isSame, toNumber, writeFraction } from "./fraction.ts";
import { listMoves, type Move, writeNumbers, writeSum } from "./puzzle-steps.ts";

export interface PuzzleJudgement {
  /** From 0 (a dead end) to 1. */
  readonly score: number;
  readonly verdict: "solved" | "sure" | "likely" | "unclear" | "impossible" | "too_small";
  /** The calculations that were tried; for a positive verdict, the one that counts. */
  readonly tried: readonly string[];
}

/** Random combinations to try if there are too many for all. */
const GLANCES = 2;

export function judgeLeft(left: readonly Fraction[], target: Fraction, seed: number): PuzzleJudgement {
  if (left.length < 2) {
    const isSolved = left[0] !== undefined && isSame(left[0], target);
    return { score: isSolved ? 1 : 0, verdict: isSolved ? "solved" : "impossible", tried: [] };
  }
  if (isTooSmall(left, target)) return { score: 0, verdict: "too_small", tried: [] };
  return left.length === 2 ? judgeTwo(left, target) : judgeAtAGlance(left, target, seed);
}

function judgeTwo(left: readonly Fraction[], target: Fraction): PuzzleJudgement {
  const moves = listMoves(left);
  const hit = moves.find(({ result }) => isSame(result, target));
  return hit === undefined
    ? { score: 0, verdict: "impossible", tried: moves.slice(0, 3).map(writeSum) }
    : { score: 0.95, verdict: "sure", tried: [writeSum(hit)] };
}

function judgeAtAGlance(left: readonly Fraction[], target: Fraction, seed: number): PuzzleJudgement {
  const tries = listTries(left, target, seed);
  let best: PuzzleTry | undefined;
  for (const one of tries) if (best === undefined || one.distance < best.distance) best = one;
  const goal = Math.max(1, Math.abs(toNumber(target)));
  if (best?.distance === 0) return { score: 0.85, verdict: "likely", tried: [best.text] };
  // The closer the result, and the more numbers divide the target, the better; never low enough to be pruned.
  const nearness = best === undefined ? 0 : Math.max(0, 1 - best.distance / goal);
  const score = 0.35 + 0.25 * nearness * nearness + 0.15 * rateNumbers(left, target);
  return { score: round(score), verdict: "unclear", tried: tries.slice(0, 3).map(({ text }) => text) };
}

interface PuzzleTry {
  readonly text: string;
  readonly distance: number;
}

/** Tries the sum, the product, and some combinations drawn with the seed: a random move, then the best last move. */
function listTries(left: readonly Fraction[], target: Fraction, seed: number): readonly PuzzleTry[] {
  const tries = [tryAll(left, "+", target), tryAll(left, "*", target)].filter((one) => one !== undefined);
  const state = writeNumbers(left);
  for (let glance = 0; glance < GLANCES; glance++) {
    let moves: readonly Move[] = preferWhole(listMoves(left));
    const texts: string[] = [];
    for (let n = 0; ; n++) {
      const move = moves[Math.floor(pseudoRandom(seed, `${state}|${glance}|${n}`) * moves.length)];
      if (move === undefined) break;
      texts.push(writeSum(move));
      if (move.left.length === 2) {
        const last = findNearest(listMoves(move.left), target);
        if (last !== undefined)
          tries.push({ text: [...texts, writeSum(last)].join(", "), distance: measure(last.result, target) });
        break;
      }
      moves = preferWhole(listMoves(move.left));
    }
  }
  return tries;
}

function tryAll(left: readonly Fraction[], operator: "+" | "*", target: Fraction): PuzzleTry | undefined {
  let result: Fraction | undefined;
  for (const number of left) result = result === undefined ? number : combine(result, operator, number);
  if (result === undefined) return undefined;
  const text = `${left.map(writeFraction).join(` ${operator} `)} = ${writeFraction(result)}`;
  return { text, distance: measure(result, target) };
}

/** Avoids fractions if possible. */
function preferWhole(moves: readonly Move[]): readonly Move[] {
  const whole = moves.filter(({ result }) => result.d === 1);
  return whole.length > 0 ? whole : moves;
}

function findNearest(moves: readonly Move[], target: Fraction): Move | undefined {
  let nearest: Move | undefined;
  for (const move of moves) {
    if (nearest === undefined || measure(move.result, target) < measure(nearest.result, target)) nearest = move;
  }
  return nearest;
}

function measure(value: Fraction, target: Fraction): number {
  return isSame(value, target) ? 0 : Math.max(Math.abs(toNumber(value) - toNumber(target)), Number.EPSILON);
}

/** Share of the numbers that divide the target, from 0 to 1. */
export function rateNumbers(left: readonly Fraction[], target: Fraction): number {
  return left.filter(({ n, d }) => d === 1 && n !== 0 && target.d === 1 && target.n % n === 0).length / left.length;
}

/**
 * Whether the target is certainly out of reach. For any result of these numbers, |numerator| + denominator is at most
 * the product of |numerator| + denominator over the numbers.
 */
export function isTooSmall(left: readonly Fraction[], target: Fraction): boolean {
  let most = 1;
  for (const { n, d } of left) most *= Math.abs(n) + d;
  return most < Math.abs(target.n) + target.d;
}

function round(score: number): number {
  return Math.round(score * 100) / 100;
}
