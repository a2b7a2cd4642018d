/**
 * A Game of 24 outside of a tree: every way is tried, the likely ones first, until one is found. For more numbers than
 * there is time for it gives up after so many states, and then claims nothing. It is part of an answer that does what tools
 * can do of the same message, so that is not named as left out.
 */
import type { Language } from "../errand.ts";
import { findErrands } from "../find-errands.ts";
import { concludePuzzle } from "./answer-puzzle.ts";
import { type Fraction, isSame } from "./fraction.ts";
import { isTooSmall } from "./judge-puzzle.ts";
import { proposeMoves } from "./propose-moves.ts";
import { type Move, writeMove, writeNumbers } from "./puzzle-steps.ts";
import { describeUnread, type Puzzle, type UnreadPuzzle } from "./read-puzzle.ts";

/** Enough for any five numbers; six are tried as far as that goes. */
const MAX_STATES = 8000;

export function solveAtOnce(puzzle: Puzzle | UnreadPuzzle, language: Language): string {
  if ("unread" in puzzle) return describeUnread(puzzle, language);
  const { moves, isAll } = searchAll(puzzle);
  const steps = moves.map((move) => ({ text: writeMove(move, language), actions: [], observations: [] }));
  const { leftOut = "", ...alone } = puzzle;
  return concludePuzzle(findErrands(leftOut).length > 0 ? alone : puzzle, steps, language, isAll);
}

function searchAll({ numbers, target }: Puzzle): { readonly moves: readonly Move[]; readonly isAll: boolean } {
  const dead = new Set<string>();
  let states = 0;
  const find = (left: readonly Fraction[]): readonly Move[] | undefined => {
    const [only] = left;
    if (left.length === 1) return only !== undefined && isSame(only, target) ? [] : undefined;
    const key = writeNumbers(left);
    if (dead.has(key) || isTooSmall(left, target) || states >= MAX_STATES) return undefined;
    states++;
    for (const move of proposeMoves(left, target, Number.POSITIVE_INFINITY)) {
      const rest = find(move.left);
      if (rest !== undefined) return [move, ...rest];
    }
    dead.add(key);
    return undefined;
  };
  const moves = find(numbers) ?? [];
  return { moves, isAll: states < MAX_STATES && isExact(numbers) };
}

/** Whether nothing that can be made of them is too large to be counted; see isTooSmall. */
function isExact(numbers: readonly Fraction[]): boolean {
  return numbers.reduce((most, { n, d }) => most * (Math.abs(n) + d), 1) <= Number.MAX_SAFE_INTEGER;
}
