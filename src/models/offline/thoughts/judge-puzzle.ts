/**
 * Judges what is left in a Game of 24, as a person would: with two numbers every way is tried, with more a few at a
 * glance. It looks for no solution beyond that, so it can be wrong about three numbers and more; only what it calls
 * impossible is so.
 */
import { drawNumber } from "./draw-number.ts";
import { combine, type Fraction, isSame, toNumber, writeFraction } from "./fraction.ts";
import { listMoves, type Move, writeNumbers, writeSum } from "./puzzle-steps.ts";

export interface Judgement {
  /** From 0, a dead end, to 1. */
  readonly score: number;
  readonly verdict: "solved" | "sure" | "likely" | "unclear" | "impossible" | "too_small";
  /** What was tried, as it would be written down; the last is the one that counts. */
  readonly tried: readonly string[];
}

/** Ways that are looked at where all of them would be too many for a glance. */
const GLANCES = 2;

export function judgeLeft(left: readonly Fraction[], target: Fraction, seed: number): Judgement {
  if (left.length < 2) {
    const isSolved = left[0] !== undefined && isSame(left[0], target);
    return { score: isSolved ? 1 : 0, verdict: isSolved ? "solved" : "impossible", tried: [] };
  }
  if (isTooSmall(left, target)) return { score: 0, verdict: "too_small", tried: [] };
  return left.length === 2 ? judgeTwo(left, target) : judgeAtAGlance(left, target, seed);
}

function judgeTwo(left: readonly Fraction[], target: Fraction): Judgement {
  const moves = listMoves(left);
  const hit = moves.find(({ result }) => isSame(result, target));
  return hit === undefined
    ? { score: 0, verdict: "impossible", tried: moves.slice(0, 3).map(writeSum) }
    : { score: 0.95, verdict: "sure", tried: [writeSum(hit)] };
}

function judgeAtAGlance(left: readonly Fraction[], target: Fraction, seed: number): Judgement {
  const tries = listTries(left, target, seed);
  let best: Try | undefined;
  for (const one of tries) if (best === undefined || one.distance < best.distance) best = one;
  const goal = Math.max(1, Math.abs(toNumber(target)));
  if (best?.distance === 0) return { score: 0.85, verdict: "likely", tried: [best.text] };
  // The nearer it came, and the more the numbers go into the target, the better; never so bad that it is given up.
  const nearness = best === undefined ? 0 : Math.max(0, 1 - best.distance / goal);
  const score = 0.35 + 0.25 * nearness * nearness + 0.15 * rateNumbers(left, target);
  return { score: round(score), verdict: "unclear", tried: tries.slice(0, 3).map(({ text }) => text) };
}

interface Try {
  readonly text: string;
  readonly distance: number;
}

/** The sum, the product, and some that the seed picks: a move at random, then the best of the next ones. */
function listTries(left: readonly Fraction[], target: Fraction, seed: number): readonly Try[] {
  const tries = [tryAll(left, "+", target), tryAll(left, "*", target)].filter((one) => one !== undefined);
  const state = writeNumbers(left);
  for (let glance = 0; glance < GLANCES; glance++) {
    let moves: readonly Move[] = preferWhole(listMoves(left));
    const texts: string[] = [];
    for (let n = 0; ; n++) {
      const move = moves[Math.floor(drawNumber(seed, `${state}|${glance}|${n}`) * moves.length)];
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

function tryAll(left: readonly Fraction[], operator: "+" | "*", target: Fraction): Try | undefined {
  let result: Fraction | undefined;
  for (const number of left) result = result === undefined ? number : combine(result, operator, number);
  if (result === undefined) return undefined;
  const text = `${left.map(writeFraction).join(` ${operator} `)} = ${writeFraction(result)}`;
  return { text, distance: measure(result, target) };
}

/** People look at fractions last. */
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

/** The share of the numbers that go into the target, from 0 to 1. */
export function rateNumbers(left: readonly Fraction[], target: Fraction): number {
  return left.filter(({ n, d }) => d === 1 && n !== 0 && target.d === 1 && target.n % n === 0).length / left.length;
}

/**
 * Whether the target is out of reach for certain. Above and below the line of whatever can be made of these numbers
 * there are, together, at most the product of what is above and below theirs.
 */
export function isTooSmall(left: readonly Fraction[], target: Fraction): boolean {
  let most = 1;
  for (const { n, d } of left) most *= Math.abs(n) + d;
  return most < Math.abs(target.n) + target.d;
}

function round(score: number): number {
  return Math.round(score * 100) / 100;
}
