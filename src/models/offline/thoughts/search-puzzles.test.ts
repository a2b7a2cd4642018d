/** Judgements and proposals in a small tree search: good enough for a beam, not for a greedy search. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SAMPLES } from "../../../../test/sampling.ts";
import { createFraction, type Fraction, isSame } from "./fraction.ts";
import { isTooSmall, type PuzzleJudgement, judgeLeft } from "./judge-puzzle.ts";
import { proposeMoves } from "./propose-moves.ts";
import { followSteps, listMoves, writeMove, writeNumbers } from "./puzzle-steps.ts";
import { solvePuzzle } from "./solve-puzzle.ts";

const numbers = (...given: readonly number[]): readonly Fraction[] => given.flatMap((n) => createFraction(n) ?? []);
const [TARGET = { n: 24, d: 1 }] = numbers(24);

const known = new Map<string, boolean>();
function isSolvable(left: readonly Fraction[], target = TARGET): boolean {
  const key = `${writeNumbers(left)} → ${target.n}/${target.d}`;
  let answer = known.get(key);
  if (answer === undefined) {
    const [first] = left;
    answer =
      left.length === 1
        ? first !== undefined && isSame(first, target)
        : listMoves(left).some((move) => isSolvable(move.left, target));
    known.set(key, answer);
  }
  return answer;
}

interface Found {
  readonly left: readonly Fraction[];
  readonly judgement: PuzzleJudgement;
}

/** Searches level by level. If all candidates are dead ends, it backtracks to those the beam has dropped. */
function search(given: readonly Fraction[], beam: number, candidates: number, maxBacktracks: number) {
  const pruned: Found[][] = [];
  let frontier: readonly (readonly Fraction[])[] = [given];
  let thoughts = 0;
  let backtracks = 0;
  for (let depth = 1; ; depth++) {
    const level = frontier
      .flatMap((left) => proposeMoves(left, TARGET, candidates))
      .map(({ left }): Found => ({ left, judgement: judgeLeft(left, TARGET, 1) }));
    thoughts += level.length;
    if (level.some(({ judgement }) => judgement.verdict === "solved")) return { isSolved: true, thoughts, backtracks };
    const alive = level
      .filter(({ judgement }) => judgement.score > 0)
      .sort((a, b) => b.judgement.score - a.judgement.score);
    pruned[depth] = [...(pruned[depth] ?? []), ...alive.slice(beam)];
    frontier = alive.slice(0, beam).map(({ left }) => left);
    if (frontier.length > 0) continue;
    depth = pruned.findLastIndex((rest) => rest !== undefined && rest.length > 0);
    if (depth < 0 || backtracks === maxBacktracks) return { isSolved: false, thoughts, backtracks };
    backtracks++;
    frontier = (pruned[depth] ?? []).splice(0, beam).map(({ left }) => left);
  }
}

/** Hands of four cards from 1 to 13; all of them in the long suite. */
function* listPuzzles(): Generator<readonly Fraction[]> {
  const every = SAMPLES.pairs > 1000 ? 1 : 23;
  let at = 0;
  for (let a = 1; a <= 13; a++) {
    for (let b = a; b <= 13; b++) {
      for (let c = b; c <= 13; c++) for (let d = c; d <= 13; d++) if (at++ % every === 0) yield numbers(a, b, c, d);
    }
  }
}

describe("a search with these judgements", () => {
  const puzzles = [...listPuzzles()];
  const solvable = [...puzzles.filter((left) => isSolvable(left)), numbers(3, 3, 8, 8), numbers(1, 5, 5, 5)];

  it.each([16, 40])("finds every solution with a beam of 5 and %i candidates", (candidates) => {
    const results = solvable.map((left) => search(left, 5, candidates, 20));
    expect(solvable.filter((_, index) => results[index]?.isSolved !== true).map(writeNumbers)).toEqual([]);
    expect(Math.max(...results.map(({ thoughts }) => thoughts))).toBeLessThan(1000);
    expect(Math.max(...results.map(({ backtracks }) => backtracks))).toBeLessThanOrEqual(6);
    // Without dead ends this would test nothing.
    expect(results.some(({ backtracks }) => backtracks > 0)).toBe(true);
  });

  it("misses many with a beam of 1 and no backtracking, and fewer with 5", () => {
    const rates = [1, 5].map(
      (beam) => solvable.filter((left) => search(left, beam, 16, 0).isSolved).length / solvable.length,
    );
    expect(rates[0]).toBeGreaterThan(0.5);
    expect(rates[0]).toBeLessThan(0.9);
    expect(rates[1]).toBeGreaterThan((rates[0] ?? 1) + 0.05);
  });

  it("ends if there is no solution", () => {
    const unsolvable = puzzles.filter((left) => !isSolvable(left));
    for (const left of unsolvable) {
      const { isSolved, thoughts } = search(left, 5, 16, 20);
      expect(isSolved).toBe(false);
      expect(thoughts).toBeLessThan(1000);
    }
  });
});

