/** A Game of 24 outside of a tree: one way is followed, always with the move that looks best. It may well miss. */
import type { Language } from "../errand.ts";
import { answerPuzzle } from "./answer-puzzle.ts";
import { judgeLeft } from "./judge-puzzle.ts";
import { proposeMoves } from "./propose-moves.ts";
import { type Move, writeMove } from "./puzzle-steps.ts";
import type { Puzzle } from "./read-puzzle.ts";

const SEED = 1;
const MAX_MOVES = 40;

export function solveAtOnce(puzzle: Puzzle, language: Language): string {
  const steps = [];
  let left = puzzle.numbers;
  while (left.length > 1) {
    let best: { readonly move: Move; readonly score: number } | undefined;
    for (const move of proposeMoves(left, puzzle.target, MAX_MOVES)) {
      const { score } = judgeLeft(move.left, puzzle.target, SEED);
      if (best === undefined || score > best.score) best = { move, score };
    }
    if (best === undefined || best.score === 0) break;
    steps.push({ text: writeMove(best.move, language), actions: [], observations: [] });
    left = best.move.left;
  }
  const request = { kind: "conclude", question: "", steps, outcome: "solved" } as const;
  return answerPuzzle(puzzle, request, SEED, language).text;
}
