/**
 * Solves a Game of 24 outside a tree search: tries combinations, likely ones first, until it finds a solution or
 * reaches the state limit. At the limit it does not claim that there is none. Other requests of the message that tools
 * handle are not reported as skipped.
 */
import type { OfflineLanguage } from "../offline-task.ts";
import { findTasks } from "../find-tasks.ts";
import { concludePuzzle } from "./answer-puzzle.ts";
import { type Fraction, isSame } from "./fraction.ts";
import { isTooSmall } from "./judge-puzzle.ts";
import { proposeMoves } from "./propose-moves.ts";
import { type Move, writeMove, writeNumbers } from "./puzzle-steps.ts";
import { describeUnread, type Puzzle, type UnreadPuzzle } from "./read-puzzle.ts";

/** Enough for any five numbers; a search with six may stop early. */
const MAX_STATES = 8000;

export function solvePuzzle(puzzle: Puzzle | UnreadPuzzle, language: OfflineLanguage): string {
  if ("unread" in puzzle) return describeUnread(puzzle, language);
  const { moves, isAll } = searchAll(puzzle);
  const steps = moves.map((move) => ({ text: writeMove(move, language), actions: [], observations: [] }));
  const { leftOut = "", ...alone } = puzzle;
  return concludePuzzle(findTasks(leftOut).length > 0 ? alone : puzzle, steps, language, isAll);
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

/** Whether all intermediate results stay within safe integers; see isTooSmall. */
function isExact(numbers: readonly Fraction[]): boolean {
  return numbers.reduce((most, { n, d }) => most * (Math.abs(n) + d), 1) <= Number.MAX_SAFE_INTEGER;
}