describe("solvePuzzle", () => {
  it("finds every solution and knows if there is none", () => {
    for (const left of listPuzzles()) {
      const said = solvePuzzle({ numbers: left, target: TARGET }, "en");
      const [, sum] = /^(.+) = 24, using each number once\.$/.exec(said) ?? [];
      expect(sum !== undefined).toBe(canMake(left.map(({ n }) => n)));
      if (sum === undefined) {
        expect(said).toMatch(/^24 cannot be made from /);
        continue;
      }
      expect(compute(sum)).toBeCloseTo(24, 6);
      expect(writeNumbers(numbers(...(sum.match(/\d+/g) ?? []).map(Number).sort((a, b) => a - b)))).toBe(
        writeNumbers(left),
      );
    }
  });

  it("claims nothing if there are too many combinations", () => {
    const [target = TARGET] = numbers(9871);
    const six = solvePuzzle({ numbers: numbers(13, 17, 19, 23, 29, 31), target }, "en");
    expect(six).toContain("there may be one");
    const five = solvePuzzle({ numbers: numbers(13, 17, 19, 23, 29), target }, "en");
    expect(five).toContain("I tried every combination");
    // These results exceed the safe integers.
    const large = solvePuzzle({ numbers: numbers(9001, 9001, 9001, 9001, 9001), target }, "en");
    expect(large).toContain("there may be one");
    expect(solvePuzzle({ numbers: numbers(5, 7), target: TARGET }, "zh")).toContain("所有组合都试过了");
  });
});

/** A second implementation to compare with: with negative numbers and floating point. */
function canMake(left: readonly number[]): boolean {
  if (left.length === 1) return Math.abs((left[0] ?? 0) - 24) < 1e-6;
  return left.some((a, i) =>
    left.some((b, j) => {
      if (i === j) return false;
      const rest = left.filter((_, at) => at !== i && at !== j);
      return [a + b, a - b, a * b, a / b].some((made) => Number.isFinite(made) && canMake([...rest, made]));
    }),
  );
}

describe("a judgement", () => {
  const left = fc.array(fc.integer({ min: 1, max: 13 }), { minLength: 1, maxLength: 4 });

  it("never calls a solvable puzzle impossible", () => {
    fc.assert(
      fc.property(left, fc.integer({ min: 1, max: 60 }), fc.integer(), (given, aim, seed) => {
        const [target = TARGET] = numbers(aim);
        const { score, verdict } = judgeLeft(numbers(...given), target, seed);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1);
        const can = isSolvable(numbers(...given), target);
        if (score === 0) expect(can).toBe(false);
        if (verdict === "solved" || verdict === "sure" || verdict === "likely") expect(can).toBe(true);
      }),
      { numRuns: SAMPLES.sessions, seed: 24 },
    );
  });

  it("detects numbers that are too small", () => {
    expect(isTooSmall(numbers(1, 1, 1, 1), TARGET)).toBe(true);
    expect(isTooSmall(numbers(1, 1, 1, 13), TARGET)).toBe(false);
  });

  it("reads written steps back unchanged", () => {
    fc.assert(
      fc.property(left, fc.constantFrom("en" as const, "zh" as const), fc.nat(), (given, language, pick) => {
        const puzzle = { numbers: numbers(...given), target: TARGET };
        const steps: string[] = [];
        let now = puzzle.numbers;
        while (now.length > 1) {
          const moves = listMoves(now);
          const move = moves[pick % moves.length];
          if (move === undefined) break;
          steps.push(writeMove(move, language));
          now = move.left;
          expect(followSteps(puzzle, steps)?.length).toBe(now.length);
        }
        const [item] = followSteps(puzzle, steps) ?? [];
        const used = item?.expression.match(/\d+/g)?.map(Number);
        expect(used?.sort((a, b) => a - b)).toEqual([...given].sort((a, b) => a - b));
        if (item !== undefined) expect(compute(item.expression)).toBeCloseTo(item.value.n / item.value.d, 6);
      }),
      { numRuns: SAMPLES.sessions, seed: 24 },
    );
  });
});

/** Computes an expression of numbers, operators and parentheses. */
function compute(expression: string): number {
  const tokens = expression.match(/\d+|[-+*/()]/g) ?? [];
  let at = 0;
  const readOperand = (): number => {
    const token = tokens[at++];
    if (token !== "(") return Number(token);
    const value = readSum();
    at++;
    return value;
  };
  const readProduct = (): number => {
    let value = readOperand();
    while (tokens[at] === "*" || tokens[at] === "/")
      value = tokens[at++] === "*" ? value * readOperand() : value / readOperand();
    return value;
  };
  const readSum = (): number => {
    let value = readProduct();
    while (tokens[at] === "+" || tokens[at] === "-")
      value = tokens[at++] === "+" ? value + readProduct() : value - readProduct();
    return value;
  };
  return readSum();
}
